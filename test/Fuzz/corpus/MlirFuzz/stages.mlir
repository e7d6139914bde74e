// Each stage has a named pipeline in flash-opt, and --emit stops at it.
//
// RUN: flash-opt %s --to-online | FileCheck %s --check-prefix=ONLINE
// RUN: flash-opt %s --to-online --to-tiled | FileCheck %s --check-prefix=TILED
// RUN: flash-opt %s --to-online --to-tiled --to-tile | FileCheck %s --check-prefix=TILE
// RUN: flash-opt %s --to-online --to-tiled --to-tile --to-vector | FileCheck %s --check-prefix=VECTOR
// RUN: flash-opt %s --to-online --to-tiled --to-tile --to-vector --to-llvm | FileCheck %s --check-prefix=LLVM
// RUN: flashc compile %s --emit online -o - | FileCheck %s --check-prefix=ONLINE
// RUN: flashc compile %s --emit tiled -o - | FileCheck %s --check-prefix=TILED
// RUN: flashc compile %s --emit tile -o - | FileCheck %s --check-prefix=TILE
// RUN: flashc compile %s --emit vector -o - | FileCheck %s --check-prefix=VECTOR
// RUN: flashc compile %s --emit llvm -o - | FileCheck %s --check-prefix=LLVM
// RUN: flashc compile %s --emit llvm-ir -o - | FileCheck %s --check-prefix=IR
// RUN: flashc compile %s --emit asm -o - | FileCheck %s --check-prefix=ASM

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  // ONLINE: flash.online_attention
  // ONLINE: flash.finalize

  // TILED-NOT: tensor<?x?x
  // TILED:     scf.forall
  // TILED:     flash.online_attention {{.*}} at(

  // TILE-NOT: flash.online_attention
  // TILE:     tile.dot

  // VECTOR-NOT: tile.
  // VECTOR:     vector.load
  // VECTOR-NOT: tile.

  // LLVM-NOT: func.func
  // LLVM:     llvm.func @flashc_kernel_run

  // IR: define {{.*}}void @flashc_kernel_run(ptr

  // ASM: flashc_kernel_run:
  func.func @attention(%q: tensor<?x?x?x32xf32> {flash.name = "q"}, %k: tensor<?x?x?x32xf32> {flash.name = "k"},
                       %v: tensor<?x?x?x32xf32> {flash.name = "v"}) -> (tensor<?x?x?x32xf32> {flash.name = "o"}) {
    %o = flash.attention %q, %k, %v {scale = 0.5 : f32}
      : tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32> -> tensor<?x?x?x32xf32>
    return %o : tensor<?x?x?x32xf32>
  }
}
