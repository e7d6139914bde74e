// The stages of GPUs: the pipelines of flash-opt, and --emit.
//
// RUN: flash-opt %s --to-online --to-tiled --to-tile --to-scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: flash-opt %s --to-online --to-tiled --to-tile --to-scheduled --to-gpu-llvm | FileCheck %s --check-prefix=LLVM
// RUN: flashc compile %s --emit scheduled -o - | FileCheck %s --check-prefix=SCHEDULED
// RUN: flashc compile %s --emit llvm -o - | FileCheck %s --check-prefix=LLVM
// RUN: flashc compile %s --emit llvm-ir -o - | FileCheck %s --check-prefix=IR
// RUN: flashc compile %s --emit ptx -o - | FileCheck %s --check-prefix=PTX
// RUN: not flashc compile %s --emit asm -o - 2>&1 | FileCheck %s --check-prefix=PATH
// RUN: not flashc compile %s --emit vector -o - 2>&1 | FileCheck %s --check-prefix=PATH

module attributes {flash.target = #flash.target<"sm_90a">} {
  // SCHEDULED-NOT: scf.forall
  // SCHEDULED:     func.func @attention_phase0_grid
  // SCHEDULED:     func.func @attention_phase0(
  // SCHEDULED-SAME: nvtile.threads
  // SCHEDULED:     nvtile.dot
  // SCHEDULED-NOT: scf.forall

  // LLVM-NOT: func.func
  // LLVM:     llvm.func @attention_phase0(
  // LLVM-NOT: nvtile.copy
  // LLVM:     llvm.nvvm.mma

  // IR: define ptx_kernel void @attention_phase0(

  // PTX: // flashc_kernel_info {
  // PTX: .target sm_90a
  // PTX: .visible .entry attention_phase0(

  // PATH: flashc: error: expected a stage on the path to sm_90a, got {{asm|vector}}
  func.func @attention(%q: tensor<?x?x?x32xf16> {flash.name = "q"}, %k: tensor<?x?x?x32xf16> {flash.name = "k"},
                       %v: tensor<?x?x?x32xf16> {flash.name = "v"}) -> (tensor<?x?x?x32xf16> {flash.name = "o"}) {
    %o = flash.attention %q, %k, %v {scale = 0.5 : f32}
      : tensor<?x?x?x32xf16>, tensor<?x?x?x32xf16>, tensor<?x?x?x32xf16> -> tensor<?x?x?x32xf16>
    return %o : tensor<?x?x?x32xf16>
  }
}
