//===- TileMath.cpp - the softmax state's arithmetic on tiles -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/TileMath.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace flashc::flash;

RankedTensorType flashc::flash::tileOf(ArrayRef<int64_t> shape, Type elementType) {
  return RankedTensorType::get(shape, elementType);
}

Value TileMath::constant(Type type, double value) {
  TypedAttr attribute = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, attribute);
  return arith::ConstantOp::create(b, loc, attribute);
}

Value TileMath::negativeInfinity(Type type) {
  return constant(type, -std::numeric_limits<double>::infinity());
}

Value TileMath::splat(Value value, ArrayRef<int64_t> shape) {
  return tensor::SplatOp::create(b, loc, tileOf(shape, value.getType()), value);
}

Value TileMath::broadcast(Value row, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  return tile::BroadcastOp::create(
      b, loc, tileOf(type.getShape(), getElementTypeOrSelf(row.getType())), row);
}

Value TileMath::exp(Value x) {
  if (base == 0)
    return math::ExpOp::create(b, loc, x, arith::FastMathFlags::afn);
  Value log2e = constant(x.getType(), 1.0 / llvm::numbers::ln2);
  return math::Exp2Op::create(b, loc, arith::MulFOp::create(b, loc, x, log2e),
                              arith::FastMathFlags::afn);
}

Value TileMath::fusedExp(Value x, double scale, Value m) {
  constexpr double kLog2e = 1.0 / llvm::numbers::ln2;
  Value reference = arith::MulFOp::create(b, loc, m, constant(m.getType(), -kLog2e));
  Value exponent = math::FmaOp::create(b, loc, x, constant(x.getType(), scale * kLog2e),
                                       broadcast(reference, x));
  return math::Exp2Op::create(b, loc, exponent, arith::FastMathFlags::afn);
}

Value TileMath::maximum(Value x, Value y) {
  Value isLarger = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, y, x);
  return arith::SelectOp::create(b, loc, isLarger, y, x);
}

Value TileMath::isNegativeInfinity(Value m) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, m, negativeInfinity(m.getType()));
}

Value TileMath::isEmpty(Value m, Value l) {
  Value noSum =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, l, constant(l.getType(), 0.0));
  return arith::AndIOp::create(b, loc, isNegativeInfinity(m), noSum);
}

Value TileMath::safeReference(Value m) {
  return arith::SelectOp::create(b, loc, isNegativeInfinity(m), constant(m.getType(), 0.0), m);
}

Value TileMath::rescale(Value m, Value safeReference) {
  return exp(arith::SubFOp::create(b, loc, m, safeReference));
}

Value TileMath::scaleRows(Value acc, Value factor) {
  return arith::MulFOp::create(b, loc, acc, broadcast(factor, acc));
}

Value TileMath::round(Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == elementType)
    return value;
  return arith::TruncFOp::create(b, loc, type.clone(elementType), value);
}
