// RUN: flash-opt %s -pass-pipeline='builtin.module(func.func(flash-expand-math))' | FileCheck %s --enable-var-scope
// RUN: flash-opt %s -pass-pipeline='builtin.module(func.func(flash-expand-math{native-bf16=true}))' \
// RUN:   | FileCheck %s --check-prefix=NATIVE

// CHECK-LABEL: func.func @to_bf16
// CHECK-SAME:    (%[[X:.*]]: vector<8xf32>)
// CHECK:         %[[NAN:.*]] = arith.cmpf une, %[[X]], %[[X]]
// CHECK:         %[[ROUNDED:.*]] = arith.trunci {{.*}} : vector<8xi32> to vector<8xi16>
// CHECK:         %[[BITS:.*]] = arith.select %[[NAN]], %{{.*}}, %[[ROUNDED]]
// CHECK:         arith.bitcast %[[BITS]] : vector<8xi16> to vector<8xbf16>
// NATIVE-LABEL: func.func @to_bf16
// NATIVE:         arith.truncf {{.*}} : vector<8xf32> to vector<8xbf16>
func.func @to_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  %y = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %y : vector<8xbf16>
}

// CHECK-LABEL: func.func @from_bf16
// CHECK:         arith.bitcast {{.*}} : bf16 to i16
// CHECK:         arith.extui
// CHECK:         arith.shli
// CHECK:         arith.bitcast {{.*}} : i32 to f32
// NATIVE-LABEL: func.func @from_bf16
// NATIVE:         arith.extf {{.*}} : bf16 to f32
func.func @from_bf16(%x: bf16) -> f32 {
  %y = arith.extf %x : bf16 to f32
  return %y : f32
}

// f16 is left to the processor's conversions.
// CHECK-LABEL: func.func @half
// CHECK:         arith.truncf {{.*}} : f32 to f16
func.func @half(%x: f32) -> f16 {
  %y = arith.truncf %x : f32 to f16
  return %y : f16
}
