// RUN: flash-opt %s --flash-tile | FileCheck %s
//
// The strategy `standard` (the paper's Algorithm 0): three kernels, with S in f32 and P in the input type in the
// workspace, and a function that says how large that is.

// Phase 0: S = score(Q K^T), all tiles of it.
// CHECK-LABEL: func.func @attention_phase0
// CHECK-SAME:    %[[WS:.*]]: memref<?xi8> {flash.name = "workspace"}) attributes {flash.kernel = 0 : i64
// CHECK:         scf.forall
// CHECK:           %[[Q:.*]] = tile.load {{.*}} -> tensor<4x32xbf16>
// CHECK:           scf.for
// CHECK:             %[[K:.*]] = tile.load {{.*}} -> tensor<8x32xbf16>
// CHECK:             %[[S:.*]], %{{.*}} = flash.scores %[[Q]], %[[K]] at(
// CHECK:               mask (
// CHECK:               {boundary, scale = 5.000000e-01 : f32}
// CHECK:             tile.store %[[S]], %{{.*}}[{{.*}}] dims [2, 3] valid({{.*}}) : tensor<4x8xf32>, memref<?x?x?x?xf32>

// Phase 1: the rows' maximum, then their sum, then P, and LSE and row max. The sink joins after the row max left.
// CHECK-LABEL: func.func @attention_phase1
// CHECK-SAME:    %[[SINKS:[a-z0-9]+]]: memref<4xf32
// CHECK-SAME:    %[[LSE:[a-z0-9]+]]: memref<?x4x?xf32, {{[^%]*}} {flash.output}, %[[MAX:[a-z0-9]+]]: memref<?x4x?xf32, {{[^%]*}} {flash.output}
// CHECK-SAME:    flash.kernel = 1 : i64
// CHECK:         scf.forall
// CHECK:           %[[M:.*]] = scf.for
// CHECK:             tile.load {{.*}} : memref<?x?x?x?xf32> -> tensor<4x8xf32>
// CHECK:             tile.reduce max
// CHECK:           tile.store %[[M]], %[[MAX]]
// CHECK:           memref.load %[[SINKS]]
// CHECK:           arith.maximumf %[[M]],
// CHECK:           scf.for
// CHECK:             math.exp
// CHECK:             tile.reduce sum
// CHECK:           scf.for
// CHECK:             %[[P:.*]] = arith.divf
// CHECK:             %[[ROUNDED:.*]] = arith.truncf %[[P]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK:             tile.store %[[ROUNDED]], %{{.*}} : tensor<4x8xbf16>, memref<?x?x?x?xbf16>
// CHECK:           tile.store %{{.*}}, %[[LSE]]

// Phase 2: O = P V, where what the mask drops adds nothing.
// CHECK-LABEL: func.func @attention_phase2
// CHECK-SAME:    flash.kernel = 2 : i64
// CHECK:         scf.forall
// CHECK:           scf.for
// CHECK:             %{{.*}}, %[[KEEP:.*]] = flash.scores
// CHECK:             %[[P:.*]] = tile.load {{.*}} -> tensor<4x8xbf16>
// CHECK:             %[[V:.*]] = tile.load {{.*}} -> tensor<8x32xbf16>
// CHECK:             tile.dot %[[P]], %[[V]] init(%{{.*}}) keep(%[[KEEP]] : tensor<4x8xi1>)
// CHECK:           arith.truncf {{.*}} to tensor<4x32xbf16>
// CHECK:           tile.store

// CHECK-LABEL: func.func @attention_workspace
// CHECK-SAME:    -> index attributes {{{.*}}flash.workspace
// CHECK:         return %{{.*}} : index
func.func @attention(%q: tensor<?x?x4x32xbf16>, %k: tensor<?x?x2x32xbf16>, %sinks: tensor<4xf32>)
    -> (tensor<?x?x4x32xbf16>, tensor<?x4x?xf32>, tensor<?x4x?xf32>) {
  %o, %lse, %max = flash.attention %q, %k, %k sinks(%sinks : tensor<4xf32>)
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {lse, row_max, scale = 0.5 : f32,
     schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>}
    : tensor<?x?x4x32xbf16>, tensor<?x?x2x32xbf16>, tensor<?x?x2x32xbf16>
    -> tensor<?x?x4x32xbf16>, tensor<?x4x?xf32>, tensor<?x4x?xf32>
  return %o, %lse, %max : tensor<?x?x4x32xbf16>, tensor<?x4x?xf32>, tensor<?x4x?xf32>
}
