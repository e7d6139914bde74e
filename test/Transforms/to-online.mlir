// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-to-online))' | FileCheck %s

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // CHECK-LABEL: func.func @plain
  // CHECK-SAME:    (%[[Q:.*]]: tensor<?x?x4x32xbf16>, %[[K:.*]]: tensor<?x?x2x32xbf16>, %[[V:.*]]: tensor<?x?x2x16xbf16>, %[[USED:.*]]: tensor<?xi32>)
  func.func @plain(%q: tensor<?x?x4x32xbf16>, %k: tensor<?x?x2x32xbf16>, %v: tensor<?x?x2x16xbf16>,
                   %used: tensor<?xi32>) -> tensor<?x?x4x16xbf16> {
    // The state is f32, [batch, heads, queries]; the base of a CPU is e.
    // CHECK:      %[[M:.*]], %[[L:.*]], %[[ACC:.*]] = flash.online_attention %[[Q]], %[[K]], %[[V]] seqused_k(%[[USED]] : tensor<?xi32>)
    // CHECK-SAME: {base = 0 : i32, scale = 5.000000e-01 : f32
    // CHECK-SAME: -> tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?x16xf32>
    // CHECK-NOT:  flash.merge
    // CHECK:      %[[O:.*]], %{{.*}} = flash.finalize %[[M]], %[[L]], %[[ACC]] : {{.*}} -> tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>
    // CHECK:      return %[[O]]
    %o = flash.attention %q, %k, %v seqused_k(%used : tensor<?xi32>) {scale = 0.5 : f32}
      : tensor<?x?x4x32xbf16>, tensor<?x?x2x32xbf16>, tensor<?x?x2x16xbf16> -> tensor<?x?x4x16xbf16>
    return %o : tensor<?x?x4x16xbf16>
  }

  // The sink is a state that joins once; the row max is that of the keys alone, LSE that of all. It is a component
  // of its own where it is asked for.
  // CHECK-LABEL: func.func @sinks
  // CHECK-SAME:    %[[SINKS:[a-z0-9]+]]: tensor<2xf32>)
  func.func @sinks(%q: tensor<1x8x2x32xf32>, %sinks: tensor<2xf32>)
      -> (tensor<1x8x2x32xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) {
    // CHECK: %[[M:.*]], %[[L:.*]], %[[ACC:.*]], %[[MAX:.*]] = flash.online_attention
    // CHECK: %[[SM:.*]], %[[SL:.*]], %[[SACC:.*]] = flash.sink_state %[[SINKS]]
    // CHECK: %[[MM:.*]], %[[ML:.*]], %[[MACC:.*]] = flash.merge(%[[M]], %[[L]], %[[ACC]]), (%[[SM]], %[[SL]], %[[SACC]]) {base = 0 : i32}
    // CHECK: %[[O:.*]], %[[LSE:.*]] = flash.finalize %[[MM]], %[[ML]], %[[MACC]]
    // CHECK: return %[[O]], %[[LSE]], %[[MAX]]
    %o, %lse, %max = flash.attention %q, %q, %q sinks(%sinks : tensor<2xf32>) {lse, row_max, scale = 1.0 : f32}
      : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
      -> tensor<1x8x2x32xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>
    return %o, %lse, %max : tensor<1x8x2x32xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>
  }

  // Regions and captures go along.
  // CHECK-LABEL: func.func @regions
  // CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: tensor<?xf32>)
  // CHECK:         flash.online_attention {{.*}} captures(%[[SLOPES]] : tensor<?xf32>)
  // CHECK-NEXT:      mask (
  // CHECK:             flash.read
  // CHECK:             flash.yield %{{.*}} : i1
  func.func @regions(%q: tensor<1x8x2x32xf32>, %slopes: tensor<?xf32>) -> tensor<1x8x2x32xf32> {
    %o = flash.attention %q, %q, %q captures(%slopes : tensor<?xf32>)
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
        %x = flash.read %slope[%j] : tensor<?xf32> -> f32
        %zero = arith.constant 0.0 : f32
        %keep = arith.cmpf olt, %zero, %x : f32
        flash.yield %keep : i1
      }
      {scale = 1.0 : f32}
      : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
    return %o : tensor<1x8x2x32xf32>
  }

  // A result type with fewer static sizes than the state's is cast.
  // CHECK-LABEL: func.func @cast
  // CHECK:         %[[O:.*]], %[[LSE:.*]] = flash.finalize
  // CHECK:         %[[CAST:.*]] = tensor.cast %[[LSE]] : tensor<1x2x8xf32> to tensor<?x?x?xf32>
  // CHECK:         return %[[CAST]]
  func.func @cast(%q: tensor<1x8x2x32xf32>) -> tensor<?x?x?xf32> {
    %o, %lse = flash.attention %q, %q, %q {lse, scale = 1.0 : f32}
      : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
      -> tensor<1x8x2x32xf32>, tensor<?x?x?xf32>
    return %lse : tensor<?x?x?xf32>
  }

  // CHECK-LABEL: func.func @standard_stays
  // CHECK:         flash.attention
  // CHECK-NOT:     flash.online_attention
  func.func @standard_stays(%q: tensor<1x8x2x32xf32>) -> tensor<1x8x2x32xf32> {
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>}
      : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
    return %o : tensor<1x8x2x32xf32>
  }
}
