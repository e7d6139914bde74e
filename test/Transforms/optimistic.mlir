// RUN: flash-opt %s --to-online --to-tiled | FileCheck %s
// RUN: flash-opt %s --to-online --to-tiled --to-tile | FileCheck %s --check-prefix=TILE
//
// An optimistic reference: exponents are taken relative to the maxima of some keys that the loops begin with. Where that
// was wrong, a function of its own computes the same point with the exact strategy.

module attributes {flash.target = #flash.target<"sm_80">} {
  // CHECK-LABEL: func.func @attention_phase0(
  // CHECK:         scf.forall (%[[POINT:.*]]) in
  // The look: scores and their maxima alone, of the first 16 keys of a tile.
  // CHECK:           %[[LOOK:.*]] = scf.for
  // CHECK:             tile.load {{.*}} -> tensor<16x64xbf16>
  // CHECK:             flash.scores
  // CHECK:             tile.reduce maxnum
  // CHECK:           {tile.peek}
  // A row that has seen no key yet begins with 0.
  // CHECK:           %[[REFERENCE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LOOK]]
  // Full tiles and partial ones with the reference fixed.
  // CHECK:           scf.for {{.*}} iter_args(%{{.*}} = %[[REFERENCE]],
  // CHECK:             flash.online_attention {{.*}}fixed
  // CHECK:           scf.for
  // CHECK:             flash.online_attention
  // CHECK:               {{.*}}boundary, fixed
  // All rows of the tile go one way.
  // CHECK:           %[[OK:.*]] = tile.all
  // CHECK:           scf.if %[[OK]]
  // CHECK:             flash.finalize %[[REFERENCE]], %
  // CHECK:             tile.store
  // CHECK:           } else {
  // CHECK-NEXT:        call @attention_phase0_exact(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[POINT]]) {flash.rescue}
  // CHECK-NEXT:      }
  // CHECK-NEXT:    }

  // One loop over all tiles, nothing fixed.
  // CHECK-LABEL: func.func @attention_phase0_exact(
  // CHECK-SAME:    %[[NUMBER:[^:]*]]: index) attributes {flash.rescue = 0 : i64, flash.schedule = #flash.schedule<
  // CHECK-NOT:     reference = optimistic
  // CHECK-NOT:     scf.forall
  // CHECK:         scf.for
  // CHECK-NOT:     fixed
  // CHECK:         flash.finalize
  // CHECK:         tile.store
  // CHECK-NOT:     scf.for
  // CHECK:         return

  // The fixed update takes no maximum and rescales nothing.
  // TILE-LABEL: func.func @attention_phase0(
  // TILE:         {tile.peek}
  // TILE:         scf.for
  // TILE-NOT:       tile.reduce maxnum
  // TILE:           tile.dot {{.*}} {transpose_b}
  // TILE-NOT:       tile.reduce maxnum
  // TILE:           math.exp2
  // TILE-NOT:       math.exp2
  // TILE:           tile.dot {{.*}} init(
  // TILE:         tile.all
  // TILE-LABEL: func.func @attention_phase0_exact(
  // TILE:         tile.reduce maxnum
  func.func @attention(%q: tensor<?x?x?x64xbf16> {flash.name = "q"}, %k: tensor<?x?x?x64xbf16> {flash.name = "k"},
                       %v: tensor<?x?x?x64xbf16> {flash.name = "v"}) -> (tensor<?x?x?x64xbf16> {flash.name = "o"}) {
    %o = flash.attention %q, %k, %v
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
        %keep = arith.cmpi sle, %j, %i : index
        flash.yield %keep : i1
      }
      {scale = 0.125 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2, reference = optimistic>}
      : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    return %o : tensor<?x?x?x64xbf16>
  }

  // Scores that depend on positions are largest near the diagonal, as a rule: that is where the look goes, by itself.
  // CHECK-LABEL: func.func @positional_phase0
  // CHECK:         %[[DIAGONAL:.*]] = arith.subi %{{.*}}, %{{.*}} : index
  // CHECK:         %[[LOOK:.*]] = scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c32
  // CHECK:           tile.load {{.*}} -> tensor<16x64xbf16>
  // CHECK:           flash.scores
  // CHECK-NOT:     tile.peek
  // CHECK:         scf.for
  // CHECK:           flash.online_attention {{.*}}
  // CHECK:         tile.all
  // CHECK:         call @positional_phase0_exact(
  func.func @positional(%q: tensor<?x?x?x64xbf16> {flash.name = "q"}, %k: tensor<?x?x?x64xbf16> {flash.name = "k"},
                        %v: tensor<?x?x?x64xbf16> {flash.name = "v"}) -> (tensor<?x?x?x64xbf16> {flash.name = "o"}) {
    %o = flash.attention %q, %k, %v
      score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
        %distance = arith.subi %i, %j : index
        %integer = arith.index_cast %distance : index to i64
        %bias = arith.sitofp %integer : i64 to f32
        %sum = arith.subf %s, %bias : f32
        flash.yield %sum : f32
      }
      {scale = 0.125 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2, reference = optimistic>}
      : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    return %o : tensor<?x?x?x64xbf16>
  }

  // The row maximum must be exact, so that there is nothing to be optimistic about.
  // CHECK-LABEL: func.func @with_row_max_phase0
  // CHECK-NOT:     tile.peek
  // CHECK-NOT:     fixed
  // CHECK-NOT:     tile.all
  func.func @with_row_max(%q: tensor<?x?x?x64xbf16> {flash.name = "q"}, %k: tensor<?x?x?x64xbf16> {flash.name = "k"})
      -> (tensor<?x?x?x64xbf16> {flash.name = "o"}, tensor<?x?x?xf32> {flash.name = "row_max"}) {
    %o, %max = flash.attention %q, %k, %k
      {row_max, scale = 0.125 : f32,
       schedule = #flash.schedule<tile = [64, 32], micro = [16, 16], strategy = online, stages = 2, reference = optimistic>}
      : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
    return %o, %max : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  }
}
