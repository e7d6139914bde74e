// Elements of 16 bits leave in chunks of 16 bytes, which lanes trade their words for, where addresses allow. Otherwise
// they leave one by one, in a loop over the thread's rows: each turn hands the words of the rows that are left on.
// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s

#rows = #nvtile.fragment<warps = [1, 1]>
#schedule = #flash.schedule<tile = [32, 32], micro = [32, 32], strategy = online>

module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%o: memref<?x32xbf16>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // Two blocks of 16 rows with two of the thread's each; 4 blocks of 8 columns with a word each.
  // CHECK-LABEL: func.func @store(
  // CHECK:         scf.if
  // CHECK-COUNT-4:   st.global.v4.b32
  // CHECK-NOT:       st.global
  // CHECK:         } else {
  // CHECK:           %[[ROWS:.*]] = arith.constant 4 : index
  // CHECK:           scf.for %[[R:[^ ]*]] = %{{.*}} to %[[ROWS]] step %{{[^ ]*}} iter_args(%[[W0:[^ ]*]] = %{{[^,]*}}, %[[W1:[^ ]*]] = %{{[^,]*}}, %[[W2:[^ ]*]] = %{{[^,]*}}, %[[W3:[^ ]*]] = %{{[^,]*}}, %[[W4:[^ ]*]] =
  // CHECK:             .pragma
  // CHECK:             %[[THREAD:.*]] = llvm.inline_asm has_side_effects {{.*}}tid.x
  // CHECK:             %[[DOWN:.*]] = arith.muli %[[R]],
  // CHECK:             arith.trunci %[[W0]] : i32 to i16
  // CHECK:             st.global.b16
  // CHECK:             %[[HIGH:.*]] = arith.shrui %[[W0]],
  // CHECK:             arith.trunci %[[HIGH]] : i32 to i16
  // CHECK:             st.global.b16
  // CHECK-COUNT-6:     st.global.b16
  // CHECK-NOT:         st.global
  // CHECK:             scf.yield %[[W4]], {{.*}}, %[[W0]], %[[W1]], %[[W2]], %[[W3]] :
  func.func @store(%o: memref<?x32xbf16>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 32 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %o, %c0 : memref<?x32xbf16>
    %row = tile.coords %c0 dim 0 : tensor<32x32xindex, #rows>
    %wide = arith.index_cast %row : tensor<32x32xindex, #rows> to tensor<32x32xi32, #rows>
    %float = arith.sitofp %wide : tensor<32x32xi32, #rows> to tensor<32x32xf32, #rows>
    %half = arith.truncf %float : tensor<32x32xf32, #rows> to tensor<32x32xbf16, #rows>
    tile.store %half, %o[%c0, %c0] dims [0, 1] valid(%n, %c32) : tensor<32x32xbf16, #rows>, memref<?x32xbf16>
    return
  }
}
