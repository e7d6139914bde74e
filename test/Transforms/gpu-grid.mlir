// RUN: flash-opt %s --split-input-file --flash-tile --canonicalize --cse | FileCheck %s
//
// What the grid of a kernel is on devices: the number of points is known from shapes, and points that run together
// share keys.

module attributes {flash.target = #flash.target<"sm_80">} {
  // Under a mask, sections of heads: tiles of one number in a section follow one another, so that the longest come first.
  // CHECK-LABEL: func.func @attention_phase0
  // CHECK-SAME:    (%[[Q:.*]]: memref<?x?x4x32xbf16, {{[^%]*}}, %[[K:.*]]: memref<?x?x2x32xbf16,
  // CHECK-DAG:     %[[B:.*]] = memref.dim %[[Q]], %c0
  // CHECK-DAG:     %[[SQ:.*]] = memref.dim %[[Q]], %c1
  // CHECK:         scf.forall (%[[N:.*]]) in (%{{.*}}) {
  // CHECK:           %[[SECTION:.*]] = arith.divui %[[N]], %{{.*}}
  // CHECK:           arith.minsi
  // CHECK:           arith.remui
  // CHECK:           tile.load %[[Q]]
  // CHECK:           scf.for
  // CHECK-NOT:       scf.for
  // CHECK:           flash.online_attention
  func.func @attention(%q: tensor<?x?x4x32xbf16>, %k: tensor<?x?x2x32xbf16>) -> tensor<?x?x4x32xbf16> {
    %m, %l, %acc = flash.online_attention %q, %k, %k
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
        %keep = arith.cmpi sle, %j, %i : index
        flash.yield %keep : i1
      }
      {scale = 0.5 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2>}
      : tensor<?x?x4x32xbf16>, tensor<?x?x2x32xbf16>, tensor<?x?x2x32xbf16>
      -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32>
    %o, %lse = flash.finalize %m, %l, %acc
      : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32> -> tensor<?x?x4x32xbf16>, tensor<?x4x?xf32>
    return %o : tensor<?x?x4x32xbf16>
  }
}

// -----

module attributes {flash.target = #flash.target<"sm_80">} {
  // Without one, all tiles are alike: those of a head follow one another.
  // CHECK-LABEL: func.func @attention_phase0
  // CHECK-SAME:    (%[[Q:.*]]: memref<?x?x4x32xbf16, {{[^%]*}}, %[[K:.*]]: memref<?x?x2x32xbf16,
  // CHECK-DAG:     %[[SQ:.*]] = memref.dim %[[Q]], %c1
  // CHECK:         scf.forall (%[[N:.*]]) in (%{{.*}}) {
  // CHECK:           %[[INSEQUENCE:.*]] = arith.remui %[[N]], %{{.*}}
  // CHECK:           arith.divui %[[INSEQUENCE]], %[[PERHEAD:.*]] : index
  // CHECK:           arith.remui %[[INSEQUENCE]], %[[PERHEAD]] : index
  // CHECK:           tile.load %[[Q]]
  func.func @attention(%q: tensor<?x?x4x32xbf16>, %k: tensor<?x?x2x32xbf16>) -> tensor<?x?x4x32xbf16> {
    %m, %l, %acc = flash.online_attention %q, %k, %k
      {scale = 0.5 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2>}
      : tensor<?x?x4x32xbf16>, tensor<?x?x2x32xbf16>, tensor<?x?x2x32xbf16>
      -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32>
    %o, %lse = flash.finalize %m, %l, %acc
      : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32> -> tensor<?x?x4x32xbf16>, tensor<?x4x?xf32>
    return %o : tensor<?x?x4x32xbf16>
  }
}

// -----

module attributes {flash.target = #flash.target<"sm_80">} {
  // The host does not read the lengths of packed sequences: it launches a bound of the points, at most a few thousand,
  // and each works for as many others as it takes.
  // CHECK-LABEL: func.func @attention_phase0
  // CHECK-SAME:    (%[[Q:.*]]: memref<1x?x4x32xbf16, {{[^%]*}}, %[[K:.*]]: memref<1x?x2x32xbf16, {{[^%]*}}, %[[CUQ:.*]]: memref<?xi32, {{[^%]*}}, %[[CUK:.*]]: memref<?xi32,
  // CHECK-NOT:     memref.load
  // CHECK:         %[[LAUNCHED:.*]] = arith.minsi %{{.*}}, %c4096
  // CHECK-NOT:     memref.load
  // CHECK:         scf.forall (%[[N:.*]]) in (%[[LAUNCHED]]) {
  // CHECK:           memref.load %[[CUQ]]
  // CHECK:           scf.for %{{.*}} = %[[N]] to %{{.*}} step %[[LAUNCHED]] {
  // CHECK:             tile.load %[[Q]]
  // CHECK:             flash.online_attention
  func.func @attention(%q: tensor<1x?x4x32xbf16>, %k: tensor<1x?x2x32xbf16>, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>)
      -> tensor<1x?x4x32xbf16> {
    %m, %l, %acc = flash.online_attention %q, %k, %k cu_seqlens_q(%cuq : tensor<?xi32>) cu_seqlens_k(%cuk : tensor<?xi32>)
      {scale = 0.5 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2>}
      : tensor<1x?x4x32xbf16>, tensor<1x?x2x32xbf16>, tensor<1x?x2x32xbf16>
      -> tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?x32xf32>
    %o, %lse = flash.finalize %m, %l, %acc
      : tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?x32xf32> -> tensor<1x?x4x32xbf16>, tensor<1x4x?xf32>
    return %o : tensor<1x?x4x32xbf16>
  }
}
