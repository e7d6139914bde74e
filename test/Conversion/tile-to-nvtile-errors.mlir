// RUN: flash-opt %s --split-input-file --tile-to-nvtile -verify-diagnostics

// expected-error @below {{expected a GPU target in flash.target, got x86-64-v3}}
module attributes {flash.target = #flash.target<"x86-64-v3">} {}

// -----

// expected-error @below {{expected a GPU target in flash.target, got none}}
module {}

// -----

module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected a flash.schedule attribute}}
  func.func @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected a body of one block with 0 results}}
  func.func private @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule}
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected arguments in memory, of numbers, got 'tensor<4xf32>'}}
  func.func @phase0(%ws: tensor<4xf32>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected one parallel loop of one dimension from 0 in steps of 1, without results, got 0}}
  func.func @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected one parallel loop of one dimension}}
  func.func @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    scf.forall (%p) = (1) to (9) step (2) {
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [2048, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected a schedule of at most 1024 threads per block, got 4096}}
  func.func @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    scf.forall (%p) in (4) {
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 8], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected a schedule whose micro columns are a multiple of 16, got #flash.schedule<tile = [32, 32], micro = [16, 8], strategy = online>}}
  func.func @phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    scf.forall (%p) in (4) {
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @phase0(%q: memref<?x64xbf16>, %o: memref<?x32xf32>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : tensor<32x64xbf16>
    scf.forall (%p) in (4) {
      %t = tile.load %q[%c0, %c0] dims [0, 1] valid(%c0, %c0) : memref<?x64xbf16> -> tensor<32x64xbf16>
      // expected-error @below {{expected a right operand that is loaded, got a result of another op}}
      %s = tile.dot %t, %zeros {transpose_b} : tensor<32x64xbf16>, tensor<32x64xbf16> -> tensor<32x32xf32>
      tile.store %s, %o[%c0, %c0] dims [0, 1] valid(%c0, %c0) : tensor<32x32xf32>, memref<?x32xf32>
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @phase0(%q: memref<?x64xbf16>, %o: memref<?x32xf32>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    scf.forall (%p) in (4) {
      // expected-error @below {{expected a tile of f16, bf16 or f32 that products alone read, since it goes to shared memory}}
      %t = tile.load %q[%c0, %c0] dims [0, 1] valid(%c0, %c0) : memref<?x64xbf16> -> tensor<32x64xbf16>
      %s = tile.dot %t, %t {transpose_b} : tensor<32x64xbf16>, tensor<32x64xbf16> -> tensor<32x32xf32>
      tile.store %t, %q[%c0, %c0] dims [0, 1] valid(%c0, %c0) : tensor<32x64xbf16>, memref<?x64xbf16>
    }
    return
  }
}

// -----

// Rows that do not divide among the schedule's warps.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @phase0(%q: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    scf.forall (%p) in (4) {
      %t = tile.load %q[%c0, %c0] dims [0, 1] valid(%c0, %c0) : memref<?x64xbf16> -> tensor<48x64xbf16>
      // expected-error @below {{expected rows of a warp that are a multiple of 16 on tensor cores, got 'tensor<48x48xf32, #nvtile.fragment<warps = [2, 1]>>'}}
      %s = tile.dot %t, %t {transpose_b} : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    }
    return
  }
}

// -----

// A look at tiles that no loop after it loads is a loop like any other.
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, stages = 1>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @phase0(%q: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    scf.forall (%p) in (4) {
      scf.for %j = %c0 to %c16 step %c16 {
        %t = tile.load %q[%j, %c0] dims [0, 1] valid(%c16, %c16) : memref<?x64xbf16> -> tensor<16x64xbf16>
        %s = tile.dot %t, %t {transpose_b} : tensor<16x64xbf16>, tensor<16x64xbf16> -> tensor<16x16xf32>
        %r = arith.truncf %s : tensor<16x16xf32> to tensor<16x16xbf16>
        tile.store %r, %q[%c0, %c0] dims [0, 1] valid(%c16, %c16) : tensor<16x16xbf16>, memref<?x64xbf16>
      } {tile.peek}
    }
    return
  }
}
