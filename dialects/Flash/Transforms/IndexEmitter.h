//===- IndexEmitter.h - scalar index arithmetic that folds ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A thin layer over OpBuilder for the key-range solver: every operation folds where its operands
// are constants, and equal constants are one value, so that values can be compared.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEXEMITTER_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEXEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include <map>
#include <optional>

namespace flashc::flash {

class IndexEmitter {
public:
  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpIPredicate;

  IndexEmitter(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// The value if it is a constant (an i1 gives 0 or 1).
  static std::optional<int64_t> constantOf(Value value) {
    llvm::APInt constant;
    if (!matchPattern(value, mlir::m_ConstantInt(&constant)))
      return std::nullopt;
    return value.getType().isInteger(1) ? constant.getZExtValue() : constant.getSExtValue();
  }

  /// Constants become the one value that stands for them.
  Value unique(Value value) {
    std::optional<int64_t> known = constantOf(value);
    if (!known)
      return value;
    bool isBool = value.getType().isInteger(1);
    Value &entry = constants[{*known, isBool}];
    if (!entry)
      entry = value;
    return entry;
  }

  Value constant(int64_t value) {
    Value &entry = constants[{value, false}];
    if (!entry)
      entry = mlir::arith::ConstantIndexOp::create(builder, loc, value);
    return entry;
  }
  Value boolean(bool value) {
    Value &entry = constants[{value, true}];
    if (!entry)
      entry = mlir::arith::ConstantIntOp::create(builder, loc, value, 1);
    return entry;
  }

  template <typename Op> Value emit(Value a, Value b) {
    return unique(builder.createOrFold<Op>(loc, a, b));
  }
  Value add(Value a, Value b) {
    if (Value x = negated(b))
      return sub(a, x);
    if (Value x = negated(a))
      return sub(b, x);
    return emit<mlir::arith::AddIOp>(a, b);
  }
  Value sub(Value a, Value b) { return emit<mlir::arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return emit<mlir::arith::MulIOp>(a, b); }
  Value min(Value a, Value b) { return emit<mlir::arith::MinSIOp>(a, b); }
  Value max(Value a, Value b) { return emit<mlir::arith::MaxSIOp>(a, b); }
  Value add(Value a, int64_t b) { return add(a, constant(b)); }
  Value mul(Value a, int64_t b) { return b == -1 ? negate(a) : mul(a, constant(b)); }
  Value negate(Value a) {
    Value x = negated(a);
    return x ? x : sub(constant(0), a);
  }

  /// a clamped to [low, high].
  Value clamp(Value a, Value low, Value high) { return min(max(a, low), high); }

  Value compare(Predicate predicate, Value a, Value b) {
    return unique(builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a, b));
  }
  Value select(Value condition, Value a, Value b) {
    return a == b ? a : unique(builder.createOrFold<mlir::arith::SelectOp>(loc, condition, a, b));
  }
  Value both(Value a, Value b) { return emit<mlir::arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return emit<mlir::arith::OrIOp>(a, b); }
  Value invert(Value a) { return emit<mlir::arith::XOrIOp>(a, boolean(true)); }

  /// a / d rounded toward zero, down and up; d > 0. Where d is no power of two, and for divideUp, a
  /// is at least d away from overflow.
  Value divide(Value a, int64_t d) {
    return d == 1 ? a : emit<mlir::arith::DivSIOp>(a, constant(d));
  }
  Value divideDown(Value a, int64_t d) {
    if (d == 1)
      return a;
    if (llvm::isPowerOf2_64(d))
      return emit<mlir::arith::ShRSIOp>(a, constant(llvm::Log2_64(d)));
    Value isNegative = compare(Predicate::slt, a, constant(0));
    return divide(select(isNegative, add(a, 1 - d), a), d);
  }
  Value divideUp(Value a, int64_t d) {
    if (d == 1)
      return a;
    Value isPositive = compare(Predicate::sgt, a, constant(0));
    return divide(select(isPositive, add(a, d - 1), a), d);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  /// x where `value` is 0 - x.
  static Value negated(Value value) {
    auto difference = value.getDefiningOp<mlir::arith::SubIOp>();
    return difference && constantOf(difference.getLhs()) == 0 ? difference.getRhs() : Value();
  }

  std::map<std::pair<int64_t, bool>, Value> constants;
};

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEXEMITTER_H
