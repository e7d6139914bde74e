// Where a loop goes through memory, addresses are induction variables; in straight lines they have constants apart.
// RUN: flashc compile --from llvm %s --emit ptx -o - | FileCheck %s

module attributes {flash.target = #flash.target<"sm_80">, flash.kernel_info = "{}"} {
  // CHECK-LABEL:   .entry copy(
  // CHECK:         [[LOOP:\$L__BB0_[0-9]+]]:
  // CHECK-NEXT:      ld.global.b32 {{.*}}, {{\[}}[[FROM:.*]]];
  // CHECK-NEXT:      st.global.b32 {{\[}}[[TO:.*]]],
  // CHECK-DAG:       add.s64 [[FROM]], [[FROM]], 4;
  // CHECK-DAG:       add.s64 [[TO]], [[TO]], 4;
  // CHECK:           bra {{.*}}[[LOOP]];
  // CHECK:         st.global.b32 {{\[}}[[BASE:.*]]],
  // CHECK:         st.global.b32 {{\[}}[[BASE]]+4096],
  // CHECK:         st.global.b32 {{\[}}[[BASE]]+8192],
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
    %f = llvm.mlir.constant(1.0 : f32) : f32
    %a = llvm.getelementptr %to[%n] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %b = llvm.getelementptr %a[1024] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %c = llvm.getelementptr %a[2048] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %f, %a : f32, !llvm.ptr<1>
    llvm.store %f, %b : f32, !llvm.ptr<1>
    llvm.store %f, %c : f32, !llvm.ptr<1>
    llvm.return
  }
}
