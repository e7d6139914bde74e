//===- CheckKernel.h - what the lowering of kernels relies on ---*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Stages can be written by hand, so what the passes before would have ensured is checked where a stage is read.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_CHECKKERNEL_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_CHECKKERNEL_H

#include "compiler/Target/TargetInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashc {

/// Emits an error where `kernel`, or another function beside it, is none of one block on memory, or computes a value
/// over too many steps. After its arguments in memory come `numbers` indices.
mlir::LogicalResult checkFunction(mlir::func::FuncOp func, unsigned results, unsigned numbers = 0);
/// The same of a kernel, or of a rescue.
mlir::LogicalResult checkKernelFunction(mlir::func::FuncOp kernel);

/// Emits an error where a scheduled kernel holds what no thread can run: tiles whose layout does not divide among its
/// warps, operands of different layouts, memory of unknown origin, and ops without a meaning for one thread.
mlir::LogicalResult checkScheduled(mlir::func::FuncOp kernel, const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_CHECKKERNEL_H
