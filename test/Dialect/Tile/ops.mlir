// RUN: flash-opt %s | FileCheck %s
//
// The examples of the op descriptions in TileOps.td, and their optional parts.

// CHECK-LABEL: func.func @memory
// CHECK-SAME:    (%[[K:.*]]: memref<?x?x?x64xf32>, %[[O:.*]]: memref<?x?x?x64xf32>, %[[B:.*]]: index, %[[H:.*]]: index, %[[I0:.*]]: index, %[[J0:.*]]: index, %[[C0:.*]]: index, %[[ROWS:.*]]: index, %[[COLS:.*]]: index)
func.func @memory(%k: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>, %b: index, %h: index, %i0: index,
                  %j0: index, %c0: index, %rows: index, %cols: index) {
  // CHECK: %[[T:.*]] = tile.load %[[K]][%[[B]], %[[J0]], %[[H]], %[[C0]]] dims [1, 3] valid(%[[ROWS]], %[[COLS]]) : memref<?x?x?x64xf32> -> tensor<64x64xf32>
  %t = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%rows, %cols) : memref<?x?x?x64xf32> -> tensor<64x64xf32>
  // CHECK: tile.store %[[T]], %[[O]][%[[B]], %[[I0]], %[[H]], %[[C0]]] dims [1, 3] valid(%[[ROWS]], %[[COLS]]) : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %t, %o[%b, %i0, %h, %c0] dims [1, 3] valid(%rows, %cols) : tensor<64x64xf32>, memref<?x?x?x64xf32>
  // A tile of rank 1, across the rows.
  // CHECK: tile.load %{{.*}}[{{.*}}] dims [1] valid(%[[ROWS]]) : memref<?x?x?x64xf32> -> tensor<64xf32>
  %r = tile.load %k[%b, %j0, %h, %c0] dims [1] valid(%rows) : memref<?x?x?x64xf32> -> tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @dot
// CHECK-SAME:    (%[[Q:.*]]: tensor<64x32xf32>, %[[K:.*]]: tensor<64x32xf32>, %[[V:.*]]: tensor<64x32xf32>, %[[ACC:.*]]: tensor<64x32xf32>, %[[KEEP:.*]]: tensor<64x64xi1>)
func.func @dot(%q: tensor<64x32xf32>, %k: tensor<64x32xf32>, %v: tensor<64x32xf32>,
               %acc: tensor<64x32xf32>, %keep: tensor<64x64xi1>) -> tensor<64x32xf32> {
  // CHECK: %[[S:.*]] = tile.dot %[[Q]], %[[K]] {transpose_b} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
  %s = tile.dot %q, %k {transpose_b} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
  // CHECK: tile.dot %[[S]], %[[V]] init(%[[ACC]] : tensor<64x32xf32>) keep(%[[KEEP]] : tensor<64x64xi1>) : tensor<64x64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  %o = tile.dot %s, %v init(%acc : tensor<64x32xf32>) keep(%keep : tensor<64x64xi1>) : tensor<64x64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK: tile.dot {{.*}} keep({{.*}}) {idle_rows} :
  %i = tile.dot %s, %v init(%o : tensor<64x32xf32>) keep(%keep : tensor<64x64xi1>) {idle_rows} : tensor<64x64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  return %i : tensor<64x32xf32>
}

// Two bands of rows, each of which meets its own half of k's and v's rows.
// CHECK-LABEL: func.func @bands
// CHECK-SAME:    (%[[Q:.*]]: tensor<16x32xf32>, %[[K:.*]]: tensor<64x32xf32>, %[[V:.*]]: tensor<64x8xf32>, %[[J0:.*]]: index, %[[M:.*]]: tensor<16xf32>)
func.func @bands(%q: tensor<16x32xf32>, %k: tensor<64x32xf32>, %v: tensor<64x8xf32>, %j0: index, %m: tensor<16xf32>)
    -> tensor<16x8xf32> {
  // CHECK: %[[S:.*]] = tile.dot %[[Q]], %[[K]] {bands = 2 : i64, transpose_b} : tensor<16x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  %s = tile.dot %q, %k {bands = 2 : i64, transpose_b} : tensor<16x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  // CHECK: tile.coords %[[J0]] dim 1 {bands = 2 : i64} : tensor<32x32xindex>
  %j = tile.coords %j0 dim 1 {bands = 2 : i64} : tensor<32x32xindex>
  // CHECK: tile.repeat %[[M]] : tensor<16xf32> -> tensor<32xf32>
  %r = tile.repeat %m : tensor<16xf32> -> tensor<32xf32>
  // CHECK: %[[ACC:.*]] = tile.dot %[[S]], %[[V]] {bands = 2 : i64} : tensor<32x32xf32>, tensor<64x8xf32> -> tensor<32x8xf32>
  %acc = tile.dot %s, %v {bands = 2 : i64} : tensor<32x32xf32>, tensor<64x8xf32> -> tensor<32x8xf32>
  // CHECK: tile.fold sum %[[ACC]] : tensor<32x8xf32> -> tensor<16x8xf32>
  %o = tile.fold sum %acc : tensor<32x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// Half precision comes in, f32 goes out.
// CHECK-LABEL: func.func @dot_bf16
// CHECK:         tile.dot {{.*}} : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
func.func @dot_bf16(%a: tensor<8x16xbf16>, %b: tensor<16x4xbf16>) -> tensor<8x4xf32> {
  %c = tile.dot %a, %b : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%s: tensor<64x64xf32>) -> tensor<64x32xf32> {
  // CHECK: %[[M:.*]] = tile.reduce max %{{.*}} : tensor<64x64xf32> -> tensor<64xf32>
  %m = tile.reduce max %s : tensor<64x64xf32> -> tensor<64xf32>
  // CHECK: tile.reduce sum
  %l = tile.reduce sum %s : tensor<64x64xf32> -> tensor<64xf32>
  // CHECK: tile.broadcast %[[M]] : tensor<64xf32> -> tensor<64x32xf32>
  %mb = tile.broadcast %m : tensor<64xf32> -> tensor<64x32xf32>
  return %mb : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @indices
// CHECK-SAME:    (%[[BIAS:.*]]: memref<?x?xf32>, %[[SCALAR:.*]]: memref<f32>, %[[H:.*]]: index, %[[I0:.*]]: index)
func.func @indices(%bias: memref<?x?xf32>, %scalar: memref<f32>, %h: index, %i0: index) -> tensor<64x64xf32> {
  // CHECK: %[[I:.*]] = tile.coords %[[I0]] dim 0 : tensor<64x64xindex>
  %i = tile.coords %i0 dim 0 : tensor<64x64xindex>
  // CHECK: tile.gather %[[BIAS]][%[[H]], %[[I]]] : memref<?x?xf32>, index, tensor<64x64xindex> -> tensor<64x64xf32>
  %x = tile.gather %bias[%h, %i] : memref<?x?xf32>, index, tensor<64x64xindex> -> tensor<64x64xf32>
  // CHECK: tile.gather %[[SCALAR]][] : memref<f32> -> tensor<64x64xf32>
  %y = tile.gather %scalar[] : memref<f32> -> tensor<64x64xf32>
  return %x : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @all
func.func @all(%finite: tensor<64x32xi1>, %row: tensor<64xi1>) -> (i1, i1) {
  // CHECK: tile.all %{{.*}} : tensor<64x32xi1>
  %ok = tile.all %finite : tensor<64x32xi1>
  // CHECK: tile.all %{{.*}} : tensor<64xi1>
  %rows = tile.all %row : tensor<64xi1>
  return %ok, %rows : i1, i1
}

// CHECK-LABEL: func.func @pages
// CHECK-SAME:    (%[[K:.*]]: memref<?x?x?x64xf32>, %[[TABLE:.*]]: memref<?x?xi64>, %[[B:.*]]: index, %[[J0:.*]]: index)
func.func @pages(%k: memref<?x?x?x64xf32>, %table: memref<?x?xi64>, %b: index, %j0: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK: tile.load %[[K]][%{{.*}}, %[[J0]], %{{.*}}, %{{.*}}] through %[[TABLE]][%[[B]]] : memref<?x?xi64> dims [1, 3] valid(%{{.*}}, %{{.*}}) : memref<?x?x?x64xf32> -> tensor<64x64xf32>
  %t = tile.load %k[%c0, %j0, %c0, %c0] through %table[%b] : memref<?x?xi64> dims [1, 3] valid(%c64, %c64) : memref<?x?x?x64xf32> -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}
