// RUN: flash-opt %s | FileCheck %s
//
// The examples of the descriptions in NVTileOps.td, and their optional parts.

#rows = #nvtile.fragment<warps = [4, 1]>
#both = #nvtile.fragment<warps = [2, 2]>
#left = #nvtile.operand<warps = 4>

// CHECK-LABEL: func.func @layouts
// CHECK-SAME:    tensor<128x64xf32, #nvtile.fragment<warps = [4, 1]>>
// CHECK-SAME:    tensor<128x64xf32, #nvtile.fragment<warps = [2, 2]>>
// CHECK-SAME:    tensor<128x64xbf16, #nvtile.operand<warps = 4>>
// CHECK-SAME:    !nvtile.shared<2 x 64 x 128 x bf16>
func.func @layouts(%a: tensor<128x64xf32, #rows>, %b: tensor<128x64xf32, #both>, %c: tensor<128x64xbf16, #left>,
                   %d: !nvtile.shared<2 x 64 x 128 x bf16>) {
  return
}

// CHECK-LABEL: func.func @copies
// CHECK-SAME:    (%[[K:.*]]: memref<?x?x?x64xbf16>, %[[B:.*]]: index, %[[J:.*]]: index, %[[H:.*]]: index, %[[C0:.*]]: index, %[[N:.*]]: index, %[[C64:.*]]: index, %[[STAGE:.*]]: index) -> (index, i1) attributes {nvtile.blocks = 2 : i64, nvtile.shared_bytes = 16384 : i64, nvtile.threads = 128 : i64}
func.func @copies(%k: memref<?x?x?x64xbf16>, %b: index, %j: index, %h: index, %c0: index, %n: index, %c64: index,
                  %stage: index) -> (index, i1)
    attributes {nvtile.threads = 128 : i64, nvtile.shared_bytes = 16384 : i64, nvtile.blocks = 2 : i64} {
  // CHECK: %[[ID:.*]] = nvtile.block_id
  %id = nvtile.block_id
  // CHECK: %[[S:.*]] = nvtile.alloc : <2 x 64 x 64 x bf16>
  %s = nvtile.alloc : !nvtile.shared<2 x 64 x 64 x bf16>
  // CHECK: nvtile.alloc : <2 x 16 x 64 x bf16> over %[[S]] : !nvtile.shared<2 x 64 x 64 x bf16>
  %small = nvtile.alloc : !nvtile.shared<2 x 16 x 64 x bf16> over %s : !nvtile.shared<2 x 64 x 64 x bf16>
  // CHECK: nvtile.copy %[[K]][%[[B]], %[[J]], %[[H]], %[[C0]]] dims [1, 3] valid(%[[N]], %[[C64]]) to %[[S]][%[[STAGE]]] : memref<?x?x?x64xbf16>, <2 x 64 x 64 x bf16>
  nvtile.copy %k[%b, %j, %h, %c0] dims [1, 3] valid(%n, %c64) to %s[%stage] : memref<?x?x?x64xbf16>, !nvtile.shared<2 x 64 x 64 x bf16>
  // CHECK: nvtile.commit
  nvtile.commit
  // CHECK: nvtile.wait 1
  nvtile.wait 1
  // CHECK: nvtile.barrier
  nvtile.barrier
  // CHECK: nvtile.launch_dependents
  nvtile.launch_dependents
  // CHECK: nvtile.wait_prerequisites
  nvtile.wait_prerequisites
  // CHECK: %[[OK:.*]] = nvtile.all_finite %[[S]][%[[STAGE]]]
  %ok = nvtile.all_finite %s[%stage] : !nvtile.shared<2 x 64 x 64 x bf16>
  // CHECK: return %[[ID]], %[[OK]]
  return %id, %ok : index, i1
}

// CHECK-LABEL: func.func @products
// CHECK-SAME:    (%[[Q:.*]]: !nvtile.shared<1 x 128 x 64 x bf16>, %[[K:.*]]: !nvtile.shared<2 x 64 x 64 x bf16>, %[[STAGE:.*]]: index, %[[P:.*]]: tensor<128x64xbf16, {{.*}}>, %[[KEEP:.*]]: tensor<128x64xi1, {{.*}}>, %[[OK:.*]]: i1)
func.func @products(%q: !nvtile.shared<1 x 128 x 64 x bf16>, %k: !nvtile.shared<2 x 64 x 64 x bf16>, %stage: index,
                    %p: tensor<128x64xbf16, #rows>, %keep: tensor<128x64xi1, #rows>, %ok: i1)
    -> tensor<128x64xf32, #rows> {
  // CHECK: %[[A:.*]] = nvtile.read %[[Q]][%[[STAGE]]]
  %a = nvtile.read %q[%stage] : !nvtile.shared<1 x 128 x 64 x bf16> -> tensor<128x64xbf16, #left>
  // The left operand in registers, and in shared memory.
  // CHECK: nvtile.dot %[[A]], %[[K]][%[[STAGE]]] {transpose_b}
  %s = nvtile.dot %a, %k[%stage] {transpose_b} : tensor<128x64xbf16, #left>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<128x64xf32, #rows>
  // CHECK: %[[T:.*]] = nvtile.dot %[[Q]][%[[STAGE]]], %[[K]][%[[STAGE]]] {transpose_b}
  %t = nvtile.dot %q[%stage], %k[%stage] {transpose_b} : !nvtile.shared<1 x 128 x 64 x bf16>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<128x64xf32, #rows>
  // The first rows of b only.
  // CHECK: nvtile.dot {{.*}} -> tensor<128x16xf32,
  %u = nvtile.dot %a, %k[%stage] {transpose_b} : tensor<128x64xbf16, #left>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<128x16xf32, #rows>
  // CHECK: %[[O:.*]] = nvtile.dot %[[P]], %[[K]][%[[STAGE]]] init(%[[T]] : tensor<128x64xf32, {{.*}}>) keep(%[[KEEP]] : tensor<128x64xi1, {{.*}}>) finite(%[[OK]]) :
  %o = nvtile.dot %p, %k[%stage] init(%t : tensor<128x64xf32, #rows>) keep(%keep : tensor<128x64xi1, #rows>) finite(%ok)
    : tensor<128x64xbf16, #rows>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<128x64xf32, #rows>
  return %o : tensor<128x64xf32, #rows>
}

// CHECK-LABEL: func.func @bands
func.func @bands(%q: !nvtile.shared<1 x 16 x 64 x bf16>, %k: !nvtile.shared<2 x 64 x 64 x bf16>, %stage: index,
                 %m: tensor<64xf32, #rows>) -> tensor<16x64xf32, #nvtile.fragment<warps = [1, 4]>> {
  // CHECK: nvtile.dot %{{.*}}, %{{.*}} {bands = 4 : i64, transpose_b} : {{.*}} -> tensor<64x16xf32,
  %s = nvtile.dot %q[%stage], %k[%stage] {bands = 4 : i64, transpose_b} : !nvtile.shared<1 x 16 x 64 x bf16>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<64x16xf32, #rows>
  %p = arith.truncf %s : tensor<64x16xf32, #rows> to tensor<64x16xbf16, #rows>
  %acc = nvtile.dot %p, %k[%stage] {bands = 4 : i64} : tensor<64x16xbf16, #rows>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<64x64xf32, #rows>
  %a = nvtile.alloc : !nvtile.shared<1 x 16 x 4 x f32>
  %b = nvtile.alloc : !nvtile.shared<1 x 64 x 64 x f32>
  // CHECK: nvtile.fold maxnum %{{.*}} through %{{.*}} -> tensor<16xf32,
  %t = nvtile.fold maxnum %m through %a : tensor<64xf32, #rows>, !nvtile.shared<1 x 16 x 4 x f32> -> tensor<16xf32, #nvtile.fragment<warps = [1, 1]>>
  // CHECK: nvtile.fold sum %{{.*}} through %{{.*}} -> tensor<16x64xf32,
  %o = nvtile.fold sum %acc through %b : tensor<64x64xf32, #rows>, !nvtile.shared<1 x 64 x 64 x f32> -> tensor<16x64xf32, #nvtile.fragment<warps = [1, 4]>>
  return %o : tensor<16x64xf32, #nvtile.fragment<warps = [1, 4]>>
}

// CHECK-LABEL: func.func @pages
func.func @pages(%k: memref<?x?x?x64xbf16>, %table: memref<?x?xi32>, %b: index, %j: index, %stage: index) {
  %c64 = arith.constant 64 : index
  %s = nvtile.alloc : !nvtile.shared<2 x 64 x 64 x bf16>
  // CHECK: nvtile.copy %{{.*}}[{{.*}}] through %{{.*}}[%{{.*}}] : memref<?x?xi32> dims [1, 3] valid(%{{.*}}, %{{.*}}) to
  nvtile.copy %k[%b, %j, %b, %b] through %table[%b] : memref<?x?xi32> dims [1, 3] valid(%c64, %c64) to %s[%stage] : memref<?x?x?x64xbf16>, !nvtile.shared<2 x 64 x 64 x bf16>
  return
}
