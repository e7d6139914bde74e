// RUN: flash-opt %s | FileCheck %s
//
// The examples of the op descriptions in FlashOps.td, and every clause of the attention ops.

// CHECK-LABEL: func.func @attention
// CHECK-SAME:    (%[[Q:.*]]: tensor<?x?x16x64xbf16>, %[[K:.*]]: tensor<?x?x4x64xbf16>, %[[V:.*]]: tensor<?x?x4x64xbf16>, %[[SLOPES:.*]]: tensor<?xf32>)
func.func @attention(%q: tensor<?x?x16x64xbf16>, %k: tensor<?x?x4x64xbf16>, %v: tensor<?x?x4x64xbf16>,
                     %slopes: tensor<?xf32>) -> tensor<?x?x16x64xbf16> {
  // CHECK:      flash.attention %[[Q]], %[[K]], %[[V]] captures(%[[SLOPES]] : tensor<?xf32>)
  // CHECK-NEXT:   score (%[[S:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[SLOPE:.*]]: tensor<?xf32>) {
  // CHECK:          flash.read %[[SLOPE]][%[[H]]] : tensor<?xf32> -> f32
  // CHECK:          flash.yield %{{.*}} : f32
  // CHECK:        mask (%{{.*}}: index, %{{.*}}: index, %[[MI:.*]]: index, %[[MJ:.*]]: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: tensor<?xf32>) {
  // CHECK:          %[[KEEP:.*]] = arith.cmpi sle, %[[MJ]], %[[MI]] : index
  // CHECK:          flash.yield %[[KEEP]] : i1
  // CHECK:        {scale = 1.250000e-01 : f32} : tensor<?x?x16x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x16x64xbf16>
  %o = flash.attention %q, %k, %v captures(%slopes : tensor<?xf32>)
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
           %slope: tensor<?xf32>) {
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i64
      %df = arith.sitofp %di : i64 to f32
      %m = flash.read %slope[%h] : tensor<?xf32> -> f32
      %t = arith.mulf %m, %df : f32
      %r = arith.addf %s, %t : f32
      flash.yield %r : f32
    }
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {scale = 1.250000e-01 : f32}
    : tensor<?x?x16x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x16x64xbf16>
  return %o : tensor<?x?x16x64xbf16>
}

// CHECK-LABEL: func.func @all_clauses
func.func @all_clauses(%q: tensor<1x?x4x64xf16>, %k: tensor<1x?x2x64xf16>, %v: tensor<1x?x2x32xf16>,
                       %sinks: tensor<4xf32>, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>,
                       %used: tensor<?xi64>)
    -> (tensor<1x?x4x32xf16>, tensor<1x4x?xf32>, tensor<1x4x?xf32>) {
  // CHECK: %[[O:.*]], %[[LSE:.*]], %[[MAX:.*]] = flash.attention %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<4xf32>) cu_seqlens_q(%{{.*}} : tensor<?xi32>) cu_seqlens_k(%{{.*}} : tensor<?xi32>) seqused_k(%{{.*}} : tensor<?xi64>) {scale = 1.000000e+00 : f32, schedule = #flash.schedule<tile = [12, 64], micro = [6, 16], strategy = standard>, lse, row_max}
  %o, %lse, %max = flash.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
    cu_seqlens_q(%cuq : tensor<?xi32>) cu_seqlens_k(%cuk : tensor<?xi32>)
    seqused_k(%used : tensor<?xi64>)
    {lse, row_max, scale = 1.0 : f32,
     schedule = #flash.schedule<tile = [12, 64], micro = [6, 16], strategy = standard>}
    : tensor<1x?x4x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x32xf16>
    -> tensor<1x?x4x32xf16>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
  return %o, %lse, %max : tensor<1x?x4x32xf16>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
}

// CHECK-LABEL: func.func @pages
func.func @pages(%q: tensor<3x?x4x64xf16>, %k: tensor<9x16x2x64xf16>, %v: tensor<9x16x2x32xf16>,
                 %used: tensor<3xi32>, %table: tensor<3x?xi64>) -> tensor<3x?x4x32xf16> {
  // CHECK: flash.attention %{{.*}}, %{{.*}}, %{{.*}} seqused_k(%{{.*}} : tensor<3xi32>) page_table(%{{.*}} : tensor<3x?xi64>) {scale
  %o = flash.attention %q, %k, %v seqused_k(%used : tensor<3xi32>) page_table(%table : tensor<3x?xi64>)
    {scale = 1.0 : f32}
    : tensor<3x?x4x64xf16>, tensor<9x16x2x64xf16>, tensor<9x16x2x32xf16> -> tensor<3x?x4x32xf16>
  return %o : tensor<3x?x4x32xf16>
}

// One further result is told apart by its name.
// CHECK-LABEL: func.func @row_max_alone
// CHECK:         flash.attention {{.*}} {scale = {{.*}}, row_max} : {{.*}} -> tensor<1x8x2x32xf32>, tensor<1x2x8xf32>
func.func @row_max_alone(%q: tensor<1x8x2x32xf32>) -> tensor<1x2x8xf32> {
  %o, %max = flash.attention %q, %q, %q {row_max, scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
    -> tensor<1x8x2x32xf32>, tensor<1x2x8xf32>
  return %max : tensor<1x2x8xf32>
}

// CHECK-LABEL: func.func @online_whole
func.func @online_whole(%q: tensor<?x?x4x64xf32>) -> tensor<?x4x?xf32> {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = flash.online_attention %{{.*}}, %{{.*}}, %{{.*}} {base = 2 : i32, scale = 1.000000e+00 : f32}
  // CHECK-SAME: -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x64xf32>
  %m, %l, %acc = flash.online_attention %q, %q, %q {base = 2 : i32, scale = 1.0 : f32}
    : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>
    -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x64xf32>
  return %m : tensor<?x4x?xf32>
}

// CHECK-LABEL: func.func @online_tile
func.func @online_tile(%qt: tensor<64x32xf32>, %kt: tensor<64x32xf32>, %vt: tensor<64x32xf32>,
                       %m: tensor<64xf32>, %l: tensor<64xf32>, %acc: tensor<64x32xf32>,
                       %b: index, %h: index, %i0: index, %j0: index, %sq: index, %sk: index)
    -> tensor<64x32xf32> {
  // CHECK: flash.online_attention %{{.*}}, %{{.*}}, %{{.*}} init(%{{.*}}, %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>) at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK-SAME: {base = 2 : i32, boundary, scale = 1.000000e+00 : f32}
  // CHECK-SAME: -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  %m1, %l1, %acc1 = flash.online_attention %qt, %kt, %vt
    init(%m, %l, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>) at(%b, %h, %i0, %j0, %sq, %sk)
    {base = 2 : i32, boundary, scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return %acc1 : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @state
func.func @state(%m1: tensor<64xf32>, %l1: tensor<64xf32>, %acc1: tensor<64x32xf32>, %sink: f32)
    -> (tensor<64x32xbf16>, tensor<64xf32>) {
  // CHECK: %[[M2:.*]], %[[L2:.*]], %[[ACC2:.*]] = flash.sink_state %{{.*}} : f32 -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  %m2, %l2, %acc2 = flash.sink_state %sink : f32 -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  // CHECK: flash.merge(%{{.*}}, %{{.*}}, %{{.*}}), (%[[M2]], %[[L2]], %[[ACC2]]) : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  %m, %l, %acc = flash.merge (%m1, %l1, %acc1), (%m2, %l2, %acc2) : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  // CHECK: flash.finalize {{.*}} -> tensor<64x32xbf16>, tensor<64xf32>
  %o, %lse = flash.finalize %m, %l, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32> -> tensor<64x32xbf16>, tensor<64xf32>
  return %o, %lse : tensor<64x32xbf16>, tensor<64xf32>
}

// CHECK-LABEL: func.func @sinks_whole
// CHECK:         flash.sink_state %{{.*}} : tensor<?xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>
func.func @sinks_whole(%sinks: tensor<?xf32>) -> tensor<?x?x?xf32> {
  %m, %l, %acc = flash.sink_state %sinks : tensor<?xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>
  return %m : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @scores
// CHECK:         flash.scores %{{.*}}, %{{.*}} at({{.*}}) captures(%{{.*}} : memref<?x?x?x?xbf16>)
// CHECK:         flash.read %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?x?xbf16> -> f32
// CHECK:         {boundary, scale = 1.000000e+00 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x64xi1>
func.func @scores(%q: tensor<64x32xf32>, %k: tensor<64x32xf32>, %bias: memref<?x?x?x?xbf16>,
                  %b: index, %h: index, %i0: index, %j0: index, %sq: index, %sk: index)
    -> tensor<64x64xi1> {
  %s, %keep = flash.scores %q, %k at(%b, %h, %i0, %j0, %sq, %sk) captures(%bias : memref<?x?x?x?xbf16>)
    score (%s0: f32, %b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index,
           %array: memref<?x?x?x?xbf16>) {
      %x = flash.read %array[%b1, %h1, %i, %j] : memref<?x?x?x?xbf16> -> f32
      %r = arith.addf %s0, %x : f32
      flash.yield %r : f32
    }
    {boundary, scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x64xi1>
  return %keep : tensor<64x64xi1>
}

// A reference that stays what it was at the beginning.
// CHECK-LABEL: func.func @fixed
// CHECK:         flash.online_attention {{.*}} init({{.*}}) at({{.*}}) {base = 2 : i32, fixed, scale = 1.000000e+00 : f32}
func.func @fixed(%q: tensor<64x32xf32>, %m: tensor<64xf32>, %i: index) -> tensor<64x32xf32> {
  %m1, %l, %acc = flash.online_attention %q, %q, %q
    init(%m, %m, %q : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>) at(%i, %i, %i, %i, %i, %i)
    {base = 2 : i32, fixed, scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return %acc : tensor<64x32xf32>
}
