// RUN: flash-opt %s -pass-pipeline='builtin.module(func.func(flash-expand-math))' | FileCheck %s --enable-var-scope
//
// The exponential of a softmax on AVX-512: 2 to the fraction of x*log2(e), times 2 to its floor. A lane whose result would be subnormal is left out of the scaling, which
// is slow for those, and gives 0. The comparison lets a NaN pass.

module attributes {flash.target = #flash.target<"x86-64-v4">} {
  // CHECK-LABEL: func.func @softmax
  // CHECK-SAME:    (%[[X:.*]]: vector<16xf32>)
  // CHECK-DAG:     %[[SMALLEST:.*]] = arith.constant dense<-87.3365{{[0-9]*}}> : vector<16xf32>
  // CHECK-DAG:     %[[Y:.*]] = arith.mulf %[[X]], %{{.*}}
  // CHECK:         %[[REMAINS:.*]] = arith.cmpf uge, %[[X]], %[[SMALLEST]]
  // CHECK:         %[[F:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[Y]], %c9_i32, %[[Y]], %c-1_i16, %c4_i32)
  // CHECK-COUNT-4: math.fma %{{.*}}, %[[F]], %{{.*}}
  // CHECK:         %[[P:.*]] = math.fma %{{.*}}, %[[F]], %{{.*}}
  // CHECK-NOT:     math.fma
  // CHECK:         %[[WORD:.*]] = vector.bitcast %[[REMAINS]] : vector<16xi1> to vector<1xi16>
  // CHECK:         %[[BITS:.*]] = vector.extract %[[WORD]][0]
  // CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
  // CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[P]], %[[Y]], %[[ZERO]], %[[BITS]], %{{.*}})
  func.func @softmax(%x: vector<16xf32>) -> vector<16xf32> {
    %y = math.exp %x fastmath<afn> : vector<16xf32>
    return %y : vector<16xf32>
  }

  // One whose argument is scaled already, as with a reference that is fixed.
  // CHECK-LABEL: func.func @softmax_exp2
  // CHECK-SAME:    (%[[X:.*]]: vector<16xf32>)
  // CHECK-DAG:     %[[SMALLEST:.*]] = arith.constant dense<-1.260000e+02> : vector<16xf32>
  // CHECK:         %[[REMAINS:.*]] = arith.cmpf uge, %[[X]], %[[SMALLEST]]
  // CHECK:         %[[F:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]],
  // CHECK-COUNT-5: math.fma
  // CHECK-NOT:     math.fma
  // CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
  func.func @softmax_exp2(%x: vector<16xf32>) -> vector<16xf32> {
    %y = math.exp2 %x fastmath<afn> : vector<16xf32>
    return %y : vector<16xf32>
  }
}
