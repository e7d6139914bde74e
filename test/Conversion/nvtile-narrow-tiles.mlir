// RUN: flash-opt %s --split-input-file --nvtile-to-threads | FileCheck %s

#warp = #nvtile.fragment<warps = [1, 1]>

module attributes {flash.target = #flash.target<"sm_75">} {
  func.func @grid(%a: memref<?x64xf32>, %o: memref<?x16xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // Tiles of 8 keys, the smallest: a thread has two rows and two columns of the scores, sums them up without asking
  // which columns there are, and writes them to rows of 8 floats and a chunk of 16 bytes.
  // CHECK-LABEL: func.func @fewest_keys(
  // CHECK:           %[[PITCH:.*]] = arith.constant 48 : i32
  // CHECK:           arith.muli %{{.*}}, %[[PITCH]]
  // CHECK:           scf.for
  // CHECK-COUNT-16:    math.fma
  // CHECK-NOT:         math.fma
  // CHECK:             scf.yield
  // CHECK-NOT:       arith.select
  // CHECK-COUNT-4:   llvm.store %{{.*}} : f32, !llvm.ptr<3>
  // CHECK-NOT:       llvm.store {{.*}} : f32, !llvm.ptr<3>
  // CHECK:           scf.for
  // CHECK-COUNT-32:    math.fma
  // CHECK-NOT:         math.fma
  // CHECK:             scf.yield
  func.func @fewest_keys(%a: memref<?x64xf32>, %o: memref<?x16xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 32 : i64,
                  flash.schedule = #flash.schedule<tile = [16, 8], micro = [16, 8], strategy = online>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = nvtile.alloc : <1 x 16 x 64 x f32>
    %k = nvtile.alloc : <1 x 8 x 64 x f32>
    %v = nvtile.alloc : <1 x 8 x 16 x f32>
    %s = nvtile.dot %q[%c0], %k[%c0] {transpose_b} : !nvtile.shared<1 x 16 x 64 x f32>, <1 x 8 x 64 x f32> -> tensor<16x8xf32, #warp>
    %max = tile.reduce maxnum %s : tensor<16x8xf32, #warp> -> tensor<16xf32, #warp>
    %rows = tile.broadcast %max : tensor<16xf32, #warp> -> tensor<16x8xf32, #warp>
    %p = arith.subf %s, %rows : tensor<16x8xf32, #warp>
    %dot = nvtile.dot %p, %v[%c0] : tensor<16x8xf32, #warp>, <1 x 8 x 16 x f32> -> tensor<16x16xf32, #warp>
    tile.store %dot, %o[%c0, %c0] dims [0, 1] valid(%c16, %c16) : tensor<16x16xf32, #warp>, memref<?x16xf32>
    return
  }
}

// -----

#warp = #nvtile.fragment<warps = [1, 1]>

module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%a: memref<?x64xbf16>, %o: memref<?x8xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // Of the 16 columns of V that are loaded together, a result of 8 has the first instruction's alone.
  // CHECK-LABEL: func.func @narrow_result(
  // CHECK-COUNT-1: "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
  // CHECK-NOT:     "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
  // CHECK-COUNT-1: "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  // CHECK-NOT:     "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  func.func @narrow_result(%a: memref<?x64xbf16>, %o: memref<?x8xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 32 : i64,
                  flash.schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %p = nvtile.alloc : <1 x 16 x 16 x bf16>
    %v = nvtile.alloc : <1 x 16 x 8 x bf16>
    %dot = nvtile.dot %p[%c0], %v[%c0] : !nvtile.shared<1 x 16 x 16 x bf16>, <1 x 16 x 8 x bf16> -> tensor<16x8xf32, #warp>
    tile.store %dot, %o[%c0, %c0] dims [0, 1] valid(%c16, %c8) : tensor<16x8xf32, #warp>, memref<?x8xf32>
    return
  }
}
