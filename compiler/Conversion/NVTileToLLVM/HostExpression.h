//===- HostExpression.h - sizes as JSON that the host evaluates -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

namespace flashc {

/// Integers that follow from the sizes of a function's arguments: an integer, ["dim", argument, dimension] or [op, x, y]
/// with op out of add, sub, mul, div, rem, min, max.
class HostExpressions {
public:
  /// Whether `value` follows from sizes alone, in so many terms that a host reads it.
  bool contains(mlir::Value value) { return measure(value).terms != 0; }
  /// `value`, which is contained.
  llvm::json::Value get(mlir::Value value);
  /// What keeps `value` from being contained: a value that it is computed from, or itself where it has too many terms.
  mlir::Value findObstacle(mlir::Value value);

private:
  struct Size {
    int64_t terms = 0, depth = 0; ///< 0 where it is none
  };
  Size measure(mlir::Value value);

  llvm::DenseMap<mlir::Value, Size> sizes;
};

/// What a function of kernel arguments returns. Emits an error where it depends on anything but sizes.
mlir::FailureOr<llvm::json::Value> toHostExpression(mlir::func::FuncOp func);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_HOSTEXPRESSION_H
