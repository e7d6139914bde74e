//===- LaunchFacts.h - what the host computes for a kernel ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A division takes a thread a hundred cycles, and a grid's point is found by a chain of them before the first load can
// begin. Where sequences are divided into parts, whose blocks do not work for long, the host computes what follows from
// the shapes alone once per launch, and passes it on as parameters: values that take divisions, and reciprocals of what
// the number of a block is divided by.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_LAUNCHFACTS_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_LAUNCHFACTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

namespace flashc {

/// Whether `op` is a quotient or remainder of indices whose divisor is no constant: constants are LLVM's to handle.
bool isDivision(mlir::Operation *op);

/// The parameters of a kernel that come after its arguments, i64 each.
class LaunchFacts {
public:
  /// A reciprocal of d is 2^62 / d, rounded down, plus 1: n / d is the product with n without its 62 lowest bits, exactly
  /// for n < 2^31, and for n < 2^32 where d <= 2^30 (Granlund and Montgomery, Division by Invariant Integers using
  /// Multiplication, theorem 4.2).
  static constexpr int kReciprocalBits = 62;

  /// None; of functions that are not launched.
  LaunchFacts() = default;
  /// Those of a kernel before it is lowered; none where they do not fit beside its arguments.
  static LaunchFacts find(mlir::func::FuncOp kernel);

  size_t size() const { return expressions.size(); }
  /// The number of the fact that is `value`, or the reciprocal of `divisor`; none where there is no such fact.
  std::optional<unsigned> numberOf(mlir::Value value) const { return lookup(values, value); }
  std::optional<unsigned> numberOfReciprocal(mlir::Value divisor) const {
    return lookup(reciprocals, divisor);
  }
  /// Whether facts alone are computed from `value`, so that no thread needs it.
  bool serves(mlir::Value value) const { return divided.contains(value) && !numberOf(value); }
  /// What the host evaluates, as HostExpression.h says.
  llvm::json::Array takeExpressions() { return std::move(expressions); }

private:
  using Numbers = llvm::DenseMap<mlir::Value, unsigned>;

  static std::optional<unsigned> lookup(const Numbers &numbers, mlir::Value value) {
    auto it = numbers.find(value);
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }
  void add(Numbers &numbers, mlir::Value value, llvm::json::Value expression);

  Numbers values, reciprocals;
  llvm::DenseSet<mlir::Value> divided; ///< known to the host, by divisions
  llvm::json::Array expressions;
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_LAUNCHFACTS_H
