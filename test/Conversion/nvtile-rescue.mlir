// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s
//
// A function that computes a point again gets what its kernel was launched with, and has no launch bounds. Both use the
// same shared memory: as much as either needs.

#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>
// CHECK: flash.kernel_info = "{{.*}}shared_bytes\22:4352,
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%q: memref<?x40xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c7 = arith.constant 7 : index
    return %c7 : index
  }

  // CHECK:       func.func @phase0_exact(
  // CHECK-SAME:    %{{[^:]*}}: !llvm.ptr<1> {llvm.noalias}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64,
  // CHECK-SAME:    %{{[^:]*}}: !llvm.ptr<1> {llvm.noalias}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[POINT:[^:]*]]: i64)
  // CHECK-NOT:     nvtile.threads
  // CHECK:         arith.index_cast %[[POINT]] : i64 to index
  func.func @phase0_exact(%q: memref<?x40xf32>, %ws: memref<?xi8>, %point: index)
      attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %0 = nvtile.alloc : !nvtile.shared<1 x 16 x 64 x f32>
    %c1 = arith.constant 1 : index
    %next = arith.addi %point, %c1 : index
    return
  }

  // CHECK:       func.func @phase0(
  // CHECK-SAME:    nvtile.threads = 32
  // CHECK:         %[[ID:.*]] = arith.index_cast %{{.*}} : index to i64
  // CHECK:         call @phase0_exact(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %[[ID]])
  func.func @phase0(%q: memref<?x40xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %i = nvtile.block_id
    func.call @phase0_exact(%q, %ws, %i) {flash.rescue} : (memref<?x40xf32>, memref<?xi8>, index) -> ()
    return
  }
}
