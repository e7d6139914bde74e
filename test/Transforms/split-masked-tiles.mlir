// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-split-masked-tiles))' | FileCheck %s
// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-split-masked-tiles,canonicalize))' \
// RUN:   | FileCheck %s --check-prefix=BOUNDS
//
// With constant positions the bounds fold, so that BOUNDS can name them. Query tiles have 4 rows, key tiles 8
// columns. Loops without a turn are folded away, and the loop of full tiles has no mask.

// Two loops, the second of which takes the state of the first: full tiles, partial tiles. Other tiles are empty.
// The full loop loads whole tiles, checks no boundary and masks nothing. The partial one leaps over full tiles.
// CHECK-LABEL: func.func @structure
// CHECK:         %[[FIRST:.*]]:3 = scf.for %{{.*}} = %[[FULL:.*]] to %[[STOP:.*]] step
// CHECK:           tile.load {{.*}} valid(%c8{{[_0-9]*}}, %{{.*}})
// CHECK:           flash.online_attention {{.*}} at({{.*}}) {base = 0 : i32, scale = 5.000000e-01 : f32}
// CHECK:         %[[SECOND:.*]]:3 = scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[FIRST]]#0, %{{.*}} = %[[FIRST]]#1, %{{.*}} = %[[FIRST]]#2)
// CHECK-DAG:       %[[BEFORE:.*]] = arith.cmpi slt, %[[J]], %[[FULL]]
// CHECK-DAG:       %[[BEHIND:.*]] = arith.addi %[[J]], %{{.*}}
// CHECK:           %[[KEY:.*]] = arith.select %[[BEFORE]], %[[J]], %[[BEHIND]]
// CHECK-NOT:       %[[J]]
// CHECK:           flash.online_attention {{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %[[KEY]],
// CHECK-NEXT:        mask (
// CHECK:             {base = 0 : i32, boundary,
// CHECK:         return %[[SECOND]]#2
func.func @structure(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index, %i0: index, %sq: index, %sk: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %keep = arith.cmpi sle, %j, %i : index
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// Without a mask only the last tile can be partial, for it may end beyond the last key.
// CHECK-LABEL: func.func @no_mask
// BOUNDS-LABEL: func.func @no_mask
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C16:.*]] = arith.constant 16 : index
// BOUNDS-DAG:     %[[C20:.*]] = arith.constant 20 : index
// BOUNDS:         scf.for %{{.*}} = %[[C0]] to %[[C16]]
// BOUNDS:           flash.online_attention {{.*}} {base = 0 : i32, scale
// BOUNDS-NOT:     scf.for
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C16]], %{{.*}}, %[[C20]]) {base = 0 : i32, boundary,
func.func @no_mask(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 0 : index
  %sq = arith.constant 8 : index
  %sk = arith.constant 20 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// Queries 20..23 keep the keys up to their own: tiles 0 and 1 are full, tile 2 is partial, the rest empty.
// BOUNDS-LABEL: func.func @causal
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C16:.*]] = arith.constant 16 : index
// BOUNDS:         scf.for %{{.*}} = %[[C0]] to %[[C16]]
// BOUNDS:           flash.online_attention {{.*}} {base = 0 : i32, scale
// BOUNDS-NOT:     scf.for
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C16]], %{{.*}}, %{{.*}})
// BOUNDS-NEXT:      mask
func.func @causal(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 20 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %keep = arith.cmpi sle, %j, %i : index
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// With j <= i + sk - sq the diagonal lies 32 keys further right: tiles 0 to 5 are full, tile 6 is partial.
// BOUNDS-LABEL: func.func @bottom_right
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C48:.*]] = arith.constant 48 : index
// BOUNDS:         scf.for %{{.*}} = %[[C0]] to %[[C48]]
// BOUNDS:           flash.online_attention {{.*}} {base = 0 : i32, scale
// BOUNDS-NOT:     scf.for
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C48]], %{{.*}}, %{{.*}})
// BOUNDS-NEXT:      mask
func.func @bottom_right(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 20 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %o = arith.subi %sk1, %sq1 : index
          %t = arith.addi %i, %o : index
          %keep = arith.cmpi sle, %j, %t : index
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// i - 16 <= j <= i: queries 20..23 keep from 4..7 on: tile 1 is full, tiles 0 and 2 are partial.
// BOUNDS-LABEL: func.func @window
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C8:.*]] = arith.constant 8 : index
// BOUNDS-DAG:     %[[C16:.*]] = arith.constant 16 : index
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C8]], %{{.*}}, %{{.*}}) {base = 0 : i32, scale
// BOUNDS:         scf.for %[[J:.*]] = %[[C0]] to %[[C16]] step %[[C8]]
// BOUNDS:           %[[BEHIND:.*]] = arith.addi %[[J]], %[[C8]]
// BOUNDS:           %[[KEY:.*]] = arith.select %{{.*}}, %[[J]], %[[BEHIND]]
// BOUNDS:           flash.online_attention {{.*}} at({{.*}}, %[[KEY]], %{{.*}}, %{{.*}})
// BOUNDS-NEXT:        mask
// BOUNDS-NOT:     flash.online_attention
// BOUNDS:         return
func.func @window(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 20 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %w = arith.constant 16 : index
          %below = arith.subi %i, %w : index
          %left1 = arith.cmpi sle, %below, %j : index
          %right = arith.cmpi sle, %j, %i : index
          %keep = arith.andi %left1, %right : i1
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// Chunks of 16, i / 16 == j / 16: queries 20..23 keep the keys 16..31, tiles 2 and 3, and all of them.
// BOUNDS-LABEL: func.func @chunk
// BOUNDS-DAG:     %[[C16:.*]] = arith.constant 16 : index
// BOUNDS-DAG:     %[[C32:.*]] = arith.constant 32 : index
// BOUNDS:         scf.for %{{.*}} = %[[C16]] to %[[C32]]
// BOUNDS:           flash.online_attention {{.*}} {base = 0 : i32, scale
// BOUNDS-NOT:     flash.online_attention
// BOUNDS:         return
func.func @chunk(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 20 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %c = arith.constant 16 : index
          %ci = arith.divsi %i, %c : index
          %cj = arith.divsi %j, %c : index
          %keep = arith.cmpi eq, %ci, %cj : index
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// A prefix of 12 keys, or causal: queries 4..7 keep 0..11: tile 0 is full, tile 1 partial.
// BOUNDS-LABEL: func.func @prefix
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C8:.*]] = arith.constant 8 : index
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C0]], %{{.*}}, %{{.*}}) {base = 0 : i32, scale
// BOUNDS:         flash.online_attention {{.*}} at({{.*}}, %[[C8]], %{{.*}}, %{{.*}})
// BOUNDS-NEXT:      mask
// BOUNDS-NOT:     flash.online_attention
// BOUNDS:         return
func.func @prefix(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 4 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index) {
          %p = arith.constant 12 : index
          %in = arith.cmpi slt, %j, %p : index
          %c = arith.cmpi sle, %j, %i : index
          %keep = arith.ori %in, %c : i1
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}

// What a captured array says is not known: every tile up to the diagonal is partial.
// BOUNDS-LABEL: func.func @unknown
// BOUNDS-DAG:     %[[C0:.*]] = arith.constant 0 : index
// BOUNDS-DAG:     %[[C24:.*]] = arith.constant 24 : index
// BOUNDS:         scf.for %{{.*}} = %[[C0]] to %[[C24]]
// BOUNDS:           mask
// BOUNDS-NOT:     flash.online_attention
// BOUNDS:         return
func.func @unknown(%q: tensor<4x32xf32>, %k: memref<?x?x2x32xf32>, %x: memref<?xf32>, %m: tensor<4xf32>,
    %acc: tensor<4x32xf32>, %b: index, %h: index) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 20 : index
  %sq = arith.constant 32 : index
  %sk = arith.constant 64 : index
  %r:3 = scf.for %j0 = %c0 to %sk step %c8 iter_args(%m0 = %m, %l0 = %m, %acc0 = %acc)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>) {
    %left = arith.subi %sk, %j0 : index
    %columns = arith.minsi %left, %c8 : index
    %kt = tile.load %k[%b, %j0, %h, %c0] dims [1, 3] valid(%columns, %c32) : memref<?x?x2x32xf32> -> tensor<8x32xf32>
    %m1, %l1, %acc1 = flash.online_attention %q, %kt, %kt
      init(%m0, %l0, %acc0 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>)
      at(%b, %h, %i0, %j0, %sq, %sk) captures(%x : memref<?xf32>)
        mask (%b1: index, %h1: index, %i: index, %j: index, %sq1: index, %sk1: index, %array: memref<?xf32>) {
          %v = flash.read %array[%j] : memref<?xf32> -> f32
          %zero = arith.constant 0.0 : f32
          %here = arith.cmpf olt, %zero, %v : f32
          %c = arith.cmpi sle, %j, %i : index
          %keep = arith.andi %here, %c : i1
          flash.yield %keep : i1
        }
      {base = 0 : i32, boundary, scale = 0.5 : f32}
      : tensor<4x32xf32>, tensor<8x32xf32>, tensor<8x32xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<4xf32>, tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#2 : tensor<4x32xf32>
}
