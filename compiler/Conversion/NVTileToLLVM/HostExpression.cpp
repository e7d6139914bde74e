//===- HostExpression.cpp - sizes as JSON that the host evaluates ---------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/HostExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc;

/// Terms of an expression, which shares none of what the IR computes once, and how deep they lie: what the runtime
/// reads (runtime/CUDA/HostExpr.h), with room for the two operations of a reciprocal.
static constexpr int64_t kMostTerms = 4000, kMostDepth = 60;

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) ? std::optional(constant.getSExtValue())
                                                       : std::nullopt;
}

/// Whether `value` is a size of an argument.
static bool isArgumentSize(Value value) {
  auto dim = value.getDefiningOp<memref::DimOp>();
  if (!dim || !isa<BlockArgument>(dim.getSource()))
    return false;
  int64_t rank = cast<MemRefType>(dim.getSource().getType()).getRank();
  std::optional<int64_t> index = dim.getConstantIndex();
  return index && *index >= 0 && *index < rank;
}

/// The host's name of the operation on two indices that gives `value`; empty where it is no such result.
static StringRef nameOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isIndex())
    return {};
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::SubIOp) { return "sub"; })
      .Case([](arith::MulIOp) { return "mul"; })
      .Case<arith::DivUIOp, arith::DivSIOp>([](auto) { return "div"; })
      .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return "rem"; })
      .Case([](arith::MaxSIOp) { return "max"; })
      .Case([](arith::MinSIOp) { return "min"; })
      .Default([](Operation *) { return StringRef(); });
}

HostExpressions::Size HostExpressions::measure(Value value) {
  if (auto it = sizes.find(value); it != sizes.end())
    return it->second;
  Size size;
  Operation *op = value.getDefiningOp();
  if (constantOf(value) || isArgumentSize(value)) {
    size = {1, 1};
  } else if (!nameOf(value).empty()) {
    Size x = measure(op->getOperand(0)), y = measure(op->getOperand(1));
    Size whole = {1 + x.terms + y.terms, 1 + std::max(x.depth, y.depth)};
    if (x.terms && y.terms && whole.terms <= kMostTerms && whole.depth <= kMostDepth)
      size = whole;
  }
  sizes[value] = size;
  return size;
}

llvm::json::Value HostExpressions::get(Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return *constant;
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto argument = cast<BlockArgument>(dim.getSource());
    return llvm::json::Array{"dim", static_cast<int64_t>(argument.getArgNumber()),
                             *dim.getConstantIndex()};
  }
  return llvm::json::Array{nameOf(value), get(op->getOperand(0)), get(op->getOperand(1))};
}

Value HostExpressions::findObstacle(Value value) {
  if (!nameOf(value).empty())
    for (Value operand : value.getDefiningOp()->getOperands())
      if (!contains(operand))
        return findObstacle(operand);
  return value;
}

FailureOr<llvm::json::Value> flashc::toHostExpression(func::FuncOp func) {
  Value result = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperand(0);
  HostExpressions expressions;
  if (expressions.contains(result))
    return expressions.get(result);
  Value obstacle = expressions.findObstacle(result);
  Operation *op = obstacle.getDefiningOp();
  if (!nameOf(obstacle).empty())
    return op->emitOpError() << "expected a size of at most " << kMostTerms << " terms, "
                             << kMostDepth << " deep, for the host";
  constexpr StringRef message = "expected a size that the host can compute from shapes";
  if (op)
    return op->emitOpError() << message;
  return emitError(obstacle.getLoc()) << message;
}
