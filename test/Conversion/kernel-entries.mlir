// RUN: flash-opt %s --flash-kernel-entries | FileCheck %s

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // The kernels' own functions turn private.
  // CHECK: func.func private @attention_phase0_grid
  func.func @attention_phase0_grid(%q: memref<?x?x4x64xbf16> {flash.name = "q"},
                                   %o: memref<?x?x4x64xbf16> {flash.name = "o", flash.output},
                                   %ws: memref<?xi8> {flash.name = "workspace"}) -> index
      attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    %dim = memref.dim %q, %c0 : memref<?x?x4x64xbf16>
    return %dim : index
  }
  // CHECK: func.func private @attention_phase0_point
  func.func @attention_phase0_point(%q: memref<?x?x4x64xbf16> {flash.name = "q"},
                                    %o: memref<?x?x4x64xbf16> {flash.name = "o", flash.output},
                                    %ws: memref<?xi8> {flash.name = "workspace"}, %point: index, %scratch: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.scratch_bytes = 896 : i64,
                  flash.schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>} {
    return
  }
}

// What the runtime reads: everything about the kernel, in JSON that ends in a zero.
// CHECK:      llvm.mlir.global external constant @flashc_kernel_info("{\22abi\22:2,
// CHECK-SAME: {\22dtype\22:\22bf16\22,\22name\22:\22q\22,\22rank\22:4,\22role\22:\22input\22,\22static_shape\22:[-1,-1,4,64]}
// CHECK-SAME: {\22dtype\22:\22bf16\22,\22name\22:\22o\22,\22rank\22:4,\22role\22:\22output\22,\22static_shape\22:[-1,-1,4,64]}
// CHECK-SAME: \22name\22:\22attention\22,\22phases\22:1
// CHECK-SAME: \22scratch_bytes\22:896,\22split\22:0
// CHECK-SAME: \22strategy\22:\22online\22,\22target\22:\22x86-64-v3\22,\22tile_rows\22:4}\00")

// Points of a phase; 0 for a phase that is not there.
// CHECK-LABEL: func.func @flashc_kernel_grid
// CHECK-SAME:    (%[[ARGS:.*]]: !llvm.ptr, %[[PHASE:.*]]: i64) -> i64
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK:         %[[ADDRESS:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[DESCRIPTOR:.*]] = llvm.load %[[ADDRESS]] : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
// CHECK:         %[[Q:.*]] = builtin.unrealized_conversion_cast %[[DESCRIPTOR]]
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         %[[IS0:.*]] = arith.cmpi eq, %[[PHASE]], %{{.*}} : i64
// CHECK:         scf.if %[[IS0]]
// CHECK:           %[[N:.*]] = func.call @attention_phase0_grid(%[[Q]],
// CHECK:           scf.yield %[[N]]
// CHECK:         } else {
// CHECK:           scf.yield %[[ZERO]]

// Online attention needs no workspace.
// CHECK-LABEL: func.func @flashc_kernel_workspace
// CHECK-SAME:    (%{{.*}}: !llvm.ptr) -> i64
// CHECK:         %[[SIZE:.*]] = arith.constant 0 : index
// CHECK:         %[[BYTES:.*]] = arith.index_cast %[[SIZE]]
// CHECK:         return %[[BYTES]]

// CHECK-LABEL: func.func @flashc_kernel_run
// CHECK-SAME:    (%{{.*}}: !llvm.ptr, %[[PHASE:.*]]: i64, %[[POINT:.*]]: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK:         %[[AT:.*]] = arith.index_cast %[[POINT]] : i64 to index
// CHECK:         scf.if
// CHECK:           func.call @attention_phase0_point({{.*}}, %[[AT]], %{{.*}})
