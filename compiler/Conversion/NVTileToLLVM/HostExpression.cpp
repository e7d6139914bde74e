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

/// Terms of an expression, which shares none of what the IR computes once.
static constexpr int64_t kMostTerms = 4096;

static FailureOr<llvm::json::Value> convert(Value value, int64_t &terms) {
  if (++terms > kMostTerms)
    return emitError(value.getLoc())
           << "expected a size of at most " << kMostTerms << " terms for the host";
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return llvm::json::Value(constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    int64_t rank = cast<MemRefType>(dim.getSource().getType()).getRank();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (argument && index && *index >= 0 && *index < rank)
      return llvm::json::Value(
          llvm::json::Array{"dim", static_cast<int64_t>(argument.getArgNumber()), *index});
  }
  StringRef name = op ? llvm::TypeSwitch<Operation *, StringRef>(op)
                            .Case([](arith::AddIOp) { return "add"; })
                            .Case([](arith::SubIOp) { return "sub"; })
                            .Case([](arith::MulIOp) { return "mul"; })
                            .Case<arith::DivUIOp, arith::DivSIOp>([](auto) { return "div"; })
                            .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return "rem"; })
                            .Case([](arith::MaxSIOp) { return "max"; })
                            .Case([](arith::MinSIOp) { return "min"; })
                            .Default([](Operation *) { return StringRef(); })
                      : StringRef();
  if (name.empty()) {
    if (op)
      return op->emitOpError() << "expected a size that the host can compute from shapes";
    return emitError(value.getLoc()) << "expected a size that the host can compute from shapes";
  }
  FailureOr<llvm::json::Value> x = convert(op->getOperand(0), terms);
  if (failed(x))
    return failure();
  FailureOr<llvm::json::Value> y = convert(op->getOperand(1), terms);
  if (failed(y))
    return failure();
  return llvm::json::Value(llvm::json::Array{name, std::move(*x), std::move(*y)});
}

FailureOr<llvm::json::Value> flashc::toHostExpression(func::FuncOp func) {
  int64_t terms = 0;
  return convert(cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperand(0), terms);
}
