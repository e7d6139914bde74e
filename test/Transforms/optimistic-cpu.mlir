// RUN: flash-opt %s --to-online --to-tiled | FileCheck %s
// RUN: flash-opt %s --to-online --to-tiled --to-tile --to-vector | FileCheck %s --check-prefix=VECTOR
//
// An optimistic reference on CPUs: full tiles alone are visited with the reference fixed. The exact loop over the
// partial ones takes all tiles where that went wrong.

module attributes {flash.target = #flash.target<"x86-64-amx">} {
  // CHECK-LABEL: func.func @attention_phase0
  // CHECK:         scf.for
  // CHECK:           flash.scores
  // CHECK:         {tile.peek}
  // CHECK:         %[[FULL:.*]]:4 = scf.for %{{.*}} = %[[BEGIN:.*]] to %[[END:.*]] step
  // CHECK:           flash.online_attention {{.*}}fixed
  // CHECK:         %[[OK:.*]] = tile.all
  // CHECK:         %[[M:.*]] = arith.select %[[OK]]
  // CHECK:         %[[L:.*]] = arith.select %[[OK]], %[[FULL]]#1
  // CHECK:         %[[ACC:.*]] = arith.select %[[OK]], %[[FULL]]#2
  // CHECK:         %[[MAX:.*]] = arith.select %[[OK]], %[[FULL]]#3
  // CHECK:         %[[DONE:.*]] = arith.subi %[[END]], %[[BEGIN]]
  // CHECK:         %[[SKIPPED:.*]] = arith.select %[[OK]], %[[DONE]], %c0
  // CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[M]], %{{.*}} = %[[L]], %{{.*}} = %[[ACC]], %{{.*}} = %[[MAX]])
  // CHECK:           arith.addi %{{.*}}, %[[SKIPPED]]
  // CHECK:           flash.online_attention
  // CHECK-NOT:       fixed
  // CHECK:             {{.*}}boundary
  // CHECK-NOT:     scf.for

  // The product with V goes onto O in memory. Starting afresh clears it, and going on copies nothing.
  // VECTOR-LABEL: func.func {{.*}}@attention_phase0_point
  // VECTOR:         llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
  // VECTOR-NOT:     llvm.call_intrinsic "llvm.x86.tilezero.internal"
  // VECTOR:         %[[O:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
  // VECTOR:         llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"({{.*}}, %[[O]],
  // VECTOR:         %[[OK:.*]] = vector.reduction <and>
  // VECTOR:         %[[FRESH:.*]] = arith.xori %[[OK]], %true
  // VECTOR:         scf.if %[[FRESH]] {
  func.func @attention(%q: tensor<?x?x?x64xbf16> {flash.name = "q"}, %k: tensor<?x?x?x64xbf16> {flash.name = "k"},
                       %v: tensor<?x?x?x64xbf16> {flash.name = "v"})
      -> (tensor<?x?x?x64xbf16> {flash.name = "o"}, tensor<?x?x?xf32> {flash.name = "row_max"}) {
    %o, %max = flash.attention %q, %k, %v
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
        %keep = arith.cmpi sle, %j, %i : index
        flash.yield %keep : i1
      }
      {row_max, scale = 0.125 : f32,
       schedule = #flash.schedule<tile = [64, 64], micro = [32, 32], strategy = online, reference = optimistic>}
      : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
    return %o, %max : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  }
}
