// RUN: flash-opt %s --flash-tile | FileCheck %s

// A function on tensors becomes a kernel on memory with any strides. Results are trailing arguments, then the
// workspace. The grid has a point per sequence, head and query tile.
// CHECK-LABEL: func.func @dense_phase0
// CHECK-SAME:    (%[[Q:.*]]: memref<?x?x4x32xbf16, strided<[?, ?, ?, ?], offset: ?>>, %[[K:.*]]: memref<?x?x2x32xbf16, {{[^%]*}}, %[[V:.*]]: memref<?x?x2x16xbf16, {{[^%]*}}, %[[SLOPES:.*]]: memref<?xf32, {{[^%]*}},
// CHECK-SAME:    %[[O:.*]]: memref<?x?x4x16xbf16, {{[^%]*}} {flash.output}, %[[LSE:.*]]: memref<?x4x?xf32, {{[^%]*}} {flash.output}, %{{.*}}: memref<?xi8> {flash.name = "workspace"})
// CHECK-SAME:    attributes {flash.kernel = 0 : i64, flash.schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>}
// CHECK-DAG:     %[[BATCH:.*]] = memref.dim %[[Q]], %c0{{[_0-9]*}} :
// CHECK-DAG:     %[[SQ:.*]] = memref.dim %[[Q]], %c1{{[_0-9]*}} :
// CHECK-DAG:     %[[SK:.*]] = memref.dim %[[K]], %c1{{[_0-9]*}} :
// CHECK:         %[[TILES:.*]] = arith.divui %{{.*}}, %c4
// CHECK:         %[[POINTS:.*]] = arith.muli %[[BATCH]],
// CHECK:         scf.forall (%[[POINT:.*]]) in (%[[POINTS]])
// CHECK:           %[[B:.*]] = arith.divui %[[POINT]],
// Two query heads share a kv head.
// CHECK:           %[[G:.*]] = arith.divui %[[H:.*]], %c2
// CHECK:           %[[I0:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[LEFT:.*]] = arith.subi %[[SQ]], %[[I0]]
// CHECK:           %[[ROWS:.*]] = arith.minsi %[[LEFT]], %c4
// CHECK:           %[[QT:.*]] = tile.load %[[Q]][%[[B]], %[[I0]], %[[H]], %c0{{.*}}] dims [1, 3] valid(%[[ROWS]], %c32) : {{.*}} -> tensor<4x32xbf16>
// The loop over key tiles carries the state from the identity (-inf, 0, 0).
// CHECK:           %[[M0:.*]] = arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK:           %[[L0:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK:           %[[A0:.*]] = arith.constant dense<0.000000e+00> : tensor<4x16xf32>
// CHECK:           %[[STATE:.*]]:3 = scf.for %[[J0:.*]] = %c0{{.*}} to %[[SK]] step %c8{{.*}} iter_args(%[[M:.*]] = %[[M0]], %[[L:.*]] = %[[L0]], %[[ACC:.*]] = %[[A0]])
// CHECK:             %[[KEYS:.*]] = arith.subi %[[SK]], %[[J0]]
// CHECK:             %[[COLUMNS:.*]] = arith.minsi %[[KEYS]], %c8
// CHECK:             %[[KT:.*]] = tile.load %[[K]][%[[B]], %[[J0]], %[[G]], %{{.*}}] dims [1, 3] valid(%[[COLUMNS]], %{{.*}})
// CHECK:             %[[VT:.*]] = tile.load %[[V]][%[[B]], %[[J0]], %[[G]], %{{.*}}] dims [1, 3] valid(%[[COLUMNS]], %{{.*}})
// CHECK:             %[[M1:.*]], %[[L1:.*]], %[[ACC1:.*]] = flash.online_attention %[[QT]], %[[KT]], %[[VT]] init(%[[M]], %[[L]], %[[ACC]] : {{.*}}) at(%[[B]], %[[H]], %[[I0]], %[[J0]], %[[SQ]], %[[SK]]) captures(%[[SLOPES]] : memref<?xf32
// CHECK-NEXT:          mask ({{.*}}: memref<?xf32, strided<[?], offset: ?>>) {
// CHECK:               {base = 0 : i32, boundary, scale = 5.000000e-01 : f32}
// CHECK:             scf.yield %[[M1]], %[[L1]], %[[ACC1]]
// CHECK:           %[[OT:.*]], %[[LSET:.*]] = flash.finalize %[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2
// CHECK:           tile.store %[[OT]], %[[O]][%[[B]], %[[I0]], %[[H]], %{{.*}}] dims [1, 3] valid(%[[ROWS]], %c16{{.*}})
// CHECK:           tile.store %[[LSET]], %[[LSE]][%[[B]], %[[H]], %[[I0]]] dims [2] valid(%[[ROWS]])
func.func @dense(%q: tensor<?x?x4x32xbf16>, %k: tensor<?x?x2x32xbf16>, %v: tensor<?x?x2x16xbf16>,
                 %slopes: tensor<?xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>) {
  %m, %l, %acc = flash.online_attention %q, %k, %v captures(%slopes : tensor<?xf32>)
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {base = 0 : i32, scale = 0.5 : f32,
     schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>}
    : tensor<?x?x4x32xbf16>, tensor<?x?x2x32xbf16>, tensor<?x?x2x16xbf16>
    -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x16xf32>
  %o, %lse = flash.finalize %m, %l, %acc
    : tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x16xf32> -> tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>
  return %o, %lse : tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>
}

// Packed sequences: points are counted over the sequences' tiles, offsets and lengths come from cu_seqlens,
// seqused_k overrides the keys' number. The sink's logit is the head's. The row max leaves before it joins.
// CHECK-LABEL: func.func @packed_phase0
// CHECK-SAME:    (%[[Q:.*]]: memref<1x?x2x32xf32, {{[^%]*}}, %[[K:.*]]: memref<1x?x2x32xf32, {{[^%]*}}, %[[SINKS:.*]]: memref<2xf32, {{[^%]*}}, %[[CUQ:.*]]: memref<?xi32, {{[^%]*}}, %[[CUK:.*]]: memref<?xi32, {{[^%]*}}, %[[USED:.*]]: memref<?xi64, {{[^%]*}}, %[[O:.*]]: memref<1x?x2x32xf32, {{[^%]*}} {flash.output}, %[[MAX:.*]]: memref<1x2x?xf32, {{[^%]*}} {flash.output}
// CHECK:         scf.for
// CHECK:         scf.forall (%[[POINT:.*]]) in
// CHECK:           %[[FOUND:.*]]:5 = scf.for
// CHECK:           %[[BEGIN:.*]] = memref.load %[[CUQ]][%[[FOUND]]#0]
// CHECK:           %[[QOFFSET:.*]] = arith.index_cast %[[BEGIN]] : i32 to index
// CHECK:           %[[SQ:.*]] = arith.subi %{{.*}}, %[[QOFFSET]]
// CHECK:           %[[KBEGIN:.*]] = memref.load %[[CUK]][%[[FOUND]]#0]
// CHECK:           %[[KOFFSET:.*]] = arith.index_cast %[[KBEGIN]] : i32 to index
// CHECK:           %[[LENGTH:.*]] = memref.load %[[USED]][%[[FOUND]]#0]
// CHECK:           %[[SK:.*]] = arith.index_cast %[[LENGTH]] : i64 to index
// CHECK:           %[[ROW:.*]] = arith.addi %[[QOFFSET]], %[[I0:.*]] : index
// CHECK:           tile.load %[[Q]][%c0{{.*}}, %[[ROW]], %[[H:.*]], %{{.*}}] dims
// CHECK:           %[[STATE:.*]]:3 = scf.for %[[J0:.*]] = %{{.*}} to %[[SK]] step
// CHECK:             %[[KEY:.*]] = arith.addi %[[KOFFSET]], %[[J0]]
// CHECK:             tile.load %[[K]][%c0{{.*}}, %[[KEY]], %[[H]],
// CHECK:             flash.online_attention {{.*}} at(%[[FOUND]]#0, %[[H]], %[[I0]], %[[J0]], %[[SQ]], %[[SK]])
// CHECK:           %[[SINK:.*]] = memref.load %[[SINKS]][%[[H]]]
// CHECK:           %[[SM:.*]], %[[SL:.*]], %[[SACC:.*]] = flash.sink_state %[[SINK]] : f32
// CHECK:           flash.merge(%[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2), (%[[SM]], %[[SL]], %[[SACC]])
// CHECK:           tile.store %{{.*}}, %[[O]]
// CHECK:           tile.store %[[STATE]]#0, %[[MAX]]
func.func @packed(%q: tensor<1x?x2x32xf32>, %k: tensor<1x?x2x32xf32>, %sinks: tensor<2xf32>,
                  %cuq: tensor<?xi32>, %cuk: tensor<?xi32>, %used: tensor<?xi64>)
    -> (tensor<1x?x2x32xf32>, tensor<1x2x?xf32>) {
  %m, %l, %acc = flash.online_attention %q, %k, %k cu_seqlens_q(%cuq : tensor<?xi32>)
    cu_seqlens_k(%cuk : tensor<?xi32>) seqused_k(%used : tensor<?xi64>)
    {base = 0 : i32, scale = 0.5 : f32,
     schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>}
    : tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>
    -> tensor<1x2x?xf32>, tensor<1x2x?xf32>, tensor<1x2x?x32xf32>
  %m2, %l2, %acc2 = flash.sink_state %sinks
    : tensor<2xf32> -> tensor<1x2x?xf32>, tensor<1x2x?xf32>, tensor<1x2x?x32xf32>
  %m3, %l3, %acc3 = flash.merge (%m, %l, %acc), (%m2, %l2, %acc2) {base = 0 : i32}
    : tensor<1x2x?xf32>, tensor<1x2x?xf32>, tensor<1x2x?x32xf32>
  %o, %lse = flash.finalize %m3, %l3, %acc3
    : tensor<1x2x?xf32>, tensor<1x2x?xf32>, tensor<1x2x?x32xf32> -> tensor<1x?x2x32xf32>, tensor<1x2x?xf32>
  return %o, %m : tensor<1x?x2x32xf32>, tensor<1x2x?xf32>
}

// Functions without attention stay.
// CHECK-LABEL: func.func @other(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// Keys in pages: their number comes from seqused_k, their rows through the table.
// CHECK-LABEL: func.func @pages_phase0
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?x?xi32, {{[^>]*>}}> {flash.name = "page_table"}
// CHECK:         scf.forall
// CHECK:           scf.for %[[J0:[a-z0-9]+]] =
// CHECK:             tile.load %{{.*}}[%{{.*}}, %[[J0]], {{.*}}] through %[[TABLE]][%{{.*}}] : {{.*}} dims [1, 3]
// CHECK:             tile.load %{{.*}}[%{{.*}}, %[[J0]], {{.*}}] through %[[TABLE]][%{{.*}}] : {{.*}} dims [1, 3]
func.func @pages(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %used: tensor<?xi32>,
                 %table: tensor<?x?xi32> {flash.name = "page_table"}) -> tensor<?x?x2x16xf32> {
  %m, %l, %acc = flash.online_attention %q, %k, %k seqused_k(%used : tensor<?xi32>)
    page_table(%table : tensor<?x?xi32>)
    {scale = 0.5 : f32, schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>}
    : tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>
    -> tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?x16xf32>
  %o, %lse = flash.finalize %m, %l, %acc : tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x?x2x16xf32>, tensor<?x2x?xf32>
  return %o : tensor<?x?x2x16xf32>
}
