//===- Pipelines.h - named pipelines, one per stage -------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_PIPELINES_PIPELINES_H
#define FLASHC_COMPILER_PIPELINES_PIPELINES_H

#include "compiler/Pipelines/Stages.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace flashc {

/// Registers every dialect that the stages use, with their translations to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers flashc's passes, the upstream ones that the pipelines use, and the pipelines `to-STAGE`.
void registerPasses();

/// Appends the passes that lead from the stage before `stage` on the path of CPUs, or of GPUs, to it. `stage` is MLIR
/// and not `flash`.
void buildStage(mlir::OpPassManager &manager, Stage stage, bool isGPU);

} // namespace flashc

#endif // FLASHC_COMPILER_PIPELINES_PIPELINES_H
