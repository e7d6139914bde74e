// A product on FMA units selects the terms that keep keeps, wherever its left operand lies: each thread has a
// bit per term of each of its rows, gathered from the four lanes that hold the row's part of keep.
// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s

#rows = #nvtile.fragment<warps = [2, 1]>

module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%a: memref<?x64xf32>, %o: memref<?x16xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // CHECK-LABEL: func.func @shared_left(
  // Two rows of 64 terms: two words each, of two bits in each of four blocks.
  // CHECK-COUNT-8:   arith.select {{.*}} : i32
  // CHECK:           arith.shli
  // CHECK:           llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
  // CHECK:           llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
  // CHECK-COUNT-6:   llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
  // CHECK:           scf.for %[[K:[^ ]*]] =
  // CHECK:             %[[I:.*]] = arith.index_cast %[[K]] : index to i32
  // CHECK:             %[[FIRST:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
  // CHECK:             %[[WORD:.*]] = arith.select %[[FIRST]], %{{.*}}, %{{.*}} : i32
  // CHECK:             %[[BITS:.*]] = arith.shrui %[[WORD]],
  // CHECK:             %[[BIT:.*]] = arith.andi %[[BITS]],
  // CHECK:             %[[KEPT:.*]] = arith.cmpi ne, %[[BIT]],
  // CHECK:             %[[SUM:.*]] = math.fma %{{.*}}, %{{.*}}, %[[OLD:.*]] : f32
  // CHECK:             arith.select %[[KEPT]], %[[SUM]], %[[OLD]] : f32
  func.func @shared_left(%a: memref<?x64xf32>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 64 : i64,
                  flash.schedule = #flash.schedule<tile = [32, 64], micro = [16, 32], strategy = standard>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %p = nvtile.alloc : <1 x 32 x 64 x f32>
    %v = nvtile.alloc : <1 x 64 x 16 x f32>
    %row = tile.coords %c0 dim 0 : tensor<32x64xindex, #rows>
    %column = tile.coords %c0 dim 1 : tensor<32x64xindex, #rows>
    %keep = arith.cmpi sle, %column, %row : tensor<32x64xindex, #rows>
    %finite = nvtile.all_finite %v[%c0] : <1 x 64 x 16 x f32>
    %dot = nvtile.dot %p[%c0], %v[%c0] keep(%keep : tensor<32x64xi1, #rows>) finite(%finite) : !nvtile.shared<1 x 32 x 64 x f32>, <1 x 64 x 16 x f32> -> tensor<32x16xf32, #rows>
    tile.store %dot, %o[%c0, %c0] dims [0, 1] valid(%c32, %c16) : tensor<32x16xf32, #rows>, memref<?x16xf32>
    return
  }
}
