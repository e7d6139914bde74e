# long_expression.py KIND N TARGET: a kernel at the stage tile that stores what an expression of N steps gives. Every
# step but those of `sum`, `row` and `gather` uses the one before it twice.
#
#   sum      f32, of a loaded tile               row      the same on rows
#   mask     i1 from a loaded tile, read past a dot
#   rows     i1 on rows, broadcast               coords   indices from coordinates alone, read past a dot
#   masks    comparisons of positions, all of which must hold
#   all      i1 conditions, all of which must hold in the block (GPUs)
#   gather   each index gathered by the one before it
import sys

kind, n, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
micro = "[4, 16]" if target.startswith("x86") else "[16, 16]"
F32, I1, INDEX = (f"tensor<16x16x{element}>" for element in ("f32", "i1", "index"))
lines = []


def chain(name, op, of, type):
    """%NAME1 to %NAMEn from %NAME0."""
    lines.extend(f"%{name}{i + 1} = {op} %{name}{i}, {of or f'%{name}{i}'} : {type}" for i in range(n))


def load(name, memory="%q"):
    lines.append(f"%{name} = tile.load {memory}[%c0, %c0] dims [0, 1] valid(%c16, %c16) : memref<?x16xf32> -> {F32}")


if kind != "coords" and kind != "masks":
    load("x0")
result = f"%x{n}"
if kind == "sum":
    chain("x", "arith.addf", "%x0", F32)
elif kind == "row" or kind == "rows":
    lines.append(f"%r0 = tile.reduce sum %x0 : {F32} -> tensor<16xf32>")
    if kind == "row":
        chain("r", "arith.addf", "%r0", "tensor<16xf32>")
        lines.append(f"%all = tile.broadcast %r{n} : tensor<16xf32> -> {F32}")
    else:
        lines.append("%b0 = arith.cmpf ogt, %r0, %r0 : tensor<16xf32>")
        chain("b", "arith.xori", "", "tensor<16xi1>")
        lines.append(f"%mask = tile.broadcast %b{n} : tensor<16xi1> -> {I1}")
        lines.append(f"%all = arith.select %mask, %x0, %x0 : {I1}, {F32}")
    result = "%all"
elif kind in ("mask", "coords", "masks"):
    if kind == "mask":
        lines.append(f"%m0 = arith.cmpf ogt, %x0, %x0 : {F32}")
        chain("m", "arith.xori", "", I1)
    elif kind == "coords":
        lines.append(f"%i0 = tile.coords %c0 dim 1 : {INDEX}")
        chain("i", "arith.addi", "", INDEX)
        lines.append(f"%m{n} = arith.cmpi sgt, %i{n}, %i0 : {INDEX}")
    else:
        lines.append(f"%i = tile.coords %c0 dim 0 : {INDEX}")
        lines.append(f"%j = tile.coords %c0 dim 1 : {INDEX}")
        lines.append(f"%m0 = arith.cmpi sgt, %i, %j : {INDEX}")
        chain("m", "arith.andi", "", I1)
    load("a", "%k")
    load("b")
    lines.append(f"%dot = tile.dot %a, %b {{transpose_b}} : {F32}, {F32} -> {F32}")
    lines.append(f"%all = arith.select %m{n}, %dot, %dot : {I1}, {F32}")
    result = "%all"
elif kind == "all":
    lines.append(f"%m0 = arith.cmpf ogt, %x0, %x0 : {F32}")
    chain("m", "arith.andi", "", I1)
    lines.append(f"%held = tile.all %m{n} : {I1}")
    lines.append(f"%all = arith.select %held, %x0, %x0 : {F32}")
    result = "%all"
elif kind == "gather":
    lines.append(f"%i0 = tile.coords %c0 dim 1 : {INDEX}")
    for i in range(n):
        lines.append(f"%x{i + 1} = tile.gather %q[%i{i}, %c0] : memref<?x16xf32>, {INDEX}, index -> {F32}")
        lines.append(f"%w{i} = arith.fptosi %x{i + 1} : {F32} to tensor<16x16xi64>")
        lines.append(f"%i{i + 1} = arith.index_cast %w{i} : tensor<16x16xi64> to {INDEX}")
body = "\n      ".join(lines)
print(f"""#schedule = #flash.schedule<tile = [16, 16], micro = {micro}, strategy = online>
module attributes {{flash.target = #flash.target<"{target}">}} {{
  func.func @phase0(%q: memref<?x16xf32>, %k: memref<?x16xf32>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {{flash.kernel = 0 : i64, flash.schedule = #schedule}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.forall (%point) in (%c1) {{
      {body}
      tile.store {result}, %o[%c0, %c0] dims [0, 1] valid(%c16, %c16) : {F32}, memref<?x16xf32>
    }}
    return
  }}
}}""")
