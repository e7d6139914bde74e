//===- Division.cpp - quotients and remainders of a thread ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A division of 64 bits is a call in PTX, for which ptxas sets registers aside in all of the kernel. What grids divide
// has hardly ever more than 32 bits, and a divisor that follows from the shapes alone has a reciprocal from the host.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "dialects/Flash/Transforms/KernelFrame.h"

using namespace mlir;
using namespace flashc;

/// `x` / `y` and `x` mod `y`, bit after bit; i64 of less than 2^63.
static std::pair<Value, Value> divideLong(ThreadBuilder &t, Value x, Value y) {
  OpBuilder &b = t.b;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(value));
  };
  Value zero = number(0), one = number(1);
  auto loop = scf::ForOp::create(b, t.loc, zero, number(63), one, ValueRange{zero, x, zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  t.keepRolled();
  // The next bit of what is left of x moves into the remainder.
  Value quotient = loop.getRegionIterArg(0), left = loop.getRegionIterArg(1);
  Value remainder = loop.getRegionIterArg(2);
  auto shiftLeft = [&](Value value, Value by) -> Value {
    return arith::ShLIOp::create(b, t.loc, value, by);
  };
  Value bit =
      arith::AndIOp::create(b, t.loc, arith::ShRUIOp::create(b, t.loc, left, number(62)), one);
  Value grown = arith::OrIOp::create(b, t.loc, shiftLeft(remainder, one), bit);
  Value fits = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::uge, grown, y);
  Value reduced = t.select(fits, arith::SubIOp::create(b, t.loc, grown, y), grown);
  Value next = arith::OrIOp::create(b, t.loc, shiftLeft(quotient, one),
                                    arith::ExtUIOp::create(b, t.loc, t.i64, fits));
  scf::YieldOp::create(b, t.loc, ValueRange{next, shiftLeft(left, one), reduced});
  return {loop.getResult(0), loop.getResult(2)};
}

Value Distributor::divideByReciprocal(Value x, Value reciprocal) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(value));
  };
  auto shiftRight = [&](Value value, int64_t by) -> Value {
    return arith::ShRUIOp::create(b, t.loc, value, number(by));
  };
  auto multiply = [&](Value a, Value c) -> Value { return arith::MulIOp::create(b, t.loc, a, c); };
  // The product has up to 94 bits: by the halves of the reciprocal it takes two multiplications of 32 bits.
  Value wide = arith::ExtUIOp::create(b, t.loc, t.i64, x);
  Value low = arith::AndIOp::create(b, t.loc, reciprocal, number(0xffffffff));
  Value carried = shiftRight(multiply(wide, low), 32);
  Value high = multiply(wide, shiftRight(reciprocal, 32));
  Value quotient =
      shiftRight(arith::AddIOp::create(b, t.loc, high, carried), LaunchFacts::kReciprocalBits - 32);
  return arith::TruncIOp::create(b, t.loc, t.i32, quotient);
}

bool Distributor::divide(Operation *op) {
  if (!isDivision(op))
    return false;
  bool isQuotient = isa<arith::DivUIOp>(op);
  Value x = scalar(op->getOperand(0)), y = scalar(op->getOperand(1));
  auto divideShort = [&] {
    Value a = t.toI32(x), c = t.toI32(y), result;
    if (std::optional<unsigned> number = facts.numberOfReciprocal(op->getOperand(1));
        number && op->hasAttr(flash::kSmallAttrName)) {
      result = divideByReciprocal(a, factAt(*number));
      if (!isQuotient)
        result = arith::SubIOp::create(b, t.loc, a, arith::MulIOp::create(b, t.loc, result, c));
    } else {
      result = isQuotient ? arith::DivUIOp::create(b, t.loc, a, c).getResult()
                          : arith::RemUIOp::create(b, t.loc, a, c).getResult();
    }
    return arith::IndexCastUIOp::create(b, t.loc, t.index, result).getResult();
  };
  if (op->hasAttr(flash::kSmallAttrName)) {
    scalars.map(op->getResult(0), divideShort());
    return true;
  }
  auto wide = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, t.loc, t.i64, value);
  };
  Value bits = arith::OrIOp::create(b, t.loc, x, y);
  Value isShort = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ult, bits,
                                        t.indexConstant(int64_t(1) << 32));
  auto branch = scf::IfOp::create(b, t.loc, TypeRange(t.index), isShort, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, t.loc, divideShort());
    b.setInsertionPointToStart(branch.elseBlock());
    auto [quotient, remainder] = divideLong(t, wide(x), wide(y));
    scf::YieldOp::create(b, t.loc, t.toIndex(isQuotient ? quotient : remainder));
  }
  scalars.map(op->getResult(0), branch.getResult(0));
  return true;
}
