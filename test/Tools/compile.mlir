// compile takes the flags of attention, or MLIR of any stage.
// RUN: flashc compile --head-dim 64 --dtype bf16 --causal top-left --target x86-64-v4 --emit flash | FileCheck %s --check-prefix=FLAGS
// FLAGS: module attributes {flash.target = #flash.target<"x86-64-v4">}
// FLAGS: func.func @attention(%{{.*}}: tensor<?x?x?x64xbf16> {flash.name = "q"}
// FLAGS: flash.attention
// FLAGS: mask (
// FLAGS: arith.cmpi sle

// Types stand for arrays where only code is made.
// RUN: flashc compile --head-dim 8 --value-dim 16 --name mine --sinks f32 --bias f16 --capture doc:i32:1 --mask "doc[j] > 0" --row-max m.npy --emit flash | FileCheck %s --check-prefix=TYPES
// TYPES: func.func @mine(
// TYPES-SAME: tensor<?x?x?x16xf32> {flash.name = "v"}, %{{.*}}: tensor<?xf32> {flash.name = "sinks"}, %{{.*}}: tensor<?x?x?x?xf16> {flash.name = "bias"}, %{{.*}}: tensor<?xi32> {flash.name = "doc"})
// TYPES-SAME: {flash.name = "row_max"}

// RUN: flashc compile %s --target x86-64-v3 --emit online | FileCheck %s --check-prefix=FILE
// RUN: flashc compile - --target x86-64-v3 --emit online < %s | FileCheck %s --check-prefix=FILE
// FILE: flash.target<"x86-64-v3">
// FILE: flash.online_attention

// RUN: flashc compile %s --target x86-64-v3 --emit asm -o %t.s
// RUN: FileCheck %s --check-prefix=ASM < %t.s
// ASM: flashc_kernel_run:

// RUN: not flashc compile %s --emit online --causal top-left 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: flashc: error: expected either a file or flags of attention, got '{{.*}}compile.mlir' and --causal
// RUN: not flashc compile %s --emit tiled --from tile --target x86-64-v3 2>&1 | FileCheck %s --check-prefix=BACK
// BACK: flashc: error: expected a stage from tile on, got tiled
// RUN: not flashc compile --head-dim 8 --emit tiled --from flash 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: flashc: error: --from: expected a file to start from, got none
// RUN: not flashc compile --emit tiled 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: flashc: error: expected inputs, got none; give --q, --k and --v, --inputs, or --random, or --head-dim alone
// RUN: not flashc compile --head-dim 577 --emit tiled 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: flashc: error: head-dim: expected 1 to 576, got 577
// RUN: not flashc compile %s --target sm_90a --emit vector 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: flashc: error: expected a stage on the path to sm_90a, got vector
// RUN: echo 'module {' > %t.bad.mlir
// RUN: rm -f %t.o
// RUN: not flashc compile %t.bad.mlir --target x86-64-v3 -o %t.o 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not ls %t.o
// SYNTAX: flashc: error: {{.*}}bad.mlir:1:9: expected
// SYNTAX-NEXT: repeat: flashc compile

func.func @attention(%q: tensor<?x?x?x16xf32> {flash.name = "q"}, %k: tensor<?x?x?x16xf32> {flash.name = "k"},
                     %v: tensor<?x?x?x16xf32> {flash.name = "v"}) -> (tensor<?x?x?x16xf32> {flash.name = "o"}) {
  %o = flash.attention %q, %k, %v {scale = 0.25 : f32}
    : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32> -> tensor<?x?x?x16xf32>
  return %o : tensor<?x?x?x16xf32>
}
