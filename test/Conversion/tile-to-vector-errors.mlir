// RUN: flash-opt %s --tile-to-vector --allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected a CPU target in flash.target, got none}}
module {}

// -----

// expected-error @below {{expected a CPU target in flash.target, got sm_80}}
module attributes {flash.target = #flash.target<"sm_80">} {}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // expected-error @below {{expected a flash.schedule attribute}}
  func.func @no_schedule(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64} {
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // expected-error @below {{expected one parallel loop of one dimension without results, got 0}}
  func.func @no_loop(%ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #flash.schedule<tile = [4, 8], micro = [2, 8]>} {
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @unknown_op(%m: memref<?x?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #flash.schedule<tile = [4, 8], micro = [2, 8]>} {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    scf.forall (%p) in (3) {
      %a = tile.load %m[%p, %c4] dims [0, 1] valid(%c4, %c8) : memref<?x?xf32> -> tensor<4x8xf32>
      // expected-error @below {{expected an op on tiles that tile-to-vector knows}}
      %b = "test.unknown"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      tile.store %b, %m[%p, %c4] dims [0, 1] valid(%c4, %c8) : tensor<4x8xf32>, memref<?x?xf32>
    }
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @bands(%m: memref<?x8xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #flash.schedule<tile = [4, 8], micro = [2, 8]>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    scf.forall (%p) in (4) {
      %q = tile.load %m[%c0, %c0] dims [0, 1] valid(%c8, %c8) : memref<?x8xf32> -> tensor<4x8xf32>
      %k = tile.load %m[%c0, %c0] dims [0, 1] valid(%c8, %c8) : memref<?x8xf32> -> tensor<16x8xf32>
      // expected-error @below {{expected one band of rows on CPUs, got 2}}
      %s = tile.dot %q, %k {bands = 2 : i64, transpose_b} : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
      tile.store %s, %m[%c0, %c0] dims [0, 1] valid(%c8, %c8) : tensor<8x8xf32>, memref<?x8xf32>
    }
    return
  }
}
