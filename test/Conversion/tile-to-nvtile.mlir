// RUN: flash-opt %s --split-input-file --tile-to-nvtile --cse | FileCheck %s
//
// A kernel of two loops over key tiles, as flash-decompose leaves them but without a softmax.

#schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2, blocks = 2>
module attributes {flash.target = #flash.target<"sm_80">} {
  // What counts the grid's blocks comes from before the parallel loop.
  // CHECK-LABEL: func.func @attention_phase0_grid
  // CHECK-SAME:    (%[[Q:.*]]: memref<?x64xbf16>, %{{.*}}: memref<?x64xbf16>, %{{.*}}: memref<?x64xf32>, %{{.*}}: memref<?xi8>) -> index attributes {flash.grid = 0 : i64}
  // CHECK:         %[[N:.*]] = memref.dim %[[Q]]
  // CHECK:         %[[POINTS:.*]] = arith.divui %[[N]],
  // CHECK:         return %[[POINTS]] : index

  // The loop's body is a block's; its threads and its shared memory are those of the schedule and of the buffers:
  // 8 KiB for Q, and two stages of 4 KiB.
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %[[Q:.*]]: memref<?x64xbf16>, %[[K:.*]]: memref<?x64xbf16>, %[[O:.*]]: memref<?x64xf32>, %{{.*}}: memref<?xi8>)
  // CHECK-SAME:    nvtile.blocks = 2 : i64, nvtile.shared_bytes = 16384 : i64, nvtile.threads = 128 : i64
  // CHECK-DAG:     %[[KS:.*]] = nvtile.alloc : <2 x 32 x 64 x bf16>
  // CHECK-DAG:     %[[QS:.*]] = nvtile.alloc : <1 x 64 x 64 x bf16>
  // CHECK-NOT:     scf.forall
  // CHECK:         %[[ID:.*]] = nvtile.block_id
  // What is loaded once is copied where its load stood.
  // CHECK:         nvtile.copy %[[Q]]{{.*}} to %[[QS]][
  // CHECK:         nvtile.commit
  // The copies of the stream's first tile, where there is one, begin before the loops.
  // CHECK:         nvtile.barrier
  // CHECK:         scf.if
  // CHECK:           nvtile.copy %[[K]]{{.*}} to %[[KS]][
  // CHECK:         nvtile.commit
  // Each turn waits for its own tiles, begins the copies of the next turn's and multiplies.
  // CHECK:         %[[FULL:.*]]:2 = scf.for {{.*}} -> (tensor<64x64xf32, #nvtile.fragment<warps = [4, 1]>>, index)
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.copy %[[K]]{{.*}} to %[[KS]][
  // CHECK:           nvtile.commit
  // CHECK:           %[[S:.*]] = nvtile.dot %[[QS]][%{{.*}}], %[[KS]][%[[STAGE:.*]]] {transpose_b} : {{.*}} -> tensor<64x32xf32, #nvtile.fragment<warps = [4, 1]>>
  // CHECK:           %[[P:.*]] = arith.truncf %[[S]] : tensor<64x32xf32, #nvtile.fragment<warps = [4, 1]>>
  // CHECK:           nvtile.dot %[[P]], %[[KS]][%[[STAGE]]] init(
  // The second loop goes on where the first one ended, in the same buffers.
  // CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[FULL]]#0,
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.copy %[[K]]{{.*}} to %[[KS]][
  // CHECK:           nvtile.all_finite %[[KS]][
  // CHECK:           nvtile.dot {{.*}} keep({{.*}}) finite(
  // CHECK-NOT:     nvtile.alloc
  // CHECK:         tile.store
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x64xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %n = memref.dim %q, %c0 : memref<?x64xbf16>
    %points = arith.divui %n, %c64 : index
    scf.forall (%p) in (%points) {
      %i = arith.muli %p, %c64 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xbf16> -> tensor<64x64xbf16>
      %full = scf.for %j = %c0 to %i step %c32 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %w, %kt init(%acc : tensor<64x64xf32>) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %all = scf.for %j = %i to %n step %c32 iter_args(%acc = %full) -> (tensor<64x64xf32>) {
        %left = arith.subi %n, %j : index
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%left, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %at = tile.coords %j dim 1 : tensor<64x32xindex>
        %end = tensor.splat %n : tensor<64x32xindex>
        %keep = arith.cmpi slt, %at, %end : tensor<64x32xindex>
        %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %w, %kt init(%acc : tensor<64x64xf32>) keep(%keep : tensor<64x32xi1>) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c64, %c64) : tensor<64x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// Warps across share rows and scores, and part the columns of the output; queries go to registers; with one stage a
// turn's tiles are copied in that turn.
#schedule = #flash.schedule<tile = [32, 32], micro = [16, 16], strategy = online, stages = 1, across = 2, queries = registers>
module attributes {flash.target = #flash.target<"sm_75">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    nvtile.threads = 128 : i64
  // CHECK:         nvtile.copy {{.*}} to %[[QS:.*]][
  // CHECK:         nvtile.wait
  // CHECK:         %[[QR:.*]] = nvtile.read %[[QS]][{{.*}} -> tensor<32x64xf16, #nvtile.operand<warps = 2>>
  // CHECK:         scf.for {{.*}} -> (tensor<32x64xf32, #nvtile.fragment<warps = [2, 2]>>)
  // CHECK:           nvtile.barrier
  // CHECK:           nvtile.copy {{.*}} to %[[KS:.*]][
  // CHECK:           nvtile.commit
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.dot %[[QR]], %[[KS]][{{.*}}] {transpose_b} : {{.*}} -> tensor<32x32xf32, #nvtile.fragment<warps = [2, 1]>>
  // CHECK:           nvtile.dot {{.*}} -> tensor<32x64xf32, #nvtile.fragment<warps = [2, 2]>>
  func.func @attention_phase0(%q: memref<?x64xf16>, %k: memref<?x64xf16>, %o: memref<?x64xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<32x64xf32>
    %n = memref.dim %q, %c0 : memref<?x64xf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c32 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xf16> -> tensor<32x64xf16>
      %all = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zeros) -> (tensor<32x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xf16> -> tensor<32x64xf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<32x64xf16>, tensor<32x64xf16> -> tensor<32x32xf32>
        %w = arith.truncf %s : tensor<32x32xf32> to tensor<32x32xf16>
        %next = tile.dot %w, %kt init(%acc : tensor<32x64xf32>) : tensor<32x32xf16>, tensor<32x64xf16> -> tensor<32x64xf32>
        scf.yield %next : tensor<32x64xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c32, %c64) : tensor<32x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// Bands have warps of their own for their rows; what is folded has them along its columns. O is folded through the memory
// of the keys, once all threads have met.
#schedule = #flash.schedule<tile = [16, 64], micro = [16, 16], strategy = online, stages = 3, bands = 4>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    nvtile.threads = 128 : i64
  // CHECK-DAG:     %[[MS:.*]] = nvtile.alloc : <1 x 16 x 4 x f32>
  // CHECK-DAG:     %[[KS:.*]] = nvtile.alloc : <3 x 64 x 64 x f16>
  // CHECK-DAG:     %[[OS:.*]] = nvtile.alloc : <1 x 64 x 64 x f32> over %[[KS]]
  // CHECK:         %[[LOOP:.*]]:3 = scf.for {{.*}} -> (tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, tensor<64x64xf32, #nvtile.fragment<warps = [4, 1]>>, index)
  // CHECK:           nvtile.dot {{.*}} {bands = 4 : i64, transpose_b} : !nvtile.shared<1 x 16 x 64 x f16>, <3 x 64 x 64 x f16> -> tensor<64x16xf32, #nvtile.fragment<warps = [4, 1]>>
  // CHECK:           nvtile.dot {{.*}} {bands = 4 : i64} : {{.*}} -> tensor<64x64xf32, #nvtile.fragment<warps = [4, 1]>>
  // CHECK:         nvtile.barrier
  // CHECK-NEXT:    nvtile.fold maxnum %[[LOOP]]#0 through %[[MS]] : {{.*}} -> tensor<16xf32, #nvtile.fragment<warps = [1, 1]>>
  // CHECK-NOT:     nvtile.barrier
  // CHECK:         nvtile.fold sum %[[LOOP]]#1 through %[[OS]] : {{.*}} -> tensor<16x64xf32, #nvtile.fragment<warps = [1, 4]>>
  func.func @attention_phase0(%q: memref<?x64xf16>, %k: memref<?x64xf16>, %o: memref<?x64xf32>, %r: memref<?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %n = memref.dim %q, %c0 : memref<?x64xf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c16 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c16, %c64) : memref<?x64xf16> -> tensor<16x64xf16>
      %m, %all = scf.for %j = %c0 to %n step %c64 iter_args(%top = %zero, %acc = %zeros) -> (tensor<64xf32>, tensor<64x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xf16> -> tensor<64x64xf16>
        %s = tile.dot %qt, %kt {bands = 4 : i64, transpose_b} : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<64x16xf32>
        %row = tile.reduce maxnum %s : tensor<64x16xf32> -> tensor<64xf32>
        %higher = arith.maxnumf %top, %row : tensor<64xf32>
        %w = arith.truncf %s : tensor<64x16xf32> to tensor<64x16xf16>
        %next = tile.dot %w, %kt init(%acc : tensor<64x64xf32>) {bands = 4 : i64} : tensor<64x16xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %higher, %next : tensor<64xf32>, tensor<64x64xf32>
      }
      %mm = tile.fold maxnum %m : tensor<64xf32> -> tensor<16xf32>
      %oo = tile.fold sum %all : tensor<64x64xf32> -> tensor<16x64xf32>
      tile.store %mm, %r[%i] dims [0] valid(%c16) : tensor<16xf32>, memref<?xf32>
      tile.store %oo, %o[%i, %c0] dims [0, 1] valid(%c16, %c64) : tensor<16x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// A look at the first keys of the stream reads them where the stream begins, in stage 0, and copies nothing itself.
#schedule = #flash.schedule<tile = [16, 32], micro = [16, 16], strategy = online, stages = 2>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK:         %[[QS:.*]] = nvtile.alloc : <1 x 16 x 64 x bf16>
  // CHECK:         nvtile.barrier
  // CHECK:         nvtile.copy {{.*}} to %[[KS:.*]][%[[C0:.*]]]
  // CHECK:         nvtile.commit
  // CHECK:         scf.for
  // CHECK-NOT:       nvtile.copy
  // CHECK:           nvtile.wait 0
  // CHECK-NOT:       nvtile.copy
  // CHECK:           nvtile.dot {{.*}}, %[[KS]][%[[C0]]] {transpose_b} : {{.*}} -> tensor<16x16xf32,
  // CHECK:         {tile.peek}
  // CHECK:         scf.for
  // CHECK:           nvtile.dot {{.*}}, %[[KS]][{{.*}} -> tensor<16x32xf32,
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<16xf32>
    %n = memref.dim %k, %c0 : memref<?x64xbf16>
    scf.forall (%p) in (1) {
      %qt = tile.load %q[%c0, %c0] dims [0, 1] valid(%c16, %c64) : memref<?x64xbf16> -> tensor<16x64xbf16>
      %m = scf.for %j = %c0 to %c32 step %c32 iter_args(%max = %zeros) -> (tensor<16xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c16, %c64) : memref<?x64xbf16> -> tensor<16x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<16x64xbf16>, tensor<16x64xbf16> -> tensor<16x16xf32>
        %r = tile.reduce maxnum %s : tensor<16x16xf32> -> tensor<16xf32>
        %next = arith.maxnumf %max, %r : tensor<16xf32>
        scf.yield %next : tensor<16xf32>
      } {tile.peek}
      %l = scf.for %j = %c0 to %n step %c32 iter_args(%sum = %m) -> (tensor<16xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<16x64xbf16>, tensor<32x64xbf16> -> tensor<16x32xf32>
        %r = tile.reduce sum %s : tensor<16x32xf32> -> tensor<16xf32>
        %next = arith.addf %sum, %r : tensor<16xf32>
        scf.yield %next : tensor<16xf32>
      }
      tile.store %l, %o[%c0] dims [0] valid(%c16) : tensor<16xf32>, memref<?xf32>
    }
    return
  }
}

// -----

// Late values have one stage: their copy begins with the turn, and is waited for before the product that reads them.
#schedule = #flash.schedule<tile = [64, 32], micro = [16, 32], strategy = online, stages = 2, values = late>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %{{.*}}: memref<?x64xbf16>, %[[K:.*]]: memref<?x64xbf16>, %[[V:.*]]: memref<?x64xbf16>,
  // CHECK-DAG:     %[[KS:.*]] = nvtile.alloc : <2 x 32 x 64 x bf16>
  // CHECK-DAG:     %[[VS:.*]] = nvtile.alloc : <1 x 32 x 64 x bf16>
  // CHECK:         nvtile.copy %[[K]]{{.*}} to %[[KS]][
  // CHECK:         scf.for
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.copy %[[V]]{{.*}} to %[[VS]][
  // CHECK:           nvtile.commit
  // CHECK:           nvtile.copy %[[K]]{{.*}} to %[[KS]][
  // CHECK:           nvtile.commit
  // CHECK:           nvtile.dot {{.*}}, %[[KS]][{{.*}}] {transpose_b}
  // CHECK:           nvtile.wait 1
  // CHECK:           nvtile.dot {{.*}}, %[[VS]][
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %o: memref<?x64xf32>,
                              %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %n = memref.dim %k, %c0 : memref<?x64xbf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c64 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xbf16> -> tensor<64x64xbf16>
      %all = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %vt = tile.load %v[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %w, %vt init(%acc : tensor<64x64xf32>) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c64, %c64) : tensor<64x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// With one stage of keys the next ones are copied once the scores are there.
#schedule = #flash.schedule<tile = [64, 32], micro = [16, 32], strategy = online, stages = 1, values = late>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %{{.*}}: memref<?x64xbf16>, %[[K:.*]]: memref<?x64xbf16>, %[[V:.*]]: memref<?x64xbf16>,
  // CHECK:         nvtile.copy %[[K]]
  // CHECK:         scf.for
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.copy %[[V]]
  // CHECK:           nvtile.commit
  // CHECK:           nvtile.dot {{.*}} {transpose_b}
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.copy %[[K]]
  // CHECK:           nvtile.commit
  // CHECK:           nvtile.dot
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %o: memref<?x64xf32>,
                              %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %n = memref.dim %k, %c0 : memref<?x64xbf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c64 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xbf16> -> tensor<64x64xbf16>
      %all = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %vt = tile.load %v[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %w, %vt init(%acc : tensor<64x64xf32>) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c64, %c64) : tensor<64x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// Instead of keys: one buffer, filled twice a turn.
#schedule = #flash.schedule<tile = [64, 32], micro = [16, 32], strategy = online, stages = 1, values = instead>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    %{{.*}}: memref<?x64xbf16>, %[[K:.*]]: memref<?x64xbf16>, %[[V:.*]]: memref<?x64xbf16>,
  // CHECK-SAME:    nvtile.shared_bytes = 12288 : i64
  // CHECK:         %[[S:.*]] = nvtile.alloc : <1 x 32 x 64 x bf16>
  // CHECK-NOT:     nvtile.alloc : <1 x 32
  // CHECK:         scf.for
  // CHECK:           nvtile.barrier
  // CHECK:           nvtile.copy %[[K]]{{.*}} to %[[S]][
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.dot {{.*}}, %[[S]][{{.*}}] {transpose_b}
  // CHECK:           nvtile.barrier
  // CHECK:           nvtile.copy %[[V]]{{.*}} to %[[S]][
  // CHECK:           nvtile.wait 0
  // CHECK:           nvtile.dot {{.*}}, %[[S]][
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %o: memref<?x64xf32>,
                              %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %n = memref.dim %k, %c0 : memref<?x64xbf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c64 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xbf16> -> tensor<64x64xbf16>
      %all = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %vt = tile.load %v[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %w, %vt init(%acc : tensor<64x64xf32>) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c64, %c64) : tensor<64x64xf32>, memref<?x64xf32>
    }
    return
  }
}

// -----

// Buffers of loops that follow one another share memory, also where the smaller one comes first.
#schedule = #flash.schedule<tile = [64, 32], micro = [16, 32], strategy = online, stages = 1>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK-SAME:    nvtile.shared_bytes = 12288 : i64
  // CHECK:         %[[LARGE:.*]] = nvtile.alloc : <1 x 32 x 64 x bf16>
  // CHECK:         nvtile.alloc : <1 x 16 x 64 x bf16> over %[[LARGE]]
  func.func @attention_phase0(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %o: memref<?x32xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zeros = arith.constant dense<0.0> : tensor<64xf32>
    %sums = arith.constant dense<0.0> : tensor<64x32xf32>
    %n = memref.dim %k, %c0 : memref<?x64xbf16>
    scf.forall (%p) in (4) {
      %i = arith.muli %p, %c64 : index
      %qt = tile.load %q[%i, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xbf16> -> tensor<64x64xbf16>
      %look = scf.for %j = %c0 to %n step %c16 iter_args(%m = %zeros) -> (tensor<64xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c16, %c64) : memref<?x64xbf16> -> tensor<16x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<16x64xbf16> -> tensor<64x16xf32>
        %r = tile.reduce maxnum %s : tensor<64x16xf32> -> tensor<64xf32>
        %next = arith.maximumf %m, %r : tensor<64xf32>
        scf.yield %next : tensor<64xf32>
      }
      %all = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %sums) -> (tensor<64x32xf32>) {
        %kt = tile.load %k[%j, %c0] dims [0, 1] valid(%c32, %c64) : memref<?x64xbf16> -> tensor<32x64xbf16>
        %s = tile.dot %qt, %kt {transpose_b} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
        %b = tile.broadcast %look : tensor<64xf32> -> tensor<64x32xf32>
        %sum = arith.addf %s, %b : tensor<64x32xf32>
        %next = arith.addf %acc, %sum : tensor<64x32xf32>
        scf.yield %next : tensor<64x32xf32>
      }
      tile.store %all, %o[%i, %c0] dims [0, 1] valid(%c64, %c32) : tensor<64x32xf32>, memref<?x32xf32>
    }
    return
  }
}

// -----

// Without products rows are lines, of as many warps as their number allows.
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, across = 4>
module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @merge(
  // CHECK:         tile.load {{.*}} -> tensor<4x64xf32, #nvtile.lines<warps = 4>>
  // CHECK:         tile.reduce sum {{.*}} -> tensor<4xf32, #nvtile.lines<warps = 4>>
  // CHECK:         tile.load {{.*}} -> tensor<6xf32, #nvtile.lines<warps = 2>>
  func.func @merge(%q: memref<?x64xf32>, %o: memref<?xf32>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.forall (%p) in (4) {
      %t = tile.load %q[%c0, %c0] dims [0, 1] valid(%c64, %c64) : memref<?x64xf32> -> tensor<4x64xf32>
      %s = tile.reduce sum %t : tensor<4x64xf32> -> tensor<4xf32>
      tile.store %s, %o[%c0] dims [0] valid(%c64) : tensor<4xf32>, memref<?xf32>
      %u = tile.load %o[%c64] dims [0] valid(%c64) : memref<?xf32> -> tensor<6xf32>
      tile.store %u, %o[%c0] dims [0] valid(%c64) : tensor<6xf32>, memref<?xf32>
    }
    return
  }
}
