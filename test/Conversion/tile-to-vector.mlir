// RUN: flash-opt %s --tile-to-vector --canonicalize --cse | FileCheck %s

#kernel = #flash.schedule<tile = [8, 8], micro = [2, 8], strategy = online>
module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // The parallel loop's bound becomes a function of its own, its body a function of the point.
  // CHECK-LABEL: func.func @dot_phase0_grid
  // CHECK-SAME:    -> index attributes {flash.grid = 0 : i64}
  // CHECK:         %[[POINTS:.*]] = arith.constant 3 : index
  // CHECK:         return %[[POINTS]]

  // Tiles lie in scratch memory, one after another: 8x16, then the transposed 16x8, then 8x8 floats.
  // CHECK-LABEL: func.func @dot_phase0_point
  // CHECK-SAME:    (%[[Q:.*]]: memref<?x?x2x16xf32, {{[^%]*}}, %[[O:.*]]: memref<?x?x2x8xf32, {{[^%]*}} {flash.output}, %{{.*}}: memref<?xi8> {flash.name = "workspace"}, %[[POINT:.*]]: index, %[[SCRATCH:.*]]: memref<?xi8>)
  // CHECK-SAME:    flash.scratch_bytes = 1280 : i64
  // CHECK-DAG:     %[[A:.*]] = memref.view %[[SCRATCH]][%c0][] : memref<?xi8> to memref<8x16xf32>
  // CHECK-DAG:     %[[B:.*]] = memref.view %[[SCRATCH]][%c512][] : memref<?xi8> to memref<16x8xf32>
  // CHECK-DAG:     %[[D:.*]] = memref.view %[[SCRATCH]][%c1024][] : memref<?xi8> to memref<8x8xf32>
  // Rows whose elements are adjacent move as vectors, others element by element.
  // CHECK:         %{{.*}}, %{{.*}}, %{{.*}}:4, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata %[[Q]]
  // CHECK:         %[[DENSE:.*]] = arith.cmpi eq, %[[STRIDES]]#3, %c1
  // CHECK:         scf.for
  // CHECK:           %[[VECTORS:.*]] = arith.select %[[DENSE]], %c16, %c0
  // CHECK:           scf.for %{{.*}} = %c0 to %[[VECTORS]] step %c8
  // CHECK:             vector.load
  // CHECK:             vector.store %{{.*}}, %[[A]]
  // CHECK:           scf.for %{{.*}} = %[[VECTORS]] to %c16 step %c1
  // CHECK:             memref.store %{{.*}}, %[[A]]
  // Keys are transposed in registers, or element by element.
  // CHECK:         vector.shuffle
  // CHECK:         vector.store %{{.*}}, %[[B]]
  // CHECK:         memref.store %{{.*}}, %[[B]]
  // The micro-kernel: 2 rows of 8 columns in registers, over all 16 terms.
  // CHECK:         scf.for %[[R:.*]] = %c0 to %c8 step %c2
  // CHECK:           %[[SUMS:.*]]:2 = scf.for %[[T:.*]] = %c0 to %c16 step %c1 iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) -> (vector<8xf32>, vector<8xf32>)
  // CHECK:             %[[BV:.*]] = vector.load %[[B]][%[[T]], %c0]
  // CHECK:             %[[A0:.*]] = memref.load %[[A]][%[[R]], %[[T]]]
  // CHECK:             %[[AV0:.*]] = vector.broadcast %[[A0]]
  // CHECK:             math.fma %[[AV0]], %[[BV]], %[[S0]]
  // CHECK:             math.fma %{{.*}}, %[[BV]], %[[S1]]
  // CHECK:           vector.store %[[SUMS]]#0, %[[D]][%[[R]], %c0]
  // CHECK:           vector.store %[[SUMS]]#1, %[[D]]
  // CHECK-NOT:     tile.
  // CHECK:         return
  func.func @dot_phase0(%q: memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
                        %o: memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> {flash.output},
                        %ws: memref<?xi8> {flash.name = "workspace"})
      attributes {flash.kernel = 0 : i64, flash.schedule = #kernel} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    scf.forall (%p) in (3) {
      %a = tile.load %q[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c16) : memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x16xf32>
      %b = tile.load %q[%p, %c8, %c0, %c0] dims [1, 3] valid(%c8, %c16) : memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x16xf32>
      %d = tile.dot %a, %b {transpose_b} : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x8xf32>
      tile.store %d, %o[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c8) : tensor<8x8xf32>, memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>
    }
    return
  }

  // Elementwise ops fuse into one loop over rows, a vector at a time; each row's sum stays a vector until 8 rows are
  // there, which are then added up across their lanes together.
  // CHECK-LABEL: func.func @fused_phase1_point
  // CHECK-COUNT-2: memref.extract_strided_metadata
  // CHECK:         scf.for %[[R:.*]] = %c0 to %c8 step %c1 {
  // CHECK-NEXT:      %[[X:.*]] = vector.load %{{.*}}[%[[R]], %c0] : memref<8x16xf32>, vector<8xf32>
  // CHECK:           %[[E:.*]] = math.exp %[[X]] : vector<8xf32>
  // CHECK:           %[[X1:.*]] = vector.load %{{.*}}[%[[R]], %c8]
  // CHECK:           %[[E1:.*]] = math.exp %[[X1]] : vector<8xf32>
  // CHECK:           %[[SUM:.*]] = arith.addf %{{.*}}, %[[E1]]
  // CHECK:           vector.store %[[SUM]], %[[PARTS:.*]][%[[R]], %c0]
  // CHECK:         vector.load %[[PARTS]][%c7, %c0]
  // CHECK:         vector.shuffle
  // CHECK:         arith.addf
  // CHECK-NOT:     tensor<
  // CHECK:         return
  func.func @fused_phase1(%q: memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
                          %l: memref<?x2x?xf32, strided<[?, ?, ?], offset: ?>> {flash.output},
                          %ws: memref<?xi8> {flash.name = "workspace"})
      attributes {flash.kernel = 1 : i64, flash.schedule = #kernel} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    scf.forall (%p) in (3) {
      %a = tile.load %q[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c16) : memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x16xf32>
      %e = math.exp %a : tensor<8x16xf32>
      %s = tile.reduce sum %e : tensor<8x16xf32> -> tensor<8xf32>
      tile.store %s, %l[%p, %c0, %c0] dims [2] valid(%c8) : tensor<8xf32>, memref<?x2x?xf32, strided<[?, ?, ?], offset: ?>>
    }
    return
  }

  // What a loop's dot keeps is evaluated first, a bit an element. The rest of the turn is for the rows that keep
  // something, out to whole micro-tiles, and for no others; without any, nothing is even loaded.
  // CHECK-LABEL: func.func @idle_phase2_point
  // CHECK:         scf.for %[[J:.*]] = %c0 to %{{.*}} step %c8 {
  // CHECK:           %[[ROWS:.*]]:2 = scf.for %[[R:.*]] = %c0 to %c8 step %c1 iter_args(%[[FIRST:.*]] = %c8, %[[END:.*]] = %c0)
  // CHECK:             %[[KEEP:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : vector<8xindex>
  // CHECK:             %[[BITS:.*]] = vector.bitcast %[[KEEP]] : vector<8xi1> to vector<1xi8>
  // CHECK:             %[[WORD:.*]] = vector.extract %[[BITS]][0]
  // CHECK:             memref.store %[[WORD]], %[[MASK:.*]][%[[R]], %c0] : memref<8x1xi8>
  // CHECK:             %[[ANY:.*]] = arith.cmpi ne, %[[WORD]], %c0_i8
  // CHECK:             arith.select %[[ANY]], %{{.*}}, %[[FIRST]]
  // CHECK:             arith.select %[[ANY]], %{{.*}}, %[[END]]
  // CHECK:           %[[HALVED:.*]] = arith.divui %[[ROWS]]#0, %c2
  // CHECK:           %[[BEGIN:.*]] = arith.muli %[[HALVED]], %c2
  // CHECK:           %[[STOP:.*]] = arith.minsi %{{.*}}, %c8
  // CHECK:           %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN]], %[[STOP]]
  // CHECK-NOT:       vector.load
  // CHECK:           scf.if %[[SOME]]
  // CHECK:             scf.for %{{.*}} = %[[BEGIN]] to %{{.*}} step %c2
  // The path for terms that are not finite reads the bits again.
  // CHECK:           } else {
  // CHECK:             scf.for %[[S:.*]] = %[[BEGIN]] to %[[STOP]] step %c1
  // CHECK:               memref.load %[[MASK]][%[[S]], %{{.*}}] : memref<8x1xi8>
  func.func @idle_phase2(%q: memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>,
                         %o: memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> {flash.output},
                         %ws: memref<?xi8> {flash.name = "workspace"})
      attributes {flash.kernel = 2 : i64, flash.schedule = #kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %keys = memref.dim %q, %c1 : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>
    %zero = arith.constant dense<0.0> : tensor<8x8xf32>
    scf.forall (%p) in (3) {
      %a = tile.load %q[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c8) : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x8xf32>
      %i = tile.coords %p dim 0 : tensor<8x8xindex>
      %r = scf.for %j0 = %c0 to %keys step %c8 iter_args(%acc = %zero) -> (tensor<8x8xf32>) {
        %b = tile.load %q[%p, %j0, %c0, %c0] dims [1, 3] valid(%c8, %c8) : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x8xf32>
        %j = tile.coords %j0 dim 1 : tensor<8x8xindex>
        %k = arith.cmpi sle, %j, %i : tensor<8x8xindex>
        %d = tile.dot %a, %b init(%acc : tensor<8x8xf32>) keep(%k : tensor<8x8xi1>) {idle_rows} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
        scf.yield %d : tensor<8x8xf32>
      }
      tile.store %r, %o[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c8) : tensor<8x8xf32>, memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>
    }
    return
  }

  // Few rows read whole tiles where they lie, four streams of rows side by side, or from a copy where elements of a
  // row are not adjacent. Sums of 2 rows and 4 streams are reduced together, for 4 rows of each stream in turn.
  // CHECK-LABEL: func.func @few_phase3_point
  // CHECK:         %[[ROWS:.*]] = scf.if %{{.*}} -> (memref<16x16xf32, strided<[?, 1], offset: ?>>) {
  // CHECK-NEXT:      {{.*}} memref.extract_strided_metadata
  // CHECK:           %[[OWN:.*]] = memref.reinterpret_cast
  // CHECK-NEXT:      scf.yield %[[OWN]]
  // CHECK:         } else {
  // CHECK:           memref.store %{{.*}}, %[[COPY:.*]][%{{.*}}, %{{.*}}] : memref<16x16xf32>
  // CHECK:           scf.yield
  // CHECK:         scf.for %{{.*}} = %c0 to %c8 step %c2
  // CHECK:           scf.for %[[KEY:.*]] = %c0 to %c4 step %c1
  // CHECK:             %[[KEY1:.*]] = arith.addi %[[KEY]], %c4
  // CHECK:             vector.load %[[ROWS]][%[[KEY]], %c0]
  // CHECK:             vector.load %[[ROWS]][%[[KEY1]], %c0]
  // CHECK-COUNT-8:     math.fma
  // CHECK-NOT:         math.fma
  // CHECK:             vector.load %[[ROWS]][%[[KEY]], %c8]
  // CHECK-COUNT-8:     math.fma
  // CHECK-NOT:         math.fma
  // CHECK:             vector.store %{{.*}}, %[[TOTALS:.*]][%[[KEY]], %c0]
  // CHECK:           vector.load %[[TOTALS]][%c3, %c0]
  // CHECK:           vector.store %{{.*}} : memref<8x16xf32>, vector<4xf32>
  func.func @few_phase3(%q: memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
                        %o: memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> {flash.output},
                        %ws: memref<?xi8> {flash.name = "workspace"})
      attributes {flash.kernel = 3 : i64, flash.schedule = #kernel} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    scf.forall (%p) in (3) {
      %a = tile.load %q[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c16) : memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x16xf32>
      %b = tile.load %q[%p, %c8, %c0, %c0] dims [1, 3] valid(%c16, %c16) : memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<16x16xf32>
      %d = tile.dot %a, %b {transpose_b} : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
      tile.store %d, %o[%p, %c0, %c0, %c0] dims [1, 3] valid(%c8, %c16) : tensor<8x16xf32>, memref<?x?x2x16xf32, strided<[?, ?, ?, ?], offset: ?>>
    }
    return
  }

  // More rows than go into the first-level cache pass through a loop's body 32 at a time: the first dot's result, and
  // what is computed from it, holds no more, while what the loop carries is whole.
  // CHECK-LABEL: func.func @parts_phase4_point
  // CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step %c8 {
  // CHECK:           scf.for %[[BEGIN:.*]] = %c0 to %c64 step %c32 {
  // CHECK:             %[[SUM:.*]] = arith.addi %[[BEGIN]], %c32
  // CHECK:             %[[END:.*]] = arith.minsi %[[SUM]], %c64
  // CHECK:             scf.for %[[R:.*]] = %[[BEGIN]] to %{{.*}} step %c2
  // CHECK:               %[[LOCAL:.*]] = arith.subi %[[R]], %[[BEGIN]]
  // CHECK:               vector.store %{{.*}}, %[[S:.*]][%[[LOCAL]], %c0] : memref<32x8xf32>
  // CHECK:             scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c8
  // CHECK:               math.exp
  // CHECK:               vector.store %{{.*}}, %[[P:.*]][%{{.*}}, %c0] : memref<32x8xf32>
  // CHECK:             memref.load %[[P]]
  // CHECK:             vector.store %{{.*}} : memref<64x8xf32>
  func.func @parts_phase4(%q: memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>,
                          %o: memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> {flash.output},
                          %ws: memref<?xi8> {flash.name = "workspace"})
      attributes {flash.kernel = 4 : i64, flash.schedule = #flash.schedule<tile = [64, 8], micro = [2, 8], strategy = online>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %keys = memref.dim %q, %c1 : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>
    %zero = arith.constant dense<0.0> : tensor<64x8xf32>
    scf.forall (%p) in (3) {
      %a = tile.load %q[%p, %c0, %c0, %c0] dims [1, 3] valid(%c64, %c8) : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<64x8xf32>
      %r = scf.for %j0 = %c0 to %keys step %c8 iter_args(%acc = %zero) -> (tensor<64x8xf32>) {
        %b = tile.load %q[%p, %j0, %c0, %c0] dims [1, 3] valid(%c8, %c8) : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x8xf32>
        %v = tile.load %q[%p, %j0, %c1, %c0] dims [1, 3] valid(%c8, %c8) : memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>> -> tensor<8x8xf32>
        %s = tile.dot %a, %b {transpose_b} : tensor<64x8xf32>, tensor<8x8xf32> -> tensor<64x8xf32>
        %e = math.exp %s : tensor<64x8xf32>
        %d = tile.dot %e, %v init(%acc : tensor<64x8xf32>) : tensor<64x8xf32>, tensor<8x8xf32> -> tensor<64x8xf32>
        scf.yield %d : tensor<64x8xf32>
      }
      tile.store %r, %o[%p, %c0, %c0, %c0] dims [1, 3] valid(%c64, %c8) : tensor<64x8xf32>, memref<?x?x2x8xf32, strided<[?, ?, ?, ?], offset: ?>>
    }
    return
  }

  // Functions that are no kernels stay.
  // CHECK-LABEL: func.func @attention_workspace
  func.func @attention_workspace(%ws: memref<?xi8>) -> index attributes {flash.workspace} {
    %c0 = arith.constant 0 : index
    return %c0 : index
  }
}
