//===- TileOps.td - the tile dialect ------------------------*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Target-neutral kernels on static tiles. Elementwise arith and math ops work on tiles as they are.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_TILE_IR_TILEOPS_TD
#define FLASHC_DIALECTS_TILE_IR_TILEOPS_TD

include "dialects/Tile/IR/TileEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::flashc::tile";
  let summary = "Kernels on tiles, neutral to the target.";
  let description = [{
    A tile is a statically shaped tensor of rank 1 or 2. `tile.load` and `tile.store` move tiles from and to
    memory; between them everything is a value. Where a tile lives (registers, cache, shared memory, which
    thread) is decided by the lowering to a target.
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

def Tile_Tensor : Type<CPred<"::flashc::tile::isTile($_self)">,
                       "static tensor of rank 1 or 2", "::mlir::RankedTensorType">;

// Which page of the memory holds a row: table[row of the table, row / rows of a page].
def Tile_PageTable : MemRefRankOf<[I32, I64], [2]>;

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "Loads a tile from memory";
  let description = [{
    Element (r, c) is `source[offsets + r e(dims[0]) + c e(dims[1])]` for r < valid[0] and c < valid[1], and 0
    elsewhere, without touching memory.

    `through %table[%b]` loads rows that lie in pages, which the source's first dimension counts. With P the size of
    dims[0] and R = offsets[dims[0]] + r, row r is row `R mod P` of page `offsets[0] + table[b, R / P]`. The table is
    read for r < valid[0] only.

    - (L1) one offset per dimension of the source.
    - (L2) dims are distinct dimensions of the source, one per dimension of the tile, and so are valid.
    - (L3) source and tile have one element type.
    - (L4) a table comes with its row, and dims[0] is not dimension 0 then.

    Example: `%t = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%rows, %cols) : memref<?x?x?x64xf32> -> tensor<64x64xf32>`

    Example: `%t = tile.load %k[%c0, %j0, %h, %c0] through %table[%b] : memref<?x?xi32> dims [1, 3] valid(%rows, %cols) : memref<?x?x?x64xf32> -> tensor<64x64xf32>`
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source, Variadic<Index>:$offsets,
                       Arg<Optional<Tile_PageTable>, "", [MemRead]>:$table, Optional<Index>:$table_row,
                       Variadic<Index>:$valid, DenseI64ArrayAttr:$dims);
  let results = (outs Tile_Tensor:$tile);
  let builders = [OpBuilder<(ins "::mlir::Type":$tile, "::mlir::Value":$source, "::mlir::ValueRange":$offsets,
                                 "::mlir::ValueRange":$valid, "::llvm::ArrayRef<int64_t>":$dims), [{
    build($_builder, $_state, tile, source, offsets, ::mlir::Value(), ::mlir::Value(), valid, dims);
  }]>];
  let assemblyFormat = [{
    $source `[` $offsets `]` (`through` $table^ `[` $table_row `]` `:` type($table))? `dims` $dims `valid` `(` $valid `)` attr-dict `:` type($source) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "Stores the valid part of a tile to memory";
  let description = [{
    `dest[offsets + r e(dims[0]) + c e(dims[1])] = tile(r, c)` for r < valid[0], c < valid[1].

    - (L1), (L2), (L3) as for tile.load.

    Example: `tile.store %t, %o[%b, %i0, %h, %c0] dims [1, 3] valid(%rows, %cols) : tensor<64x64xf32>, memref<?x?x?x64xf32>`
  }];
  let arguments = (ins Tile_Tensor:$tile, Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Variadic<Index>:$offsets, Variadic<Index>:$valid, DenseI64ArrayAttr:$dims);
  let assemblyFormat = [{
    $tile `,` $dest `[` $offsets `]` `dims` $dims `valid` `(` $valid `)` attr-dict `:` type($tile) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AttrSizedOperandSegments]> {
  let summary = "Matrix product of two tiles";
  let description = [{
    `c(r, n) = init(r, n) + sum_k a(r, k) b(k, n)` in f32, where b is given as (n, k) with `transpose_b`. With
    `keep` (r, k), a term whose keep is false adds nothing, whatever a and b hold there: not 0 times inf.

    - (D1) shapes agree; a and b have one element type, the result is f32.
    In the body of a loop, `idle_rows` promises of every row that keep drops altogether that it leaves its row of
    each tile that the loop carries as it is. A lowering may pass over such rows, and over the whole tile where
    there are no others.

    - (D2) init has the result's type; keep has a's shape, of i1.
    With `loose`, what keep drops may add 0 times whatever b holds instead of nothing, for a kernel that looks for
    NaNs afterwards.

    - (D3) idle_rows and loose come with keep.

    With `bands` of n > 1 the result has n bands of rows, and each multiplies its own n-th of b's rows: row r of R is in
    band r div (R / n). With `transpose_b` the columns of the result are those of a band, and a may have the rows of one
    band, which then stand for those of all; without, the columns of a are those of a band.

    - (D4) bands divide the rows of the result and of b.

    Example: `%s = tile.dot %q, %k {transpose_b} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>`
  }];
  let arguments = (ins Tile_Tensor:$a, Tile_Tensor:$b, Optional<Tile_Tensor>:$init,
                       Optional<Tile_Tensor>:$keep, UnitAttr:$transpose_b,
                       UnitAttr:$idle_rows, UnitAttr:$loose, DefaultValuedOptionalAttr<I64Attr, "1">:$bands);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`init` `(` $init^ `:` type($init) `)`)? (`keep` `(` $keep^ `:` type($keep) `)`)? attr-dict `:`
    type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Reduces the columns of a tile";
  let description = [{
    `result(r) = max_c x(r, c)` or the sum over c. With `max` a NaN gives NaN; `maxnum` passes over NaNs (-inf where
    nothing else is left), which is an instruction less per element.

    - (E1) x is (r, c) of f32 and the result (r) of f32.

    Example: `%m = tile.reduce max %s : tensor<64x64xf32> -> tensor<64xf32>`
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$kind $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_FoldOp : Tile_Op<"fold", [Pure]> {
  let summary = "Reduces the bands of a tile's rows";
  let description = [{
    `result(r, c) = max_n x(n R + r, c)` or the sum over n, with R the rows of the result; kinds as for tile.reduce.

    - (Q1) x is a tile of f32 and the result the same with fewer rows, which divide those of x.

    Example: `%l = tile.fold sum %x : tensor<64xf32> -> tensor<16xf32>`
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$kind $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RepeatOp : Tile_Op<"repeat", [Pure]> {
  let summary = "Repeats a row vector for each band";
  let description = [{
    `result(n R + r) = x(r)`, with R the rows of x.

    - (N1) x and the result are tiles of rank 1 and one element type, and the rows of x divide those of the result.

    Example: `%mb = tile.repeat %m : tensor<16xf32> -> tensor<64xf32>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_AllOp : Tile_Op<"all", [Pure]> {
  let summary = "Whether all elements of a tile hold";
  let description = [{
    One answer for the whole grid point.

    - (U1) x is a tile of i1.

    Example: `%ok = tile.all %finite : tensor<64x32xi1>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a row vector's entries along the columns";
  let description = [{
    `result(r, c) = x(r)`.

    - (B1) x is (r) and the result (r, c), of one element type.

    Example: `%mb = tile.broadcast %m : tensor<64xf32> -> tensor<64x32xf32>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CoordsOp : Tile_Op<"coords", [Pure]> {
  let summary = "The true index of each element along a dimension";
  let description = [{
    `result(r, c) = offset + r` for dim 0, `offset + c` for dim 1. With `bands` of n > 1, as products have them, the rows
    of R are those of a band, `offset + r mod (R / n)`, and the columns of C go on from band to band,
    `offset + C (r div (R / n)) + c`.

    - (C1) the result is a tile of index, and dim one of its dimensions.
    - (C2) bands divide the rows; more than one are those of a tile of rank 2.

    Example: `%j = tile.coords %j0 dim 1 : tensor<64x64xindex>`
  }];
  let arguments = (ins Index:$offset, I64Attr:$dim, DefaultValuedOptionalAttr<I64Attr, "1">:$bands);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$offset `dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "Reads an array at indices that differ by element";
  let description = [{
    `result(e) = source[indices(e)]`, or 0 where an index lies outside of the array, without touching memory. An
    index operand is a tile, or a scalar `index` that holds for all elements. The array is never written
    while the kernel runs.

    - (G1) one index per dimension of the source, each an index or a tile of index of the result's shape.
    - (G2) source and result have one element type.

    Example: `%x = tile.gather %bias[%h, %i] : memref<?x?xf32>, index, tensor<64x64xindex> -> tensor<64x64xf32>`
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<AnyType>:$indices);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) (`,` type($indices)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
