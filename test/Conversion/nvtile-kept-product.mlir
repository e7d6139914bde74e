// A product that drops terms takes tensor cores where b is finite, and else a loop over the terms, on FMA units:
// each thread has the weights of two terms in 8, and a bit per term of what is kept.
// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s
// The weights lie in shared memory or in registers: their words are the same.
// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s --check-prefix=LEFT

#rows = #nvtile.fragment<warps = [2, 1]>
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>

module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%a: memref<?x32xbf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @second_grid(%a: memref<?x32xbf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 1 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // CHECK-LABEL: func.func @shared_left(
  // LEFT-LABEL:  func.func @shared_left(
  // LEFT-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.b16.p3
  // LEFT:         scf.if
  // CHECK:           %[[FINITE:.*]] = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.and.aligned.all"
  // CHECK:           scf.if %[[FINITE]]
  // Two slices of 16 terms, two blocks of 8 columns.
  // CHECK-COUNT-4:     llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  // CHECK:           } else {
  // CHECK-NOT:         mma
  // CHECK:             %[[LAST:.*]] = arith.constant 32 : index
  // CHECK:             scf.for %[[K:[^ ]*]] = %{{.*}} to %[[LAST]] step
  // CHECK:               .pragma
  // CHECK:               %[[I:.*]] = arith.index_cast %[[K]] : index to i32
  // The word that holds the term, of the lane that holds it, and the half that it is.
  // CHECK:               %[[BLOCK:.*]] = arith.divui %[[I]],
  // CHECK:               arith.cmpi slt, %[[BLOCK]],
  // CHECK:               arith.cmpi slt, %[[BLOCK]],
  // CHECK:               arith.cmpi slt, %[[BLOCK]],
  // CHECK:               %[[WORD:.*]] = arith.select
  // CHECK:               %[[GOT:.*]] = llvm.call_intrinsic "llvm.nvvm.shfl.sync.idx.i32"(%{{.*}}, %[[WORD]],
  // CHECK:               %[[HALF:.*]] = arith.shrui %[[GOT]],
  // CHECK:               %[[BITS:.*]] = arith.trunci %[[HALF]] : i32 to i16
  // CHECK:               %[[P:.*]] = arith.bitcast %[[BITS]] : i16 to bf16
  // CHECK:               %[[WEIGHT:.*]] = arith.extf %[[P]] : bf16 to f32
  // Infinities count in full, unless the weight is NaN.
  // CHECK:               %[[NAN:.*]] = arith.cmpf uno, %[[WEIGHT]], %[[WEIGHT]] : f32
  // CHECK:               %[[WHOLE:.*]] = arith.select %[[NAN]], %[[WEIGHT]], %{{.*}} : f32
  // CHECK:               %[[SIZE:.*]] = math.absf %[[V:.*]] : f32
  // CHECK:               %[[SPECIAL:.*]] = arith.cmpf ueq, %[[SIZE]],
  // CHECK:               %[[BY:.*]] = arith.select %[[SPECIAL]], %[[WHOLE]], %[[WEIGHT]] : f32
  // CHECK:               %[[SUM:.*]] = math.fma %[[BY]], %[[V]], %[[OLD:.*]] : f32
  // CHECK:               arith.select %{{.*}}, %[[SUM]], %[[OLD]] : f32
  // CHECK-NOT:         mma
  // CHECK:             scf.yield
  func.func @shared_left(%a: memref<?x32xbf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 64 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %p = nvtile.alloc : <1 x 32 x 32 x bf16>
    %v = nvtile.alloc : <1 x 32 x 16 x bf16>
    %row = tile.coords %c0 dim 0 : tensor<32x32xindex, #rows>
    %column = tile.coords %c0 dim 1 : tensor<32x32xindex, #rows>
    %keep = arith.cmpi sle, %column, %row : tensor<32x32xindex, #rows>
    %finite = nvtile.all_finite %v[%c0] : <1 x 32 x 16 x bf16>
    %dot = nvtile.dot %p[%c0], %v[%c0] keep(%keep : tensor<32x32xi1, #rows>) finite(%finite) : !nvtile.shared<1 x 32 x 32 x bf16>, <1 x 32 x 16 x bf16> -> tensor<32x16xf32, #rows>
    tile.store %dot, %o[%c0, %c0] dims [0, 1] valid(%c32, %c16) : tensor<32x16xf32, #rows>, memref<?x16xf32>
    return
  }

  // CHECK-LABEL: func.func @register_left(
  // CHECK:           scf.if
  // CHECK-COUNT-4:     llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  // CHECK:           } else {
  // CHECK-NOT:         mma
  // CHECK:             scf.for
  // CHECK:               llvm.call_intrinsic "llvm.nvvm.shfl.sync.idx.i32"
  // LEFT-LABEL:  func.func @register_left(
  // LEFT-NOT:       ldmatrix.sync.aligned.m8n8.x4.b16.p3
  // LEFT:           scf.if
  func.func @register_left(%a: memref<?x32xbf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 1 : i64, nvtile.threads = 64 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %v = nvtile.alloc : <1 x 32 x 16 x bf16>
    %p = tile.load %a[%c0, %c0] dims [0, 1] valid(%c32, %c32) : memref<?x32xbf16> -> tensor<32x32xbf16, #rows>
    %row = tile.coords %c0 dim 0 : tensor<32x32xindex, #rows>
    %column = tile.coords %c0 dim 1 : tensor<32x32xindex, #rows>
    %keep = arith.cmpi sle, %column, %row : tensor<32x32xindex, #rows>
    %finite = nvtile.all_finite %v[%c0] : <1 x 32 x 16 x bf16>
    %dot = nvtile.dot %p, %v[%c0] keep(%keep : tensor<32x32xi1, #rows>) finite(%finite) : tensor<32x32xbf16, #rows>, <1 x 32 x 16 x bf16> -> tensor<32x16xf32, #rows>
    tile.store %dot, %o[%c0, %c0] dims [0, 1] valid(%c32, %c16) : tensor<32x16xf32, #rows>, memref<?x16xf32>
    return
  }
}
