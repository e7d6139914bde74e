// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s
//
// Quotients and remainders of a grid: small ones take 32 bits; others too where that is enough, and go bit after bit
// where it is not, since 64 bits would take a call.

#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%q: memref<?x40xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c7 = arith.constant 7 : index
    return %c7 : index
  }

  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-NOT:     scf.if
  // CHECK:         %[[A:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
  // CHECK-NEXT:    %[[WIDE:.*]] = arith.index_castui %[[A]] : i32 to index
  // CHECK:         %[[BITS:.*]] = arith.ori %[[WIDE]], %[[N:.*]] : index
  // CHECK:         %[[FIT:.*]] = arith.cmpi ult, %[[BITS]], %c4294967296
  // CHECK:         scf.if %[[FIT]]
  // CHECK:           arith.remui %{{.*}}, %{{.*}} : i32
  // CHECK:         } else {
  // CHECK:           %[[LONG:.*]]:3 = scf.for %{{.*}} = %c0_i64 to %c63_i64
  // CHECK:             nounroll
  // CHECK:           %[[REM:.*]] = arith.index_cast %[[LONG]]#2 : i64 to index
  // CHECK:           scf.yield %[[REM]]
  // A constant divisor is LLVM's to handle.
  // CHECK:         arith.divui %{{.*}}, %c5{{.*}} : index
  func.func @attention_phase0(%q: memref<?x40xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %i = nvtile.block_id
    %n = memref.dim %q, %c0 : memref<?x40xf32>
    %a = arith.divui %i, %n {flash.small} : index
    %b = arith.remui %a, %n : index
    %c = arith.divui %b, %c5 : index
    return
  }
}
