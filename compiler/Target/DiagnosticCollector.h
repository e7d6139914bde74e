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

#include <functional>

namespace flashc {

/// Takes LLVM's errors, whose default prints and exits: as MLIR errors of a module, or as text, with "; " between them,
/// for a thread that may not tell of them.
class DiagnosticCollector : public llvm::DiagnosticHandler {
public:
  explicit DiagnosticCollector(mlir::ModuleOp module)
      : report([module](const std::string &message) mutable {
          module.emitError("LLVM: ") << message;
        }) {}
  explicit DiagnosticCollector(std::string &errors)
      : report([&errors](const std::string &message) {
          errors += (errors.empty() ? "" : "; ") + message;
        }) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string message;
    llvm::raw_string_ostream stream(message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    report(message);
    return true;
  }

private:
  std::function<void(const std::string &)> report;
};

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_DIAGNOSTICCOLLECTOR_H
