// In loops with products on tensor cores addresses come from the counter. Elsewhere they are induction variables.
// RUN: flashc compile --from llvm %s --emit ptx -o - | FileCheck %s
// RUN: sed '/mma/d' %s > %t.mlir
// RUN: flashc compile --from llvm %t.mlir --emit ptx -o - | FileCheck %s --check-prefix=FMA

module attributes {flash.target = #flash.target<"sm_80">, flash.kernel_info = "{}"} {
  // CHECK-LABEL: .entry copy(
  // CHECK:       [[LOOP:\$L__BB0_[0-9]+]]:
  // CHECK-NEXT:    shl.b64 [[OFFSET:.*]], [[COUNTER:.*]], 2;
  // CHECK-NEXT:    add.s64 [[FROM:.*]], {{.*}}, [[OFFSET]];
  // CHECK-NEXT:    ld.global.b32 {{.*}}, {{\[}}[[FROM]]];
  // CHECK-NEXT:    add.s64 [[TO:.*]], {{.*}}, [[OFFSET]];
  // CHECK-NEXT:    st.global.b32 {{\[}}[[TO]]],
  // FMA-LABEL:   .entry copy(
  // FMA:         [[LOOP:\$L__BB0_[0-9]+]]:
  // FMA-NEXT:      ld.global.b32 {{.*}}, {{\[}}[[FROM:.*]]];
  // FMA-NEXT:      st.global.b32 {{\[}}[[TO:.*]]],
  // FMA-DAG:       add.s64 [[FROM]], [[FROM]], 4;
  // FMA-DAG:       add.s64 [[TO]], [[TO]], 4;
  // FMA:           bra {{.*}}[[LOOP]];
  llvm.func @copy(%from: !llvm.ptr<1> {llvm.noalias}, %to: !llvm.ptr<1> {llvm.noalias}, %n: i64)
      attributes {nvtile.threads = 32 : i64} {
    %c0 = llvm.mlir.constant(0 : i64) : i64
    %c1 = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^loop(%c0 : i64)
  ^loop(%i: i64):
    %source = llvm.getelementptr %from[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %source : !llvm.ptr<1> -> f32
    %dest = llvm.getelementptr %to[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %value, %dest : f32, !llvm.ptr<1>
    %next = llvm.add %i, %c1 : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^loop(%next : i64), ^end
  ^end:
    llvm.return
  }

  llvm.func @product(%out: !llvm.ptr<1>, %a: i32, %b: i32, %c: f32) attributes {nvtile.threads = 32 : i64} {
    %d = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"(%a, %a, %a, %a, %b, %b, %c, %c, %c, %c) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)> // of the mma
    llvm.store %d0, %out : f32, !llvm.ptr<1> // of the mma
    llvm.return
  }
}
