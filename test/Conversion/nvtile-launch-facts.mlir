// RUN: flash-opt %s --split-input-file --nvtile-to-threads | FileCheck %s
//
// What follows from the shapes alone the host computes once per launch of a kernel of parts: quotients as they are used,
// and reciprocals of what numbers of blocks are divided by. A value that serves another one alone is none by itself.

// CHECK:      flash.kernel_info = "{
// CHECK-SAME: \22facts\22:[
// CHECK-SAME: [\22mul\22,[\22div\22,[\22dim\22,0,0],[\22dim\22,0,1]],3],
// CHECK-SAME: [\22add\22,[\22div\22,4611686018427387904,[\22mul\22,[\22div\22,[\22dim\22,0,0],[\22dim\22,0,1]],3]],1]],
// CHECK-SAME: \22grid\22
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, split = 16>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%q: memref<?x?xf32>, %o: memref<?x?xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c7 = arith.constant 7 : index
    return %c7 : index
  }

  // Two arguments of 5 parameters, a workspace of 3, and two facts.
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %arg12: i64, %[[PRODUCT:.*]]: i64, %[[RECIPROCAL:.*]]: i64)
  // CHECK-NOT:     div
  // CHECK:         %[[D:.*]] = arith.index_cast %[[PRODUCT]] : i64 to index
  // CHECK:         arith.extui %{{.*}} : i32 to i64
  // CHECK:         arith.andi %[[RECIPROCAL]],
  // CHECK:         arith.shrui %[[RECIPROCAL]],
  // CHECK:         %[[Q:.*]] = arith.trunci %{{.*}} : i64 to i32
  // CHECK:         %[[TIMES:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
  // CHECK:         arith.subi %{{.*}}, %[[TIMES]] : i32
  // Of a number that may be large the reciprocal does not hold.
  // CHECK:         scf.if
  // CHECK:           arith.divui
  func.func @attention_phase0(%q: memref<?x?xf32>, %o: memref<?x?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %i = nvtile.block_id
    %n = memref.dim %q, %c0 : memref<?x?xf32>
    %m = memref.dim %q, %c1 : memref<?x?xf32>
    %a = arith.divui %n, %m : index
    %d = arith.muli %a, %c3 : index
    %b = arith.divui %i, %d {flash.small} : index
    %c = arith.remui %i, %d {flash.small} : index
    %e = arith.divui %i, %d : index
    %t = tile.load %q[%b, %c] dims [0, 1] valid(%c1, %e) : memref<?x?xf32> -> tensor<16x16xf32, #nvtile.lines<warps = 1>>
    tile.store %t, %o[%d, %c0] dims [0, 1] valid(%c1, %c1) : tensor<16x16xf32, #nvtile.lines<warps = 1>>, memref<?x?xf32>
    return
  }
}

// -----

// Kernels of whole rows divide by themselves.
// CHECK: flash.kernel_info = "{{.*}}\22facts\22:[],
#whole = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%q: memref<?x?xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c7 = arith.constant 7 : index
    return %c7 : index
  }
  func.func @attention_phase0(%q: memref<?x?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #whole, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %i = nvtile.block_id
    %n = memref.dim %q, %c0 : memref<?x?xf32>
    // CHECK: arith.divui
    %b = arith.divui %i, %n {flash.small} : index
    return
  }
}
