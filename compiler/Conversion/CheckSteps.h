//===- CheckSteps.h - how long a kernel's expressions are -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_CHECKSTEPS_H
#define FLASHC_COMPILER_CONVERSION_CHECKSTEPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashc {

/// Emits an error where `func` computes a value over so many steps that a lowering would take too much stack or time.
/// Stages can be written by hand; no description comes near.
mlir::LogicalResult checkSteps(mlir::func::FuncOp func);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_CHECKSTEPS_H
