// RUN: flash-opt %s -pass-pipeline='builtin.module(func.func(flash-expand-math))' | FileCheck %s --enable-var-scope
//
// The shape of each expansion; its error is measured in test/Unit/Target/ExpandMathTest.cpp.

// CHECK-LABEL: func.func @exp2_vector
// CHECK-SAME:    (%[[X:.*]]: vector<8xf32>)
// The argument is bounded such that a NaN passes.
// CHECK-DAG:     %[[LOW:.*]] = arith.constant dense<-1.510000e+02> : vector<8xf32>
// CHECK:         %[[BELOW:.*]] = arith.cmpf ogt, %[[LOW]], %[[X]]
// CHECK:         %[[RAISED:.*]] = arith.select %[[BELOW]], %[[LOW]], %[[X]]
// CHECK:         %[[BOUNDED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[RAISED]]
// Its integer part, by adding 1.5*2^23.
// CHECK:         %[[SHIFTED:.*]] = arith.addf %[[BOUNDED]], %{{.*}}
// CHECK:         %[[N:.*]] = arith.subf %[[SHIFTED]], %{{.*}}
// CHECK:         %[[F:.*]] = arith.subf %[[BOUNDED]], %[[N]]
// CHECK-COUNT-6: math.fma {{.*}} : vector<8xf32>
// Two factors, so that results below 2^-126 round once.
// CHECK:         arith.bitcast %[[SHIFTED]] : vector<8xf32> to vector<8xi32>
// CHECK:         %[[HALF:.*]] = arith.mulf
// CHECK:         %[[Y:.*]] = arith.mulf %[[HALF]], %{{.*}}
// CHECK:         return %[[Y]]
func.func @exp2_vector(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp2 %x : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func.func @exp_scalar
// CHECK-NOT:     math.exp
// CHECK:         math.fma {{.*}} : f32
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @exp_scalar(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @log_of_two_dimensions
// CHECK-SAME:    (%[[X:.*]]: vector<2x4xf32>)
// CHECK-NOT:     math.log
// CHECK:         arith.bitcast {{.*}} : vector<2x4xf32> to vector<2x4xi32>
// The special values last: inf, 0, negative or NaN.
// CHECK:         arith.cmpf oeq, %[[X]]
// CHECK:         arith.cmpf oeq, %[[X]]
// CHECK:         %[[INVALID:.*]] = arith.cmpf ult, %[[X]]
// CHECK:         %[[Y:.*]] = arith.select %[[INVALID]]
// CHECK:         return %[[Y]]
func.func @log_of_two_dimensions(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %y = math.log %x : vector<2x4xf32>
  return %y : vector<2x4xf32>
}

// CHECK-LABEL: func.func @tanh_keeps_the_sign
// CHECK-SAME:    (%[[X:.*]]: vector<16xf32>)
// CHECK-NOT:     math.tanh
// CHECK:         arith.divf
// CHECK:         %[[Y:.*]] = math.copysign %{{.*}}, %[[X]]
// CHECK:         return %[[Y]]
func.func @tanh_keeps_the_sign(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.tanh %x : vector<16xf32>
  return %y : vector<16xf32>
}

// Other types and other functions stay.
// CHECK-LABEL: func.func @others
// CHECK:         math.exp2 {{.*}} : f64
// CHECK:         math.exp {{.*}} : vector<[4]xf32>
// CHECK:         math.sqrt
// CHECK:         math.floor
func.func @others(%x: f64, %v: vector<[4]xf32>, %s: f32) -> (f64, vector<[4]xf32>, f32) {
  %a = math.exp2 %x : f64
  %b = math.exp %v : vector<[4]xf32>
  %c = math.sqrt %s : f32
  %d = math.floor %c : f32
  return %a, %b, %d : f64, vector<[4]xf32>, f32
}
