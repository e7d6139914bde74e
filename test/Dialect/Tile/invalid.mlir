// RUN: flash-opt %s -verify-diagnostics -split-input-file
//
// One function per numbered constraint, named by its label.

func.func @L1_load(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{(L1) expected 2 offsets, one per dimension of 'memref<?x?xf32>', got 1}}
  %t = tile.load %m[%i] dims [0, 1] valid(%i, %i) : memref<?x?xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @L1_store(%m: memref<?x?xf32>, %t: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{(L1) expected 2 offsets, one per dimension of 'memref<?x?xf32>', got 3}}
  tile.store %t, %m[%i, %i, %i] dims [0, 1] valid(%i, %i) : tensor<8x8xf32>, memref<?x?xf32>
  return
}

// -----

func.func @L2_distinct(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{(L2) expected 2 distinct dims of the memory and as many valid sizes, got dims [1, 1] and 2 valid sizes}}
  %t = tile.load %m[%i, %i] dims [1, 1] valid(%i, %i) : memref<?x?xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @L2_in_range(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{(L2) expected 1 distinct dims of the memory and as many valid sizes, got dims [2] and 1 valid sizes}}
  %t = tile.load %m[%i, %i] dims [2] valid(%i) : memref<?x?xf32> -> tensor<8xf32>
  return
}

// -----

func.func @L2_rank(%m: memref<?x?xf32>, %t: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{(L2) expected 2 distinct dims of the memory and as many valid sizes, got dims [0] and 1 valid sizes}}
  tile.store %t, %m[%i, %i] dims [0] valid(%i) : tensor<8x8xf32>, memref<?x?xf32>
  return
}

// -----

func.func @L2_valid(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{(L2) expected 2 distinct dims of the memory and as many valid sizes, got dims [0, 1] and 1 valid sizes}}
  %t = tile.load %m[%i, %i] dims [0, 1] valid(%i) : memref<?x?xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @L3_load(%m: memref<?x?xbf16>, %i: index) {
  // expected-error @below {{(L3) expected one element type, got 'bf16' in memory and 'f32' in the tile}}
  %t = tile.load %m[%i, %i] dims [0, 1] valid(%i, %i) : memref<?x?xbf16> -> tensor<8x8xf32>
  return
}

// -----

func.func @L3_store(%m: memref<?x?xbf16>, %t: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{(L3) expected one element type, got 'bf16' in memory and 'f32' in the tile}}
  tile.store %t, %m[%i, %i] dims [0, 1] valid(%i, %i) : tensor<8x8xf32>, memref<?x?xbf16>
  return
}

// -----

func.func @tile_is_static(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{must be static tensor of rank 1 or 2, but got 'tensor<?x8xf32>'}}
  %t = tile.load %m[%i, %i] dims [0, 1] valid(%i, %i) : memref<?x?xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @tile_rank(%x: tensor<2x8x8xf32>) {
  // expected-error @below {{must be static tensor of rank 1 or 2, but got 'tensor<2x8x8xf32>'}}
  %t = tile.reduce sum %x : tensor<2x8x8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @D1_rank(%a: tensor<8xf32>, %b: tensor<8x8xf32>) {
  // expected-error @below {{(D1) expected tiles of rank 2}}
  %c = tile.dot %a, %b : tensor<8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @D1_inner(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
  // expected-error @below {{(D1) expected agreeing shapes, got 'tensor<8x4xf32>', 'tensor<8x4xf32>' and 'tensor<8x4xf32>'}}
  %c = tile.dot %a, %b : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @D1_transposed(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>) {
  // expected-error @below {{(D1) expected agreeing shapes, got 'tensor<8x4xf32>', 'tensor<4x8xf32>' and 'tensor<8x8xf32>'}}
  %c = tile.dot %a, %b {transpose_b} : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @D1_element_types(%a: tensor<8x4xf32>, %b: tensor<4x8xbf16>) {
  // expected-error @below {{(D1) expected float inputs of one element type and an f32 result, got 'tensor<8x4xf32>', 'tensor<4x8xbf16>' and 'tensor<8x8xf32>'}}
  %c = tile.dot %a, %b : tensor<8x4xf32>, tensor<4x8xbf16> -> tensor<8x8xf32>
  return
}

// -----

func.func @D1_result(%a: tensor<8x8xbf16>) {
  // expected-error @below {{(D1) expected float inputs of one element type and an f32 result, got 'tensor<8x8xbf16>', 'tensor<8x8xbf16>' and 'tensor<8x8xbf16>'}}
  %c = tile.dot %a, %a : tensor<8x8xbf16>, tensor<8x8xbf16> -> tensor<8x8xbf16>
  return
}

// -----

func.func @D2_init(%a: tensor<8x8xf32>, %init: tensor<8xf32>) {
  // expected-error @below {{(D2) expected init of type 'tensor<8x8xf32>', got 'tensor<8xf32>'}}
  %c = tile.dot %a, %a init(%init : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @D2_keep(%a: tensor<8x8xf32>) {
  // expected-error @below {{(D2) expected keep of i1 in the shape of a, got 'tensor<8x8xf32>'}}
  %c = tile.dot %a, %a keep(%a : tensor<8x8xf32>) : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @D3_idle_rows(%a: tensor<8x8xf32>) {
  // expected-error @below {{(D3) expected keep beside idle_rows, got none}}
  %c = tile.dot %a, %a {idle_rows} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @E1(%x: tensor<8x4xf32>) {
  // expected-error @below {{(E1) expected (r, c) to (r) of f32, got 'tensor<8x4xf32>' and 'tensor<4xf32>'}}
  %m = tile.reduce max %x : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @E1_type(%x: tensor<8x4xbf16>) {
  // expected-error @below {{(E1) expected (r, c) to (r) of f32, got 'tensor<8x4xbf16>' and 'tensor<8xf32>'}}
  %m = tile.reduce max %x : tensor<8x4xbf16> -> tensor<8xf32>
  return
}

// -----

func.func @B1(%x: tensor<8xf32>) {
  // expected-error @below {{(B1) expected (r) to (r, c) of one element type, got 'tensor<8xf32>' and 'tensor<4x8xf32>'}}
  %m = tile.broadcast %x : tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @C1_type(%i: index) {
  // expected-error @below {{(C1) expected a tile of index with dimension 0, got 'tensor<8x8xi64>'}}
  %m = tile.coords %i dim 0 : tensor<8x8xi64>
  return
}

// -----

func.func @C1_dim(%i: index) {
  // expected-error @below {{(C1) expected a tile of index with dimension 1, got 'tensor<8xindex>'}}
  %m = tile.coords %i dim 1 : tensor<8xindex>
  return
}

// -----

func.func @G1_count(%m: memref<?x?xf32>, %i: index) {
  // expected-error @below {{(G1) expected 2 indices, got 1}}
  %x = tile.gather %m[%i] : memref<?x?xf32>, index -> tensor<8x8xf32>
  return
}

// -----

func.func @G1_shape(%m: memref<?xf32>, %i: tensor<4x4xindex>) {
  // expected-error @below {{(G1) expected an index or a tile of index of shape [8, 8], got 'tensor<4x4xindex>'}}
  %x = tile.gather %m[%i] : memref<?xf32>, tensor<4x4xindex> -> tensor<8x8xf32>
  return
}

// -----

func.func @G2(%m: memref<?xbf16>, %i: index) {
  // expected-error @below {{(G2) expected one element type, got 'bf16' and 'f32'}}
  %x = tile.gather %m[%i] : memref<?xbf16>, index -> tensor<8x8xf32>
  return
}

// -----

func.func @U1(%x: tensor<8x8xf32>) {
  // expected-error @below {{(U1) expected a tile of i1, got 'tensor<8x8xf32>'}}
  %ok = tile.all %x : tensor<8x8xf32>
  return
}

// -----

func.func @L4_page_dim(%m: memref<?x?xf32>, %table: memref<?x?xi32>, %i: index) {
  // expected-error @below {{(L4) expected a table with its row, and a first dim other than 0}}
  %t = tile.load %m[%i, %i] through %table[%i] : memref<?x?xi32> dims [0, 1] valid(%i, %i) : memref<?x?xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @D4_bands(%q: tensor<16x32xf32>, %k: tensor<64x32xf32>) {
  // expected-error @below {{(D4) expected bands that divide the rows of b and of the result, got 3}}
  %s = tile.dot %q, %k {bands = 3 : i64, transpose_b} : tensor<16x32xf32>, tensor<64x32xf32> -> tensor<48x32xf32>
  return
}

// -----

func.func @D1_bands(%q: tensor<16x32xf32>, %k: tensor<64x32xf32>) {
  // expected-error @below {{(D1) expected agreeing shapes}}
  %s = tile.dot %q, %k {bands = 2 : i64, transpose_b} : tensor<16x32xf32>, tensor<64x32xf32> -> tensor<32x64xf32>
  return
}

// -----

func.func @C2_bands(%j: index) {
  // expected-error @below {{(C2) expected bands that divide the rows of a tile of rank 2, got 2}}
  %s = tile.coords %j dim 0 {bands = 2 : i64} : tensor<16xindex>
  return
}

// -----

func.func @Q1_rows(%x: tensor<64x8xf32>) {
  // expected-error @below {{(Q1) expected a tile of f32 to one with rows that divide its own}}
  %s = tile.fold sum %x : tensor<64x8xf32> -> tensor<24x8xf32>
  return
}

// -----

func.func @N1_rows(%x: tensor<16xf32>) {
  // expected-error @below {{(N1) expected a tile of rank 1 to one of the same element type with rows that its own divide}}
  %s = tile.repeat %x : tensor<16xf32> -> tensor<40xf32>
  return
}
