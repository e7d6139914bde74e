// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s
//
// Rows as lines: a warp of two rows of 40 columns. A lane has two columns of each, the second where it is inside.

#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, across = 2>
#lines = #nvtile.lines<warps = 2>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%q: memref<?x40xf32>, %o: memref<?xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c7 = arith.constant 7 : index
    return %c7 : index
  }

  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-NOT:     tensor<
  // All 32 lanes share a row: five steps for each of two rows.
  // CHECK-COUNT-2: ld.global.b32
  // CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32"
  // CHECK-COUNT-2: ld.global.b32
  // CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32"
  // CHECK-NOT:     {{shfl|ld.global}}
  // CHECK-COUNT-2: st.global.b32
  // CHECK-NOT:     st.global
  func.func @attention_phase0(%q: memref<?x40xf32>, %o: memref<?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c40 = arith.constant 40 : index
    %i = nvtile.block_id
    %n = memref.dim %q, %c0 : memref<?x40xf32>
    %a = arith.divui %i, %n {flash.small} : index
    %b = arith.remui %i, %n {flash.small} : index
    %t = tile.load %q[%a, %c0] dims [0, 1] valid(%c3, %c40) : memref<?x40xf32> -> tensor<4x40xf32, #lines>
    %s = tile.reduce sum %t : tensor<4x40xf32, #lines> -> tensor<4xf32, #lines>
    tile.store %s, %o[%b] dims [0] valid(%c3) : tensor<4xf32, #lines>, memref<?xf32>
    return
  }
}
