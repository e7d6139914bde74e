//===- DiagnosticCollector.h - LLVM's errors as MLIR's ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_DIAGNOSTICCOLLECTOR_H
#define FLASHC_COMPILER_TARGET_DIAGNOSTICCOLLECTOR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"

namespace flashc {

/// Turns LLVM's diagnostics, whose default prints and exits, into MLIR errors.
struct DiagnosticCollector : llvm::DiagnosticHandler {
  explicit DiagnosticCollector(mlir::ModuleOp module) : module(module) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string message;
    llvm::raw_string_ostream stream(message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    module.emitError("LLVM: ") << message;
    return true;
  }

  mlir::ModuleOp module;
};

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_DIAGNOSTICCOLLECTOR_H
