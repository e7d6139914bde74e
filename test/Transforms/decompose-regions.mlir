// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-decompose,canonicalize))' | FileCheck %s
//
// Regions become elementwise ops on tiles, and their partial ops total ones.

// x / 0 = 0, and x / -1 is a subtraction, for the most negative number has no quotient.
// CHECK-LABEL: func.func @division
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0> : tensor<4x8xindex>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1> : tensor<4x8xindex>
// CHECK-DAG:     %[[MINUS:.*]] = arith.constant dense<-1> : tensor<4x8xindex>
// CHECK:         %[[I:.*]] = tile.coords %{{.*}} dim 0
// CHECK:         %[[J:.*]] = tile.coords %{{.*}} dim 1
// CHECK:         %[[IS0:.*]] = arith.cmpi eq, %[[I]], %[[ZERO]]
// CHECK:         %[[IS1:.*]] = arith.cmpi eq, %[[I]], %[[MINUS]]
// CHECK:         %[[SPECIAL:.*]] = arith.ori %[[IS0]], %[[IS1]]
// CHECK:         %[[SAFE:.*]] = arith.select %[[SPECIAL]], %[[ONE]], %[[I]]
// CHECK:         %[[QUOTIENT:.*]] = arith.divsi %[[J]], %[[SAFE]]
// CHECK:         %[[NEGATED:.*]] = arith.subi %[[ZERO]], %[[J]]
// CHECK:         %[[R:.*]] = arith.select %[[IS1]], %[[NEGATED]], %[[QUOTIENT]]
// CHECK:         arith.select %[[IS0]], %[[ZERO]], %[[R]]
func.func @division(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %x: index) -> tensor<4x8xi1> {
  %s, %keep = flash.scores %q, %k at(%x, %x, %x, %x, %x, %x)
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      %d = arith.divsi %j, %i : index
      %keep1 = arith.cmpi slt, %d, %i : index
      flash.yield %keep1 : i1
    }
    {scale = 1.0 : f32} : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>, tensor<4x8xi1>
  return %keep : tensor<4x8xi1>
}

// int(x) saturates and gives 0 for NaN.
// CHECK-LABEL: func.func @to_integer
// CHECK-DAG:     %[[MAX:.*]] = arith.constant dense<9223372036854775807> : tensor<4x8xi64>
// CHECK-DAG:     %[[MIN:.*]] = arith.constant dense<-9223372036854775808> : tensor<4x8xi64>
// CHECK:         %[[LOW:.*]] = arith.cmpf olt, %[[S:.*]], %{{.*}} : tensor<4x8xf32>
// CHECK:         %[[HIGH:.*]] = arith.cmpf oge, %[[S]], %{{.*}} : tensor<4x8xf32>
// CHECK:         %[[INT:.*]] = arith.fptosi %{{.*}} : tensor<4x8xf32> to tensor<4x8xi64>
// CHECK:         %[[R:.*]] = arith.select %[[LOW]], %[[MIN]], %[[INT]]
// CHECK:         arith.select %[[HIGH]], %[[MAX]], %[[R]]
func.func @to_integer(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %x: index) -> tensor<4x8xf32> {
  %s, %keep = flash.scores %q, %k at(%x, %x, %x, %x, %x, %x)
    score (%s0: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      %n = arith.fptosi %s0 : f32 to i64
      %r = arith.sitofp %n : i64 to f32
      flash.yield %r : f32
    }
    {scale = 1.0 : f32} : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>, tensor<4x8xi1>
  return %s : tensor<4x8xf32>
}

// A shift by 64 or more gives 0, an arithmetic one the sign.
// CHECK-LABEL: func.func @shift
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0> : tensor<4x8xindex>
// CHECK-DAG:     %[[LAST:.*]] = arith.constant dense<63> : tensor<4x8xindex>
// CHECK:         %[[OK:.*]] = arith.cmpi ule, %[[N:.*]], %[[LAST]]
// CHECK:         %[[AMOUNT:.*]] = arith.select %[[OK]], %[[N]], %[[LAST]]
// CHECK:         %[[SHIFTED:.*]] = arith.shli %{{.*}}, %[[AMOUNT]]
// CHECK:         arith.select %[[OK]], %[[SHIFTED]], %[[ZERO]]
// CHECK:         arith.shrsi
// CHECK-NOT:     arith.select
func.func @shift(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %x: index) -> tensor<4x8xi1> {
  %s, %keep = flash.scores %q, %k at(%x, %x, %x, %x, %x, %x)
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      %l = arith.shli %i, %j : index
      %r = arith.shrsi %l, %j : index
      %keep1 = arith.cmpi slt, %r, %i : index
      flash.yield %keep1 : i1
    }
    {scale = 1.0 : f32} : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>, tensor<4x8xi1>
  return %keep : tensor<4x8xi1>
}

// A read whose indices are the same for the whole tile is one guarded load; others gather.
// CHECK-LABEL: func.func @reads
// CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: memref<?xf32>, %[[BIAS:[a-z0-9]+]]: memref<?x?xbf16>, %[[IDS:[a-z0-9]+]]: memref<?xi8>, %[[H:[a-z0-9]+]]: index
// CHECK:         %[[SIZE:.*]] = memref.dim %[[SLOPES]]
// CHECK:         %[[INSIDE:.*]] = arith.cmpi slt, %[[H]], %[[SIZE]]
// CHECK:         scf.if
// CHECK:           memref.load %[[SLOPES]][%[[H]]]
// CHECK:         } else {
// CHECK:           scf.yield %{{.*}} : f32
// CHECK:         %[[B:.*]] = tile.gather %[[BIAS]][%{{.*}}, %{{.*}}] : memref<?x?xbf16>, tensor<4x8xindex>, tensor<4x8xindex> -> tensor<4x8xbf16>
// CHECK:         arith.extf %[[B]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK:         %[[ID:.*]] = tile.gather %[[IDS]][%{{.*}}] : memref<?xi8>, tensor<4x8xindex> -> tensor<4x8xi8>
// CHECK:         arith.extsi %[[ID]] : tensor<4x8xi8> to tensor<4x8xi64>
func.func @reads(%q: tensor<4x32xf32>, %k: tensor<8x32xf32>, %slopes: memref<?xf32>, %bias: memref<?x?xbf16>,
                 %ids: memref<?xi8>, %h: index, %x: index) -> tensor<4x8xf32> {
  %s, %keep = flash.scores %q, %k at(%x, %h, %x, %x, %x, %x)
    captures(%slopes, %bias, %ids : memref<?xf32>, memref<?x?xbf16>, memref<?xi8>)
    score (%s0: f32, %b1: index, %h1: index, %i: index, %j: index, %sq: index, %sk: index,
           %slope: memref<?xf32>, %bias1: memref<?x?xbf16>, %ids1: memref<?xi8>) {
      %a = flash.read %slope[%h1] : memref<?xf32> -> f32
      %c = flash.read %bias1[%i, %j] : memref<?x?xbf16> -> f32
      %n = flash.read %ids1[%j] : memref<?xi8> -> i64
      %f = arith.sitofp %n : i64 to f32
      %s1 = arith.mulf %s0, %a : f32
      %s2 = arith.addf %s1, %c : f32
      %s3 = arith.addf %s2, %f : f32
      flash.yield %s3 : f32
    }
    {scale = 1.0 : f32} : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>, tensor<4x8xi1>
  return %s : tensor<4x8xf32>
}
