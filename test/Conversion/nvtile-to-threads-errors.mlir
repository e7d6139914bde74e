// RUN: flash-opt %s --split-input-file --nvtile-to-threads -verify-diagnostics
//
// Scheduled kernels as nobody but a person would write them.

// expected-error @below {{expected a GPU target in flash.target, got x86-64-v4}}
module attributes {flash.target = #flash.target<"x86-64-v4">} {}

// -----

// expected-error @below {{expected kernels with a grid each, got 0 kernels and 0 grids}}
module attributes {flash.target = #flash.target<"sm_80">} {}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected the attribute nvtile.threads; run tile-to-nvtile first}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected in nvtile.threads whole warps of at most 1024 threads, got 33}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 33 : i64} {
    %c0 = arith.constant 0 : index
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected in nvtile.threads whole warps of at most 1024 threads, got "all"}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = "all"} {
    %c0 = arith.constant 0 : index
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected 0 to 32 blocks in nvtile.blocks, got -1}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64, nvtile.blocks = -1 : i64} {
    %c0 = arith.constant 0 : index
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected 0 to 255 registers in nvtile.registers, got 256}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64, nvtile.registers = 256 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{expected at most 65536 registers for the threads of a block, got 130 for each of 512}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 512 : i64, nvtile.registers = 130 : i64} {
    return
  }
}

// -----

// No layout.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected tiles of numbers with the layout nvtile.fragment or nvtile.lines, got 'tensor<32x32xf32>'}}
    %x = arith.constant dense<0.0> : tensor<32x32xf32>
    return
  }
}

// -----

// The layout of operands is for what nvtile.read gives.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected tiles of numbers with the layout nvtile.fragment or nvtile.lines, got 'tensor<32x32xf32, #nvtile.operand<warps = 2>>'}}
    %x = arith.constant dense<0.0> : tensor<32x32xf32, #nvtile.operand<warps = 2>>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected a layout for the kernel's 2 warps, got}}
    %x = arith.constant dense<0.0> : tensor<96x32xf32, #nvtile.fragment<warps = [3, 1]>>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected rows that are a multiple of 16, 8 for each warp, got 'tensor<24x32xf32, #nvtile.fragment<warps = [2, 1]>>'}}
    %x = arith.constant dense<0.0> : tensor<24x32xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected a tile of at most about 2048 elements for a thread, got}}
    %x = arith.constant dense<0.0> : tensor<32x8192xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected a tile of one constant}}
    %x = arith.constant dense<"0x000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F"> : tensor<32xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.0> : tensor<32xf32, #rows>
    // expected-error @below {{expected tiles with the same warps along their rows, got}}
    %y = tile.broadcast %x : tensor<32xf32, #rows> -> tensor<32x32xf32, #nvtile.fragment<warps = [1, 1]>>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.0> : tensor<32x32xf32, #nvtile.fragment<warps = [1, 2]>>
    // expected-error @below {{expected rows that are whole in a warp, got}}
    %y = tile.reduce sum %x : tensor<32x32xf32, #nvtile.fragment<warps = [1, 2]>> -> tensor<32xf32, #nvtile.fragment<warps = [1, 2]>>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %x = tile.coords %c0 dim 0 : tensor<32x32xindex, #rows>
    // expected-error @below {{expected tiles in one layout, got}}
    %y = tile.gather %m[%x, %c0] : memref<?x64xbf16>, tensor<32x32xindex, #rows>, index -> tensor<32x32xbf16, #nvtile.fragment<warps = [1, 1]>>
    return
  }
}

// -----

// An op without a meaning for the part of a tile.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.0> : tensor<32x32xf32, #rows>
    // expected-error @below {{expected an op that a thread can run}}
    %y = tensor.extract %x[%c0, %c0] : tensor<32x32xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    // expected-error @below {{expected an op that a thread can run}}
    scf.parallel (%i) = (%c0) to (%c0) step (%c7) {
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected an op that a thread can run, got one on 'memref<?x64xbf16>'}}
    %p = memref.extract_aligned_pointer_as_index %m : memref<?x64xbf16> -> index
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected memory of numbers that is an argument or a view of one, got 'memref<4xf32>'}}
    %p = memref.alloc() : memref<4xf32>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    // expected-error @below {{expected a constant dimension below 2}}
    %d = memref.dim %m, %c7 : memref<?x64xbf16>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %b = arith.constant true
    %s = nvtile.alloc : !nvtile.shared<2 x 32 x 64 x bf16>
    // expected-error @below {{expected shared memory from nvtile.alloc only}}
    %t = arith.select %b, %s, %s : !nvtile.shared<2 x 32 x 64 x bf16>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected rows that are a multiple of 16, got '!nvtile.shared<2 x 24 x 64 x bf16>'}}
    %s = nvtile.alloc : !nvtile.shared<2 x 24 x 64 x bf16>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %s = nvtile.alloc : !nvtile.shared<2 x 32 x 64 x f32>
    %q = nvtile.read %s[%c0] : !nvtile.shared<2 x 32 x 64 x f32> -> tensor<32x64xf32, #nvtile.operand<warps = 2>>
    // expected-error @below {{expected a left operand that is no nvtile.operand where products run on FMA units}}
    %d = nvtile.dot %q, %s[%c0] {transpose_b} : tensor<32x64xf32, #nvtile.operand<warps = 2>>, !nvtile.shared<2 x 32 x 64 x f32> -> tensor<32x32xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %s = nvtile.alloc : !nvtile.shared<2 x 32 x 64 x bf16>
    // expected-error @below {{expected rows of scores that are whole in a warp, got}}
    %d = nvtile.dot %s[%c0], %s[%c0] {transpose_b} : !nvtile.shared<2 x 32 x 64 x bf16>, !nvtile.shared<2 x 32 x 64 x bf16> -> tensor<32x32xf32, #nvtile.fragment<warps = [1, 2]>>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected 0 to 64 pending groups, got 65}}
    nvtile.wait 65
    return
  }
}

// -----

// The block that the buffers ask for is larger than the target has.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  // expected-error @below {{schedule does not fit sm_80: expected at most 166912 bytes of shared memory per block, got 266240; choose a smaller tile or fewer stages}}
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %s = nvtile.alloc : !nvtile.shared<65 x 32 x 64 x bf16>
    return
  }
}

// -----

// The host knows shapes, not what memory holds.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?xi64>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    %x = memref.load %m[%c0] : memref<?xi64>
    // expected-error @below {{expected a size that the host can compute from shapes}}
    %n = arith.index_cast %x : i64 to index
    return %n : index
  }
  func.func @phase0(%m: memref<?xi64>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected the arguments of phase0, since all are launched with the same}}
  func.func @grid(%m: memref<?xi32>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    return %c0 : index
  }
  func.func @phase0(%m: memref<?xi64>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    return
  }
}

// -----

// Each step doubles the terms.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?xi64>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    %n0 = memref.dim %m, %c0 : memref<?xi64>
    %n1 = arith.addi %n0, %n0 : index
    %n2 = arith.addi %n1, %n1 : index
    %n3 = arith.addi %n2, %n2 : index
    %n4 = arith.addi %n3, %n3 : index
    %n5 = arith.addi %n4, %n4 : index
    %n6 = arith.addi %n5, %n5 : index
    %n7 = arith.addi %n6, %n6 : index
    %n8 = arith.addi %n7, %n7 : index
    %n9 = arith.addi %n8, %n8 : index
    %n10 = arith.addi %n9, %n9 : index
    // expected-error @below {{expected a size of at most 4000 terms, 60 deep, for the host}}
    %n11 = arith.addi %n10, %n10 : index
    %n12 = arith.addi %n11, %n11 : index
    %n13 = arith.addi %n12, %n12 : index
    %n14 = arith.addi %n13, %n13 : index
    %n15 = arith.addi %n14, %n14 : index
    %n16 = arith.addi %n15, %n15 : index
    %n17 = arith.addi %n16, %n16 : index
    %n18 = arith.addi %n17, %n17 : index
    %n19 = arith.addi %n18, %n18 : index
    %n20 = arith.addi %n19, %n19 : index
    return %n20 : index
  }
  func.func @phase0(%m: memref<?xi64>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [16, 8], micro = [16, 8], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected rows that are a multiple of 16, got '!nvtile.shared<1 x 8 x 64 x bf16>'}}
    %s = nvtile.alloc : !nvtile.shared<1 x 8 x 64 x bf16>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [16, 8], micro = [16, 8], strategy = online>
#rows = #nvtile.fragment<warps = [1, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %q = nvtile.alloc : !nvtile.shared<1 x 16 x 64 x bf16>
    %k = nvtile.alloc : !nvtile.shared<1 x 16 x 64 x bf16>
    // expected-error @below {{expected products on FMA units with tiles of 8 keys, got elements of 'bf16'}}
    %s = nvtile.dot %q[%c0], %k[%c0] {transpose_b} : !nvtile.shared<1 x 16 x 64 x bf16>, <1 x 16 x 64 x bf16> -> tensor<16x16xf32, #rows>
    return
  }
}

// -----

// Lines and fragments do not mix.
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%o: memref<?x16xf32>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @attention_phase0(%o: memref<?x16xf32>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %o[%c0, %c0] dims [0, 1] valid(%c0, %c0) : memref<?x16xf32> -> tensor<16x16xf32, #nvtile.fragment<warps = [1, 1]>>
    // expected-error @below {{expected tiles with the same warps along their rows}}
    %m = tile.reduce max %t : tensor<16x16xf32, #nvtile.fragment<warps = [1, 1]>> -> tensor<16xf32, #nvtile.lines<warps = 1>>
    return
  }
}

// -----

// Kernels call nothing but rescues.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    // expected-error @below {{expected a call from a kernel to a function with its phase in flash.rescue}}
    func.call @other(%m, %i) : (memref<?x64xbf16>, index) -> ()
    return
  }
  func.func @other(%m: memref<?x64xbf16>, %i: index) attributes {nvtile.threads = 64 : i64} {
    return
  }
}

// -----

// A rescue has the threads of its kernel.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    // expected-error @below {{expected a function for the kernel's threads}}
    func.call @exact(%m, %i) : (memref<?x64xbf16>, index) -> ()
    return
  }
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    return
  }
}

// -----

// It works on the kernel's memory, not on a view of it.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    %v = memref.cast %m : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %w = memref.cast %v : memref<?x64xbf16, strided<[64, 1]>> to memref<?x64xbf16>
    // expected-error @below {{expected the kernel's arguments and a number}}
    func.call @exact(%w, %i) : (memref<?x64xbf16>, index) -> ()
    return
  }
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

// It needs the number of a point.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    return
  }
  // expected-error @below {{expected the number of a point as the last argument, got 'memref<?x64xbf16>'}}
  func.func @exact(%m: memref<?x64xbf16>) attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

// And a kernel whose points it computes.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    return
  }
  // expected-error @below {{expected a kernel of phase 3, which this function would compute points of}}
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 3 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

// Another phase's shared memory may be larger.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid0(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @grid1(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 1 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %i = nvtile.block_id
    // expected-error @below {{expected a call from a kernel to a function with its phase in flash.rescue}}
    func.call @exact(%m, %i) : (memref<?x64xbf16>, index) -> ()
    return
  }
  func.func @phase1(%m: memref<?x64xbf16>) attributes {flash.kernel = 1 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 1 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
  // expected-error @below {{expected one function with the number of its kernel's phase in flash.rescue, got another}}
  func.func @again(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  // expected-error @below {{expected one function with the number of its kernel's phase in flash.rescue, got unit}}
  func.func @exact(%m: memref<?x64xbf16>, %i: index) attributes {flash.rescue, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    // expected-error @below {{expected a target from sm_90 on, got sm_80}}
    nvtile.launch_dependents
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_90">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    nvtile.launch_dependents
    %r = memref.load %m[%c0, %c0] : memref<?x64xbf16>
    // expected-error @below {{expected to be first in the kernel, got it behind or among ops that may read or write memory}}
    nvtile.wait_prerequisites
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
module attributes {flash.target = #flash.target<"sm_90">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    nvtile.launch_dependents
    scf.if %yes {
      // expected-error @below {{expected to be first in the kernel, got it behind or among ops that may read or write memory}}
      nvtile.wait_prerequisites
    }
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected bands with warps of their own and columns that are a multiple of 16, got 2 in}}
    %x = tile.coords %c0 dim 1 {bands = 2 : i64} : tensor<32x24xindex, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected bands with warps of their own and columns that are a multiple of 16, got 4 in}}
    %x = tile.coords %c0 dim 1 {bands = 4 : i64} : tensor<32x16xindex, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.0> : tensor<16xf32, #rows>
    // expected-error @below {{expected fragments, and 2 times the warps along the rows, got}}
    %y = tile.repeat %x : tensor<16xf32, #rows> -> tensor<32xf32, #rows>
    return
  }
}

// -----

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%m: memref<?x64xbf16>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @phase0(%m: memref<?x64xbf16>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %q = nvtile.alloc : !nvtile.shared<1 x 16 x 64 x bf16>
    %k = nvtile.alloc : !nvtile.shared<1 x 16 x 64 x bf16>
    // expected-error @below {{expected bands with warps of their own, and of rows of b that are a multiple of 16, got 2 for}}
    %y = nvtile.dot %q[%c0], %k[%c0] {bands = 2 : i64, transpose_b} : !nvtile.shared<1 x 16 x 64 x bf16>, !nvtile.shared<1 x 16 x 64 x bf16> -> tensor<32x8xf32, #rows>
    return
  }
}
