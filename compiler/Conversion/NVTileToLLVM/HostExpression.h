//===- HostExpression.h - sizes as JSON that the host evaluates -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace flashc {

/// What a function of kernel arguments returns, as an integer, ["dim", argument, dimension] or [op, x, y] with
/// op out of add, sub, mul, div, rem, min, max. Emits an error where it depends on anything but sizes.
mlir::FailureOr<llvm::json::Value> toHostExpression(mlir::func::FuncOp func);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H
