//===- Evaluator.cpp - elementwise tiles, vector by vector ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Evaluator.h"

using namespace mlir;
using namespace flashc;

Type Evaluator::typeOf(Type element, bool isRow) {
  Type carrier = carrierOf(element);
  return isRow || width == 1 ? carrier : VectorType::get({width}, carrier);
}

Value Evaluator::splat(Value scalar, bool isRow) {
  if (isRow || width == 1)
    return scalar;
  return vector::BroadcastOp::create(c.b, c.loc, VectorType::get({width}, scalar.getType()),
                                     scalar);
}

Value Evaluator::load(const Buffer &buffer) {
  Value r = buffer.isRow ? Index(c.b, c.loc).constant(0) : row;
  if (width == 1)
    return memref::LoadOp::create(c.b, c.loc, buffer.memory, ValueRange{r, column});
  return vector::LoadOp::create(c.b, c.loc, VectorType::get({width}, c.b.getF32Type()),
                                buffer.memory, ValueRange{r, column});
}

Value Evaluator::matrix(Value tile) {
  if (Value value = known.lookup(tile))
    return value;
  auto buffer = c.buffers.find(tile);
  Value value =
      buffer != c.buffers.end() ? load(buffer->second) : compute(tile.getDefiningOp(), false);
  known[tile] = value;
  return value;
}

Value Evaluator::vector(Value tile) {
  if (Value value = rows.lookup(tile))
    return value;
  auto buffer = c.buffers.find(tile);
  if (buffer != c.buffers.end())
    return memref::LoadOp::create(c.b, c.loc, buffer->second.memory, row);
  return compute(tile.getDefiningOp(), true);
}

Value Evaluator::operand(Value value, bool isRow) {
  if (!tile::isTile(value.getType()))
    return c.scalars.lookup(value);
  return isRow ? vector(value) : matrix(value);
}

Value Evaluator::compute(Operation *op, bool isRow) {
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = resultType.getElementType();
  Index x(c.b, c.loc);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    TypedAttr value = dense.getSplatValue<TypedAttr>();
    if (carrierOf(element) != element) {
      bool lossy;
      APFloat wide = cast<FloatAttr>(value).getValue();
      wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
      value = c.b.getFloatAttr(c.b.getF32Type(), wide);
    }
    return splat(arith::ConstantOp::create(c.b, c.loc, value), isRow);
  }
  if (auto splatOp = dyn_cast<tensor::SplatOp>(op))
    return splat(c.scalars.lookup(splatOp.getInput()), isRow);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return splat(vector(broadcast.getSource()), isRow);
  if (auto coords = dyn_cast<tile::CoordsOp>(op)) {
    Value offset = c.scalars.lookup(coords.getOffset());
    if (coords.getDim() == 0)
      return splat(x.add(offset, row), isRow);
    Value first = x.add(offset, column);
    if (width == 1)
      return first;
    Value step = vector::StepOp::create(c.b, c.loc, VectorType::get({width}, c.b.getIndexType()));
    return arith::AddIOp::create(c.b, c.loc, splat(first, false), step);
  }
  if (auto gatherOp = dyn_cast<tile::GatherOp>(op))
    return gather(gatherOp, isRow);

  SmallVector<Value> operands;
  for (Value value : op->getOperands())
    operands.push_back(operand(value, isRow));
  if (isa<arith::ExtFOp>(op) && operands[0].getType() == typeOf(element, isRow))
    return operands[0]; // a narrow float, already carried as f32
  if (isa<arith::TruncFOp>(op) && carrierOf(element) != element) {
    Type carrier = typeOf(element, isRow);
    Type narrow = isa<VectorType>(carrier) ? Type(VectorType::get({width}, element)) : element;
    Value rounded = arith::TruncFOp::create(c.b, c.loc, narrow, operands[0]);
    return arith::ExtFOp::create(c.b, c.loc, carrier, rounded);
  }
  OperationState state(c.loc, op->getName());
  state.addOperands(operands);
  state.addTypes(typeOf(element, isRow));
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return c.b.create(state)->getResult(0);
}

Value Evaluator::gather(tile::GatherOp op, bool isRow) {
  Value source = c.scalars.lookup(op.getSource());
  auto type = cast<MemRefType>(source.getType());
  Type element = type.getElementType();
  Index x(c.b, c.loc);
  auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, source);
  Value zero = splat(x.constant(0), isRow), inside, offset = zero;
  // Scalar or vector alike: the place is the sum of index times stride, wherever all indices are inside.
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value index = op.getIndices()[dim];
    Value at = tile::isTile(index.getType()) ? operand(index, isRow)
                                             : splat(c.scalars.lookup(index), isRow);
    Value size = splat(metadata.getSizes()[dim], isRow);
    Value ok = x.both(x.le(zero, at), x.lt(at, size));
    inside = inside ? x.both(inside, ok) : ok;
    offset = x.add(offset, x.mul(at, splat(metadata.getStrides()[dim], isRow)));
  }
  auto flatType = MemRefType::get({ShapedType::kDynamic}, element,
                                  StridedLayoutAttr::get(c.b.getContext(), ShapedType::kDynamic,
                                                         {1}));
  Value flat = memref::ReinterpretCastOp::create(
      c.b, c.loc, flatType, metadata.getBaseBuffer(), OpFoldResult(metadata.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(x.constant(INT64_MAX))},
      ArrayRef<OpFoldResult>{OpFoldResult(c.b.getIndexAttr(1))});
  Value result;
  TypedAttr zeroElement = cast<TypedAttr>(c.b.getZeroAttr(element));
  if (isRow || width == 1) {
    auto branch = scf::IfOp::create(
        c.b, c.loc, inside,
        [&](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc, memref::LoadOp::create(b, loc, flat, offset).getResult());
        },
        [&](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc,
                               arith::ConstantOp::create(b, loc, zeroElement).getResult());
        });
    result = branch.getResult(0);
  } else {
    auto vectorType = VectorType::get({width}, element);
    Value none = arith::ConstantOp::create(c.b, c.loc, DenseElementsAttr::get(vectorType, Attribute(zeroElement)));
    result = vector::GatherOp::create(c.b, c.loc, vectorType, flat, ValueRange{x.constant(0)},
                                      offset, inside, none);
  }
  if (carrierOf(element) != element)
    result = arith::ExtFOp::create(c.b, c.loc, typeOf(element, isRow), result);
  return result;
}
