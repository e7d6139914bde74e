// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-decompose,canonicalize,cse))' | FileCheck %s

// Algorithm 1, lines 9 to 13: scores, the new maximum, the old state rescaled to it.
// CHECK-LABEL: func.func @online
// CHECK-SAME:    (%[[Q:.*]]: tensor<4x32xbf16>, %[[K:.*]]: tensor<8x32xbf16>, %[[V:.*]]: tensor<8x16xbf16>, %[[M:.*]]: tensor<4xf32>, %[[L:.*]]: tensor<4xf32>, %[[ACC:.*]]: tensor<4x16xf32>, %[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I0:[a-z0-9]+]]: index, %[[J0:[a-z0-9]+]]: index, %[[SQ:[a-z0-9]+]]: index, %[[SK:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK-DAG:     %[[DROPPED:.*]] = arith.constant dense<0xFF800000> : tensor<4x8xf32>
// CHECK-DAG:     %[[SCALES:.*]] = arith.constant dense<5.000000e-01> : tensor<4x8xf32>
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK:         %[[QK:.*]] = tile.dot %[[Q]], %[[K]] {transpose_b} : {{.*}} -> tensor<4x8xf32>
// CHECK:         %[[I:.*]] = tile.coords %[[I0]] dim 0 : tensor<4x8xindex>
// CHECK:         %[[J:.*]] = tile.coords %[[J0]] dim 1 : tensor<4x8xindex>
// CHECK:         %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// Keys beyond the sequence are dropped, and what is dropped has the score -inf.
// CHECK:         %[[END:.*]] = tensor.splat %[[SK]] : tensor<4x8xindex>
// CHECK:         %[[INSIDE:.*]] = arith.cmpi slt, %[[J]], %[[END]]
// CHECK:         %[[KEEP:.*]] = arith.andi %[[INSIDE]], %[[CAUSAL]]
// CHECK:         %[[S:.*]] = arith.select %[[KEEP]], %[[QK]], %[[DROPPED]]
// A positive scale goes through the maximum: rows instead of the tile are multiplied.
// CHECK:         %[[MAX:.*]] = tile.reduce maxnum %[[S]]
// CHECK:         %[[HERE:.*]] = arith.mulf %[[MAX]], %[[SCALE]]
// CHECK:         %[[LARGER:.*]] = arith.cmpf ogt, %[[HERE]], %[[M]]
// CHECK:         %[[M1:.*]] = arith.select %[[LARGER]], %[[HERE]], %[[M]]
// Where nothing is kept yet the reference is 0, for -inf - (-inf) is no number.
// CHECK:         %[[EMPTY:.*]] = arith.cmpf oeq, %[[M1]], %[[NONE]]
// CHECK:         %[[REF:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[M1]]
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[S]], %[[SCALES]]
// CHECK:         %[[REFS:.*]] = tile.broadcast %[[REF]]
// CHECK:         %[[SHIFTED:.*]] = arith.subf %[[SCALED]], %[[REFS]]
// CHECK:         %[[P:.*]] = math.exp %[[SHIFTED]]
// l sums P before it is rounded.
// CHECK:         %[[SUM:.*]] = tile.reduce sum %[[P]]
// CHECK:         %[[CHANGE:.*]] = arith.subf %[[M]], %[[REF]]
// CHECK:         %[[FACTOR:.*]] = math.exp %[[CHANGE]]
// CHECK:         %[[OLD:.*]] = arith.mulf %[[L]], %[[FACTOR]]
// CHECK:         %[[L1:.*]] = arith.addf %[[OLD]], %[[SUM]]
// CHECK:         %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]]
// CHECK:         %[[SCALEDACC:.*]] = arith.mulf %[[ACC]], %[[FACTORS]]
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[P]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK:         %[[ACC1:.*]] = tile.dot %[[ROUNDED]], %[[V]] init(%[[SCALEDACC]] : tensor<4x16xf32>) keep(%[[KEEP]] : tensor<4x8xi1>)
// CHECK:         return %[[M1]], %[[L1]], %[[ACC1]]
func.func @online(%q: tensor<4x32xbf16>, %k: tensor<8x32xbf16>, %v: tensor<8x16xbf16>, %m: tensor<4xf32>,
                  %l: tensor<4xf32>, %acc: tensor<4x16xf32>, %b: index, %h: index, %i0: index, %j0: index,
                  %sq: index, %sk: index) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) {
  %m1, %l1, %acc1 = flash.online_attention %q, %k, %v
    init(%m, %l, %acc : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) at(%b, %h, %i0, %j0, %sq, %sk)
    mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {base = 0 : i32, boundary, scale = 0.5 : f32}
    : tensor<4x32xbf16>, tensor<8x32xbf16>, tensor<8x16xbf16> -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
}

// A row that keeps nothing leaves the state of a loop as it is, so that it may be left out. What lies beyond the end
// is 0 in V, so that without a mask nothing must be kept from being multiplied.
// CHECK-LABEL: func.func @loop
// CHECK:         tile.dot {{.*}} keep({{.*}}) {idle_rows}
// CHECK:         tile.dot {{.*}} {transpose_b}
// CHECK:         tile.dot {{.*}} init({{.*}}) : tensor<4x8xf32>
func.func @loop(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>,
                %acc: tensor<4x16xf32>, %b: index, %h: index, %i0: index, %sq: index, %sk: index)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) {
    %m1, %l1, %acc1 = flash.online_attention %q, %k, %v
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) at(%b, %h, %i0, %j0, %sq, %sk)
      mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
        %keep = arith.cmpi sle, %j, %i : index
        flash.yield %keep : i1
      }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x16xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  }
  %m2, %l2, %acc2 = flash.online_attention %q, %k, %v
    init(%r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) at(%b, %h, %i0, %c0, %sq, %sk)
    {base = 0 : i32, boundary, scale = 0.5 : f32}
    : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x16xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return %m2, %l2, %acc2 : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
}

// Without init, mask and boundary nothing is rescaled or selected; a scale of 1 costs nothing. Base 2 uses exp2.
// CHECK-LABEL: func.func @bare
// CHECK-NOT:     arith.select %{{.*}} : tensor<4x8xi1>
// CHECK:         %[[S:.*]] = tile.dot %{{.*}} {transpose_b}
// CHECK-NEXT:    tile.reduce maxnum %[[S]]
// CHECK-NOT:     math.exp %
// CHECK:         math.exp2
// CHECK:         tile.dot %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
func.func @bare(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %v: tensor<8x16xf32>, %x: index) -> tensor<4x16xf32> {
  %m1, %l1, %acc1 = flash.online_attention %q, %k, %v at(%x, %x, %x, %x, %x, %x)
    {base = 2 : i32, scale = 1.0 : f32}
    : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x16xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return %acc1 : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @merge
// CHECK-SAME:    (%[[M1:.*]]: tensor<4xf32>, %[[L1:.*]]: tensor<4xf32>, %[[A1:.*]]: tensor<4x16xf32>, %[[SINK:.*]]: f32)
// CHECK:         %[[M2:.*]] = tensor.splat %[[SINK]] : tensor<4xf32>
// CHECK:         %[[LARGER:.*]] = arith.cmpf ogt, %[[M2]], %[[M1]]
// CHECK:         %[[M:.*]] = arith.select %[[LARGER]], %[[M2]], %[[M1]]
// CHECK:         %[[F1:.*]] = math.exp
// CHECK:         %[[F2:.*]] = math.exp
// The sink's l is 1 and its acc 0.
// CHECK:         %[[LEFT:.*]] = arith.mulf %[[L1]], %[[F1]]
// CHECK:         arith.addf %[[LEFT]], %[[F2]]
func.func @merge(%m1: tensor<4xf32>, %l1: tensor<4xf32>, %acc1: tensor<4x16xf32>, %sink: f32)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) {
  %m2, %l2, %acc2 = flash.sink_state %sink : f32 -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  %m, %l, %acc = flash.merge (%m1, %l1, %acc1), (%m2, %l2, %acc2) {base = 0 : i32}
    : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return %m, %l, %acc : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
}

// An empty row has a maximum of -inf and a sum of 0 (a NaN, which the maximum passes over, reaches the sum): it
// divides by 1, o is 0 and lse stays -inf.
// CHECK-LABEL: func.func @finalize
// CHECK-SAME:    (%[[M:.*]]: tensor<4xf32>, %[[L:.*]]: tensor<4xf32>, %[[ACC:.*]]: tensor<4x16xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x16xf32>
// CHECK-DAG:     %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[NOSUM:.*]] = arith.cmpf oeq, %[[L]], %{{.*}}
// CHECK-DAG:     %[[NOMAX:.*]] = arith.cmpf oeq, %[[M]], %[[NONE]]
// CHECK:         %[[EMPTY:.*]] = arith.andi %[[NOMAX]], %[[NOSUM]]
// CHECK:         %[[DIVISOR:.*]] = arith.select %[[EMPTY]], %[[ONE]], %[[L]]
// CHECK:         %[[QUOTIENT:.*]] = arith.divf %[[ACC]],
// CHECK:         %[[O:.*]] = arith.select %{{.*}}, %[[ZERO]], %[[QUOTIENT]]
// CHECK:         %[[LOG:.*]] = math.log %[[DIVISOR]]
// CHECK:         %[[LSE:.*]] = arith.addf %[[M]], %[[LOG]]
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[O]] : tensor<4x16xf32> to tensor<4x16xf16>
// CHECK:         return %[[ROUNDED]], %[[LSE]]
func.func @finalize(%m: tensor<4xf32>, %l: tensor<4xf32>, %acc: tensor<4x16xf32>) -> (tensor<4x16xf16>, tensor<4xf32>) {
  %o, %lse = flash.finalize %m, %l, %acc
    : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32> -> tensor<4x16xf16>, tensor<4xf32>
  return %o, %lse : tensor<4x16xf16>, tensor<4xf32>
}

// CHECK-LABEL: func.func @scores
// CHECK:         %[[ALL:.*]] = arith.constant dense<true> : tensor<4x8xi1>
// CHECK:         return %{{.*}}, %[[ALL]]
func.func @scores(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %x: index) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  %s, %keep = flash.scores %q, %k at(%x, %x, %x, %x, %x, %x) {scale = 1.0 : f32}
    : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>, tensor<4x8xi1>
  return %s, %keep : tensor<4x8xf32>, tensor<4x8xi1>
}

// A negative scale turns the order around, so it multiplies the scores. Asked for, the row max is kept beside the
// reference, and takes NaNs.
// CHECK-LABEL: func.func @row_max
// CHECK-SAME:    %[[OLDMAX:[a-z0-9]+]]: tensor<4xf32>, %{{[a-z0-9]+}}: index)
// CHECK:         %[[S:.*]] = tile.dot
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[S]]
// CHECK:         tile.reduce maxnum %[[SCALED]]
// CHECK:         %[[HERE:.*]] = tile.reduce max %[[SCALED]]
// CHECK:         %[[NEWMAX:.*]] = arith.maximumf %[[OLDMAX]], %[[HERE]]
// CHECK:         return %{{.*}}, %[[NEWMAX]]
func.func @row_max(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>,
                   %acc: tensor<4x16xf32>, %max: tensor<4xf32>, %x: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %m1, %l1, %acc1, %max1 = flash.online_attention %q, %k, %v
    init(%m, %m, %acc, %max : tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>, tensor<4xf32>)
    at(%x, %x, %x, %x, %x, %x) {base = 0 : i32, scale = -0.5 : f32}
    : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x16xf32>
    -> tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>, tensor<4xf32>
  return %m1, %max1 : tensor<4xf32>, tensor<4xf32>
}
