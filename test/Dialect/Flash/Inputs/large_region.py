# large_region.py N: attention whose mask is a chain of N ops (and a comparison and a yield).
import sys

count = int(sys.argv[1])
tensor = "tensor<?x?x?x32xf32>"
print('module attributes {flash.target = #flash.target<"x86-64-v3">} {')
print("func.func @attention(" + ", ".join('%%%s: %s {flash.name = "%s"}' % (n, tensor, n) for n in "qkv") +
      ') -> (%s {flash.name = "o"}) {' % tensor)
print("%o = flash.attention %q, %k, %v")
print("mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {")
print("%x0 = arith.addi %j, %i : index")
for n in range(1, count):
    print("%%x%d = arith.%s %%x%d, %%%s : index" % (n, ("addi", "muli", "xori")[n % 3], n - 1, "ij"[n % 2]))
print("%%keep = arith.cmpi sle, %%x%d, %%i : index" % (count - 1))
print("flash.yield %keep : i1")
print("} {scale = 0.5 : f32} : " + ", ".join([tensor] * 3) + " -> " + tensor)
print("return %%o : %s\n}\n}" % tensor)
