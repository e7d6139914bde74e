//===- Jit.h - MLIR text to callable code, for unit tests -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_TARGET_JIT_H
#define FLASHC_TEST_UNIT_TARGET_JIT_H

#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Target/CPU/EmitObject.h"
#include "runtime/CPU/ObjectLoader.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <span>
#include <string>

namespace flashc::test {

/// Lowers MLIR text and emits it; `error` collects the diagnostics of a failure.
class Compiler {
public:
  Compiler() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                        mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                        mlir::vector::VectorDialect>();
  }

  /// The object, assembly or IR of `source`, lowered to the LLVM dialect first unless `lower` is
  /// false; empty on failure.
  std::string emit(const std::string &source, const TargetInfo &target, EmitKind kind,
                   bool lower = true) {
    error.clear();
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) { error += diagnostic.str() + "\n"; });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module)
      return {};
    mlir::PassManager passes(&context);
    passes.addNestedPass<mlir::func::FuncOp>(
        createExpandMathPass({.nativeBF16 = target.hasBF16Dot}));
    passes.addPass(mlir::createConvertVectorToLLVMPass());
    passes.addPass(mlir::createSCFToControlFlowPass());
    passes.addPass(mlir::createConvertMathToLLVMPass());
    passes.addPass(mlir::createArithToLLVMConversionPass());
    passes.addPass(mlir::createConvertControlFlowToLLVMPass());
    passes.addPass(mlir::createConvertFuncToLLVMPass());
    passes.addPass(mlir::createReconcileUnrealizedCastsPass());
    if (lower && mlir::failed(passes.run(*module)))
      return {};
    auto result = emitForCPU(*module, target, kind);
    return mlir::succeeded(result) ? *result : std::string();
  }

  std::shared_ptr<const LoadedObject> load(const std::string &source, const TargetInfo &target) {
    std::string object = emit(source, target, EmitKind::Object);
    if (object.empty())
      return nullptr;
    return LoadedObject::load(std::as_bytes(std::span(object)));
  }

  std::string error;

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

/// A function `flashc_apply(llvm.ptr in, llvm.ptr out)` that loads one value of `inType`, computes
/// `body` from %x to %y of `outType`, and stores it.
inline std::string unaryFunction(const std::string &inType, const std::string &outType,
                                 const std::string &body) {
  return "func.func @flashc_apply(%in: !llvm.ptr, %out: !llvm.ptr) {\n"
         "  %x = llvm.load %in {alignment = 1 : i64} : !llvm.ptr -> " +
         inType + "\n" + body + "\n" + "  llvm.store %y, %out {alignment = 1 : i64} : " + outType +
         ", !llvm.ptr\n" + "  return\n}\n";
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_TARGET_JIT_H
