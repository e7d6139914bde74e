// RUN: flash-opt %s --split-input-file --flash-tile --canonicalize --cse | FileCheck %s
//
// Schedules for decoding: rows = heads puts the heads that share keys into one tile, and split = 16 divides the keys
// into parts of 16 whose states go to the workspace and are merged by a second phase.

// CHECK-LABEL: func.func @attention_phase0
// CHECK-SAME:    (%[[Q:.*]]: memref<?x?x4x32xf32, {{[^%]*}}, %[[K:.*]]: memref<?x?x2x32xf32, {{[^%]*}}, %[[O:.*]]: memref<{{[^%]*}} {flash.output}, %[[WS:.*]]: memref<?xi8> {flash.name = "workspace"}) attributes {flash.kernel = 0 : i64
// CHECK-DAG:     %[[SK:.*]] = memref.dim %[[K]], %c1
// CHECK:         scf.forall
// CHECK:           %[[BEGIN:.*]] = arith.muli %[[PART:.*]], %c16
// CHECK:           %[[NEXT:.*]] = arith.addi %[[BEGIN]], %c16
// CHECK:           %[[END:.*]] = arith.minsi %[[NEXT]], %[[SK]]
// CHECK:           %[[MS:.*]] = memref.view %[[WS]]{{.*}} to memref<?x4xf32>
// CHECK:           %[[LS:.*]] = memref.view %[[WS]]{{.*}} to memref<?x4xf32>
// CHECK:           %[[ACCS:.*]] = memref.view %[[WS]]{{.*}} to memref<?x4x32xf32>
// The rows of the tile are the two heads of a group.
// CHECK:           tile.load %[[Q]][%{{.*}}, %[[I:.*]], %[[H0:.*]], %{{.*}}] dims [2, 3] valid(%c2, %c32)
// CHECK:           %[[STATE:.*]]:3 = scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c8
// CHECK:             flash.online_attention {{.*}} at(%{{.*}}, %[[H0]], %[[I]],
// CHECK:               {base = 0 : i32, boundary, heads,
// CHECK:           tile.store %[[STATE]]#0, %[[MS]]
// CHECK:           tile.store %[[STATE]]#1, %[[LS]]
// CHECK:           tile.store %[[STATE]]#2, %[[ACCS]]

// CHECK-LABEL: func.func @attention_phase1
// CHECK-SAME:    flash.kernel = 1 : i64
// CHECK:         scf.forall
// CHECK:           scf.for
// CHECK:             flash.merge
// CHECK:           flash.finalize
// CHECK:           tile.store %{{.*}} dims [2, 3] valid(%c2, %c32)

// CHECK-LABEL: func.func @attention_workspace
// CHECK-SAME:    -> index
func.func @attention(%q: tensor<?x?x4x32xf32>, %k: tensor<?x?x2x32xf32>) -> tensor<?x?x4x32xf32> {
  %m, %l, %acc = flash.online_attention %q, %k, %k
    {base = 0 : i32, scale = 0.5 : f32,
     schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online, rows = heads, split = 16>}
    : tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
    -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32>
  %o, %lse = flash.finalize %m, %l, %acc
    : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x32xf32> -> tensor<?x?x4x32xf32>, tensor<?x4x?xf32>
  return %o : tensor<?x?x4x32xf32>
}

// -----

// On a device many points merge a tile: the schedule's warps times a row of it each. The states of 16 parts are loaded
// together, those that are not there as empty ones, before the weight of any is taken.
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @device_phase1
  // CHECK:         scf.forall (%[[N:.*]]) in
  // CHECK:           arith.remui %[[N]], %{{.*}} {flash.small} : index
  // CHECK:           scf.for %{{.*}} = %c0 to %{{.*}} step %c16 iter_args(%[[M0:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
  // CHECK:             %[[M:.*]] = tile.load {{.*}} dims [1] {{.*}} -> tensor<4xf32>
  // CHECK:             %[[THERE:.*]] = arith.select %{{.*}}, %[[M]], %{{.*}} : tensor<4xf32>
  // CHECK:             arith.maxnumf %[[M0]], %[[THERE]]
  // CHECK-COUNT-15:    tile.load {{.*}} dims [1, 2] {{.*}} -> tensor<4x32xf32>
  // CHECK:             math.exp
  // CHECK-NOT:       flash.merge
  // CHECK:           flash.finalize
  // CHECK:           tile.store {{.*}} : tensor<4x32xf32>
  func.func @device(%q: tensor<?x?x16x32xf32>, %k: tensor<?x?x2x32xf32>) -> tensor<?x?x16x32xf32> {
    %m, %l, %acc = flash.online_attention %q, %k, %k
      {base = 0 : i32, scale = 0.5 : f32,
       schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, rows = heads, split = 16, across = 4>}
      : tensor<?x?x16x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
      -> tensor<?x16x?xf32>, tensor<?x16x?xf32>, tensor<?x16x?x32xf32>
    %o, %lse = flash.finalize %m, %l, %acc
      : tensor<?x16x?xf32>, tensor<?x16x?xf32>, tensor<?x16x?x32xf32> -> tensor<?x?x16x32xf32>, tensor<?x16x?xf32>
    return %o : tensor<?x?x16x32xf32>
  }
}

// -----

// Bands of a tile of keys have states of their own, which are merged before that of the part is stored.
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @bands_phase0
  // CHECK:         %[[STATE:.*]]:3 = scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>)
  // CHECK:           flash.online_attention {{.*}} {bands = 4 : i64, {{.*}} : tensor<16x32xf32>, tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  // CHECK:         %[[M:.*]] = tile.fold maxnum %[[STATE]]#0 : tensor<64xf32> -> tensor<16xf32>
  // CHECK:         tile.repeat %{{.*}} : tensor<16xf32> -> tensor<64xf32>
  // CHECK:         %[[L:.*]] = tile.fold sum %{{.*}} : tensor<64xf32> -> tensor<16xf32>
  // CHECK:         %[[ACC:.*]] = tile.fold sum %{{.*}} : tensor<64x32xf32> -> tensor<16x32xf32>
  // CHECK:         tile.store %[[M]],
  // CHECK:         tile.store %[[L]],
  // CHECK:         tile.store %[[ACC]],
  func.func @bands(%q: tensor<?x?x16x32xf32>, %k: tensor<?x?x2x32xf32>) -> tensor<?x?x16x32xf32> {
    %m, %l, %acc = flash.online_attention %q, %k, %k
      {base = 0 : i32, scale = 0.5 : f32,
       schedule = #flash.schedule<tile = [16, 64], micro = [16, 16], strategy = online, rows = heads, split = 64, bands = 4>}
      : tensor<?x?x16x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
      -> tensor<?x16x?xf32>, tensor<?x16x?xf32>, tensor<?x16x?x32xf32>
    %o, %lse = flash.finalize %m, %l, %acc
      : tensor<?x16x?xf32>, tensor<?x16x?xf32>, tensor<?x16x?x32xf32> -> tensor<?x?x16x32xf32>, tensor<?x16x?xf32>
    return %o : tensor<?x?x16x32xf32>
  }
}
