// RUN: flash-opt %s --flash-kernel-entries -verify-diagnostics -split-input-file

// expected-error @below {{expected kernels with a grid each, got 0 kernels and 0 grids}}
module attributes {flash.target = #flash.target<"x86-64-v3">} {}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>
// expected-error @below {{expected kernels with a grid each, got 1 kernels and 0 grids}}
module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @point(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>
// expected-error @below {{expected the module attribute flash.target}}
module {
  func.func @grid(%ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    return %c0 : index
  }
  func.func @point(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @grid(%ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    return %c0 : index
  }
  // expected-error @below {{expected a flash.schedule attribute}}
  func.func @point(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64} {
    return
  }
}
