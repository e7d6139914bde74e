//===- RegionInliner.cpp - regions as elementwise ops on tiles ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/RegionInliner.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

class Inliner {
public:
  Inliner(OpBuilder &b, Location loc, ArrayRef<int64_t> shape) : b(b), loc(loc), shape(shape) {}

  Value run(Block &block, ValueRange arguments) {
    map.map(block.getArguments(), arguments);
    for (Operation &op : block.without_terminator())
      map.map(op.getResult(0), lower(op));
    return map.lookup(cast<YieldOp>(block.getTerminator()).getValue());
  }

private:
  Type tiled(Type type, bool isTile) {
    return isTile ? Type(RankedTensorType::get(shape, type)) : type;
  }

  Value constant(Type type, TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, value);
    return arith::ConstantOp::create(b, loc, value);
  }

  Value integer(Type type, int64_t value) {
    Type element = getElementTypeOrSelf(type);
    return constant(type, b.getIntegerAttr(element, value));
  }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }

  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }

  Value lower(Operation &op) {
    if (auto read = dyn_cast<ReadOp>(op))
      return lowerRead(read);
    SmallVector<Value> operands;
    bool isTile = false;
    for (Value operand : op.getOperands()) {
      operands.push_back(map.lookup(operand));
      isTile |= isa<RankedTensorType>(operands.back().getType());
    }
    if (isTile)
      for (Value &operand : operands)
        if (!isa<RankedTensorType>(operand.getType()))
          operand = tensor::SplatOp::create(b, loc, tiled(operand.getType(), true), operand);
    Type type = tiled(op.getResult(0).getType(), isTile);
    if (Value total = lowerPartial(op, operands, type))
      return total;
    OperationState state(loc, op.getName());
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    return b.create(state)->getResult(0);
  }

  /// The ops that LLVM does not define for every input; null for all others.
  Value lowerPartial(Operation &op, ArrayRef<Value> in, Type type) {
    if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
      // x / 0 = x % 0 = 0, and x / -1 wraps. The divisor 1 stands in for both.
      Value zero = integer(type, 0), one = integer(type, 1), minusOne = integer(type, -1);
      Value isZero = compare(arith::CmpIPredicate::eq, in[1], zero);
      Value isMinusOne = compare(arith::CmpIPredicate::eq, in[1], minusOne);
      Value special = arith::OrIOp::create(b, loc, isZero, isMinusOne);
      Value divisor = select(special, one, in[1]);
      bool isDiv = isa<arith::DivSIOp>(op);
      Value result = isDiv ? Value(arith::DivSIOp::create(b, loc, in[0], divisor))
                           : Value(arith::RemSIOp::create(b, loc, in[0], divisor));
      if (isDiv)
        result = select(isMinusOne, arith::SubIOp::create(b, loc, zero, in[0]), result);
      return select(isZero, zero, result);
    }
    if (isa<arith::DivUIOp, arith::RemUIOp>(op)) {
      Value zero = integer(type, 0);
      Value isZero = compare(arith::CmpIPredicate::eq, in[1], zero);
      Value divisor = select(isZero, integer(type, 1), in[1]);
      Value result = isa<arith::DivUIOp>(op)
                         ? Value(arith::DivUIOp::create(b, loc, in[0], divisor))
                         : Value(arith::RemUIOp::create(b, loc, in[0], divisor));
      return select(isZero, zero, result);
    }
    if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
      Type element = getElementTypeOrSelf(type);
      int64_t width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
      Value last = integer(type, width - 1);
      Value inRange = compare(arith::CmpIPredicate::ule, in[1], last);
      Value amount = select(inRange, in[1], last);
      if (isa<arith::ShRSIOp>(op))
        return arith::ShRSIOp::create(b, loc, in[0], amount);
      Value result = isa<arith::ShLIOp>(op) ? Value(arith::ShLIOp::create(b, loc, in[0], amount))
                                            : Value(arith::ShRUIOp::create(b, loc, in[0], amount));
      return select(inRange, result, integer(type, 0));
    }
    if (isa<arith::FPToSIOp>(op))
      return lowerToInteger(in[0], type);
    return {};
  }

  /// f32 to a signed integer: truncating, saturating, 0 for NaN.
  Value lowerToInteger(Value x, Type type) {
    Type element = getElementTypeOrSelf(type);
    unsigned width = element.getIntOrFloatBitWidth();
    double limit = std::ldexp(1.0, width - 1);
    auto bound = [&](double value) {
      return constant(x.getType(), b.getF32FloatAttr(static_cast<float>(value)));
    };
    auto less = [&](arith::CmpFPredicate predicate, double value) {
      return arith::CmpFOp::create(b, loc, predicate, x, bound(value));
    };
    Value low = less(arith::CmpFPredicate::OLT, -limit);
    Value high = less(arith::CmpFPredicate::OGE, limit);
    Value inRange = arith::AndIOp::create(b, loc, less(arith::CmpFPredicate::OGE, -limit),
                                          less(arith::CmpFPredicate::OLT, limit));
    Value safe = select(inRange, x, bound(0.0));
    Value result = arith::FPToSIOp::create(b, loc, type, safe);
    result = select(low, integer(type, llvm::minIntN(width)), result);
    return select(high, integer(type, llvm::maxIntN(width)), result);
  }

  Value lowerRead(ReadOp read) {
    SmallVector<Value> indices;
    bool isTile = false;
    for (Value index : read.getIndices()) {
      indices.push_back(map.lookup(index));
      isTile |= isa<RankedTensorType>(indices.back().getType());
    }
    Value array = map.lookup(read.getArray());
    if (!isTile) {
      auto scalar = ReadOp::create(b, loc, read.getResult().getType(), array, indices);
      Value value = lowerScalarRead(b, scalar);
      scalar.erase();
      return value;
    }
    Type element = cast<MemRefType>(array.getType()).getElementType();
    Value value = tile::GatherOp::create(b, loc, tiled(element, true), array, indices);
    return convert(value, tiled(read.getResult().getType(), true));
  }

public:
  Value convert(Value value, Type type) {
    Type from = getElementTypeOrSelf(value.getType()), to = getElementTypeOrSelf(type);
    if (from == to)
      return value;
    if (!isa<FloatType>(from))
      return arith::ExtSIOp::create(b, loc, type, value);
    if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
      return arith::TruncFOp::create(b, loc, type, value);
    return arith::ExtFOp::create(b, loc, type, value);
  }

private:
  OpBuilder &b;
  Location loc;
  ArrayRef<int64_t> shape;
  IRMapping map;
};

} // namespace

Value flashc::flash::inlineRegion(OpBuilder &builder, Location loc, Region &region,
                                  ValueRange arguments, ArrayRef<int64_t> shape) {
  return Inliner(builder, loc, shape).run(region.front(), arguments);
}

Value flashc::flash::lowerScalarRead(OpBuilder &builder, Operation *op) {
  auto read = cast<ReadOp>(op);
  Location loc = read.getLoc();
  Index x(builder, loc);
  Value array = read.getArray(), zero = x.constant(0);
  Type element = cast<MemRefType>(array.getType()).getElementType();
  Value inside;
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    Value size = builder.createOrFold<memref::DimOp>(loc, array, static_cast<int64_t>(dim));
    Value ok = x.both(x.le(zero, index), x.lt(index, size));
    inside = inside ? x.both(inside, ok) : ok;
  }
  SmallVector<Value> indices(read.getIndices());
  auto load = [&](OpBuilder &b, Location) -> Value {
    return memref::LoadOp::create(b, loc, array, indices);
  };
  Value value;
  if (!inside) {
    value = load(builder, loc);
  } else {
    auto branch = scf::IfOp::create(
        builder, loc, inside,
        [&](OpBuilder &b, Location l) { scf::YieldOp::create(b, l, load(b, l)); },
        [&](OpBuilder &b, Location l) {
          Value none = arith::ConstantOp::create(b, l, cast<TypedAttr>(b.getZeroAttr(element)));
          scf::YieldOp::create(b, l, none);
        });
    value = branch.getResult(0);
  }
  return Inliner(builder, loc, {}).convert(value, read.getResult().getType());
}
