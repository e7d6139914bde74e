// RUN: flash-opt %s --nvtile-to-threads | FileCheck %s
//
// What one thread does of a scheduled kernel. Only what a thread must do is named, not the order of its instructions.

// Threads, shared memory and a grid that the host computes from shapes stand in the description.
// CHECK:      flash.kernel_info = "{
// CHECK-SAME: \22kernels\22:[{\22dependent\22:false,\22entry\22:\22attention_phase0\22,\22facts\22:[],\22grid\22:[\22mul\22,[\22dim\22,0,0],3],\22shared_bytes\22:5120,\22threads\22:64}]
// CHECK-SAME: \22target\22:\22sm_80\22
// CHECK-SAME: \22workspace\22:0

#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online, stages = 1>
#rows = #nvtile.fragment<warps = [2, 1]>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK: llvm.mlir.global external @{{.*}}() {addr_space = 3 : i32, alignment = {{[0-9]+}} : i64}
  // CHECK-NOT: func.func @grid
  func.func @grid(%q: memref<?x32xbf16>, %o: memref<?x32xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %n = memref.dim %q, %c0 : memref<?x32xbf16>
    %blocks = arith.muli %n, %c3 : index
    return %blocks : index
  }

  // Arguments are a pointer each with its sizes and strides.
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %[[Q:[^:]*]]: !llvm.ptr<1> {llvm.noalias}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[O:[^:]*]]: !llvm.ptr<1> {llvm.noalias}
  // CHECK-SAME:    nvtile.shared_bytes = 5120 : i64, nvtile.threads = 64 : i64
  // CHECK-NOT:     tensor<
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
  // Whole chunks by cp.async where addresses allow, else element by element.
  // CHECK:         scf.if
  // CHECK:           cp.async
  // CHECK:         } else {
  // CHECK:           ld.global.b16
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.cp.async.commit.group"
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
  // 16 rows of a warp, 32 columns in blocks of 8 and 32 terms in slices of 16: eight instructions.
  // CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
  // CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
  // CHECK-NOT:     llvm.nvvm.mma
  // Four lanes share a row.
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32"
  // CHECK:         st.global
  // CHECK:         return
  func.func @attention_phase0(%q: memref<?x32xbf16>, %o: memref<?x32xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %i = nvtile.block_id
    %s = nvtile.alloc : !nvtile.shared<1 x 32 x 32 x bf16>
    %t = nvtile.alloc : !nvtile.shared<1 x 32 x 32 x bf16>
    nvtile.copy %q[%i, %c0] dims [0, 1] valid(%c32, %c32) to %s[%c0] : memref<?x32xbf16>, !nvtile.shared<1 x 32 x 32 x bf16>
    nvtile.commit
    nvtile.wait 0
    %p = nvtile.dot %s[%c0], %s[%c0] {transpose_b} : !nvtile.shared<1 x 32 x 32 x bf16>, !nvtile.shared<1 x 32 x 32 x bf16> -> tensor<32x32xf32, #rows>
    %m = tile.reduce maxnum %p : tensor<32x32xf32, #rows> -> tensor<32xf32, #rows>
    %b = tile.broadcast %m : tensor<32xf32, #rows> -> tensor<32x32xf32, #rows>
    %d = arith.subf %p, %b : tensor<32x32xf32, #rows>
    tile.store %d, %o[%i, %c0] dims [0, 1] valid(%c32, %c32) : tensor<32x32xf32, #rows>, memref<?x32xf32>
    return
  }
}
