// Without cp.async a copy loads to registers, and its stores stand where threads meet or a turn ends: the next tile is
// on its way during a turn's products.
// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s

#rows = #nvtile.fragment<warps = [2, 1]>

module attributes {flash.target = #flash.target<"sm_75">} {
  func.func @grid(%k: memref<?x16xf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // CHECK-LABEL: func.func @attention_phase0(
  // The first tile is stored before the loop: 16 bytes by each of 64 threads.
  // CHECK:         %[[FIRST:.*]]:4 = scf.if %[[CHUNKED:.*]] -> (i32, i32, i32, i32) {
  // CHECK:           ld.global.v4.b32
  // CHECK:         } else {
  // CHECK:           ld.global.b16
  // CHECK:           llvm.store %{{.*}} : f16, !llvm.ptr<3>
  // CHECK:         scf.if %[[CHUNKED]] {
  // CHECK:           llvm.insertelement %[[FIRST]]#0
  // CHECK:           llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  // CHECK:         scf.for
  // CHECK:           llvm.nvvm.barrier.cta.sync.aligned.all
  // In the branch that has a next tile, that is there as far as its rows are whole chunks; in the other nothing is.
  // CHECK:           %[[NEXT:.*]]:5 = scf.if %{{.*}} -> (i1, i32, i32, i32, i32) {
  // CHECK:             %[[WORDS:.*]]:4 = scf.if %[[ALSO:.*]] -> (i32, i32, i32, i32) {
  // CHECK:               ld.global.v4.b32
  // CHECK:             scf.yield %[[ALSO]], %[[WORDS]]#0, %[[WORDS]]#1, %[[WORDS]]#2, %[[WORDS]]#3
  // CHECK:           } else {
  // CHECK:             %[[FALSE:.*]] = arith.constant false
  // CHECK:             scf.yield %[[FALSE]],
  // CHECK:           }
  // CHECK-NOT:       llvm.store
  // CHECK:           llvm.nvvm.mma.m16n8k8
  // CHECK-NOT:       llvm.store
  // CHECK:           scf.if %[[NEXT]]#0 {
  // CHECK:             llvm.insertelement %[[NEXT]]#1
  // CHECK:             llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  // CHECK:           }
  // CHECK:           scf.yield
  func.func @attention_phase0(%k: memref<?x16xf16>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 64 : i64,
                  flash.schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online, stages = 2>} {
    %zero = arith.constant dense<0.0> : tensor<32x32xf32, #rows>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : memref<?x16xf16>
    %s = nvtile.alloc : !nvtile.shared<2 x 32 x 16 x f16>
    nvtile.copy %k[%c0, %c0] dims [0, 1] valid(%c32, %c16) to %s[%c0] : memref<?x16xf16>, !nvtile.shared<2 x 32 x 16 x f16>
    nvtile.commit
    %r:2 = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero, %stage = %c0) -> (tensor<32x32xf32, #rows>, index) {
      nvtile.wait 0
      %other = arith.subi %c1, %stage : index
      %next = arith.addi %j, %c32 : index
      %more = arith.cmpi slt, %next, %n : index
      scf.if %more {
        nvtile.copy %k[%next, %c0] dims [0, 1] valid(%c32, %c16) to %s[%other] : memref<?x16xf16>, !nvtile.shared<2 x 32 x 16 x f16>
      }
      nvtile.commit
      %p = nvtile.dot %s[%stage], %s[%stage] init(%acc : tensor<32x32xf32, #rows>) {transpose_b} : !nvtile.shared<2 x 32 x 16 x f16>, !nvtile.shared<2 x 32 x 16 x f16> -> tensor<32x32xf32, #rows>
      scf.yield %p, %other : tensor<32x32xf32, #rows>, index
    }
    tile.store %r#0, %o[%c0, %c0] dims [0, 1] valid(%c32, %c16) : tensor<32x32xf32, #rows>, memref<?x16xf32>
    return
  }
}
