//===- Evaluator.cpp - elementwise tiles, vector by vector ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Evaluator.h"
#include "compiler/Conversion/TileToVector/KeepBits.h"

using namespace mlir;
using namespace flashc;

Type Evaluator::typeOf(Type element, bool isRow) {
  Type carrier = carrierOf(element);
  return widthOf(isRow) == 1 ? carrier : VectorType::get({widthOf(isRow)}, carrier);
}

Value Evaluator::splat(Value scalar, bool isRow) {
  if (widthOf(isRow) == 1)
    return scalar;
  return vector::BroadcastOp::create(c.b, c.loc,
                                     VectorType::get({widthOf(isRow)}, scalar.getType()), scalar);
}

Value Evaluator::load(const Buffer &buffer, bool isRow) {
  if (isRow && rowWidth == 1)
    return memref::LoadOp::create(c.b, c.loc, buffer.memory, row);
  if (isRow)
    return vector::LoadOp::create(c.b, c.loc, VectorType::get({rowWidth}, c.b.getF32Type()),
                                  buffer.memory, row);
  Value r = buffer.rowIn(c, row);
  if (buffer.format == Format::Bits)
    return loadBits(c, buffer, r, column, width);
  if (width == 1)
    return memref::LoadOp::create(c.b, c.loc, buffer.memory, ValueRange{r, column});
  return vector::LoadOp::create(c.b, c.loc, VectorType::get({width}, c.b.getF32Type()),
                                buffer.memory, ValueRange{r, column});
}

Value Evaluator::unknownOperand(Operation *op) const {
  if (isa<tile::GatherOp>(op))
    return {}; // which looks at its indices first
  for (Value operand : op->getOperands())
    if (tile::isTile(operand.getType()) && !known.contains(operand))
      return operand;
  return {};
}

Value Evaluator::value(Value tile) {
  // From the operands on, without a recursion: expressions may be long.
  SmallVector<Value> pending = {tile};
  while (!pending.empty()) {
    Value next = pending.back();
    if (!known.contains(next)) {
      bool isRow = !isMatrix(next);
      if (auto buffer = c.buffers.find(next); buffer != c.buffers.end()) {
        known[next] = load(buffer->second, isRow);
      } else if (Value operand = unknownOperand(next.getDefiningOp())) {
        pending.push_back(operand);
        continue;
      } else {
        Value computed = compute(next.getDefiningOp(), isRow);
        known[next] = computed;
      }
    }
    pending.pop_back();
  }
  return known.lookup(tile);
}

Value Evaluator::operand(Value operand) {
  return tile::isTile(operand.getType()) ? value(operand) : c.scalars.lookup(operand);
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
    return splat(value(broadcast.getSource()), isRow);
  if (auto coords = dyn_cast<tile::CoordsOp>(op)) {
    Value first = x.add(c.scalars.lookup(coords.getOffset()), coords.getDim() == 0 ? row : column);
    bool isUniform = coords.getDim() == 0 ? !isRow : false;
    if (isUniform || widthOf(isRow) == 1)
      return splat(first, isRow);
    Value step =
        vector::StepOp::create(c.b, c.loc, VectorType::get({widthOf(isRow)}, c.b.getIndexType()));
    return arith::AddIOp::create(c.b, c.loc, splat(first, isRow), step);
  }
  if (auto gatherOp = dyn_cast<tile::GatherOp>(op))
    return gather(gatherOp, isRow);

  SmallVector<Value> operands;
  for (Value each : op->getOperands())
    operands.push_back(operand(each));
  if (isa<arith::ExtFOp>(op) && operands[0].getType() == typeOf(element, isRow))
    return operands[0]; // a narrow float, already carried as f32
  if (isa<arith::TruncFOp>(op) && carrierOf(element) != element) {
    Type carrier = typeOf(element, isRow);
    Type narrow = element;
    if (auto vector = dyn_cast<VectorType>(carrier))
      narrow = vector.clone(element);
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

namespace {

/// The tile.coords of dimension 1 behind index casts, or null.
tile::CoordsOp columnCoords(Value index) {
  while (auto cast = index.getDefiningOp<arith::IndexCastOp>())
    index = cast.getIn();
  auto coords = index.getDefiningOp<tile::CoordsOp>();
  return coords && coords.getDim() == 1 ? coords : tile::CoordsOp();
}

/// Whether an index is the same for all columns of a row.
bool isColumnInvariant(Context &c, Value index) {
  return allSources(index, [&](Value source) {
    if (!isMatrix(source))
      return Walk::Leaf;
    Operation *op = source.getDefiningOp();
    auto coords = dyn_cast_or_null<tile::CoordsOp>(op);
    if (!op || c.buffers.contains(source) || !isElementwise(op) || isa<tile::GatherOp>(op) ||
        (coords && coords.getDim() != 0))
      return Walk::Refused;
    return coords ? Walk::Leaf : Walk::Inner;
  });
}

} // namespace

/// The element at `offset` of `flat` as its carrier, or 0 where not `inside`.
static Value loadGuarded(Context &c, Value flat, Value offset, Value inside) {
  Type element = cast<MemRefType>(flat.getType()).getElementType();
  Type carrier = carrierOf(element);
  auto branch = scf::IfOp::create(
      c.b, c.loc, inside,
      [&](OpBuilder &b, Location loc) {
        Value value = memref::LoadOp::create(b, loc, flat, offset);
        if (carrier != element)
          value = arith::ExtFOp::create(b, loc, carrier, value);
        scf::YieldOp::create(b, loc, value);
      },
      [&](OpBuilder &b, Location loc) {
        Value none = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(carrier)));
        scf::YieldOp::create(b, loc, none);
      });
  return branch.getResult(0);
}

Value Evaluator::gather(tile::GatherOp op, bool isRow) {
  Value source = c.scalars.lookup(op.getSource());
  auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, source);
  Index x(c.b, c.loc);
  auto flatType =
      MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(source.getType()).getElementType(),
                      StridedLayoutAttr::get(c.b.getContext(), ShapedType::kDynamic, {1}));
  Value flat = memref::ReinterpretCastOp::create(
      c.b, c.loc, flatType, metadata.getBaseBuffer(), OpFoldResult(metadata.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(x.constant(INT64_MAX))},
      ArrayRef<OpFoldResult>{OpFoldResult(c.b.getIndexAttr(1))});
  Gather g{op, flat, metadata.getSizes(), metadata.getStrides()};
  if (widthOf(isRow) == 1)
    return gatherScalar(g, isRow);
  if (isRow)
    return gatherVector(g, true);

  // Keys that lie side by side, of one row: a plain load, as long as all of them are inside.
  int64_t columnDim = -1;
  bool isAdjacent = true;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    if (tile::isTile(index.getType()) && columnCoords(index) && columnDim < 0)
      columnDim = dim;
    else
      isAdjacent &= isColumnInvariant(c, index);
  }
  if (columnDim < 0 || !isAdjacent)
    return gatherVector(g, false);
  Evaluator scalar(c, row, column, 1);
  auto [first, inside] = scalar.locate(g, false);
  Value last = x.add(scalar.indexOf(op.getIndices()[columnDim], false), width - 1);
  inside = x.both(inside, x.lt(last, g.sizes[columnDim]));
  inside = x.both(inside, x.equal(g.strides[columnDim], x.constant(1)));
  Type element = flatType.getElementType();
  Type resultType = typeOf(element, false);
  auto branch = scf::IfOp::create(c.b, c.loc, resultType, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(branch.thenBlock());
  Value value = vector::LoadOp::create(c.b, c.loc, VectorType::get({width}, element), flat, first);
  if (carrierOf(element) != element)
    value = arith::ExtFOp::create(c.b, c.loc, resultType, value);
  scf::YieldOp::create(c.b, c.loc, value);
  c.b.setInsertionPointToStart(branch.elseBlock());
  // What is evaluated here stays here.
  Evaluator fallback(c, row, column, width);
  scf::YieldOp::create(c.b, c.loc, fallback.gatherVector(g, false));
  return branch.getResult(0);
}

Value Evaluator::indexOf(Value index, bool isRow) {
  return tile::isTile(index.getType()) ? value(index) : splat(c.scalars.lookup(index), isRow);
}

/// Where the elements lie in `flat`, and which of them are inside of the array.
std::pair<Value, Value> Evaluator::locate(const Gather &g, bool isRow) {
  Index x(c.b, c.loc);
  Value zero = splat(x.constant(0), isRow), inside, offset = zero;
  for (auto [dim, index] : llvm::enumerate(g.op.getIndices())) {
    Value at = indexOf(index, isRow);
    Value ok = x.both(x.le(zero, at), x.lt(at, splat(g.sizes[dim], isRow)));
    inside = inside ? x.both(inside, ok) : ok;
    offset = x.add(offset, x.mul(at, splat(g.strides[dim], isRow)));
  }
  return {offset, inside};
}

Value Evaluator::gatherScalar(const Gather &g, bool isRow) {
  auto [offset, inside] = locate(g, isRow);
  return loadGuarded(c, g.flat, offset, inside);
}

Value Evaluator::gatherVector(const Gather &g, bool isRow) {
  Type element = cast<MemRefType>(g.flat.getType()).getElementType();
  Index x(c.b, c.loc);
  auto [offset, inside] = locate(g, isRow);
  if (element.getIntOrFloatBitWidth() >= 32) {
    auto type = VectorType::get({widthOf(isRow)}, element);
    Value none = arith::ConstantOp::create(
        c.b, c.loc, DenseElementsAttr::get(type, cast<Attribute>(c.b.getZeroAttr(element))));
    return vector::GatherOp::create(c.b, c.loc, type, g.flat, ValueRange{x.constant(0)}, offset,
                                    inside, none);
  }
  // No machine gathers narrow elements: lane by lane.
  auto type = VectorType::get({widthOf(isRow)}, carrierOf(element));
  Value none = arith::ConstantOp::create(
      c.b, c.loc,
      DenseElementsAttr::get(type, cast<Attribute>(c.b.getZeroAttr(type.getElementType()))));
  auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(widthOf(isRow)),
                                 x.constant(1), ValueRange{none});
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  OpFoldResult lane = loop.getInductionVar();
  Value at = vector::ExtractOp::create(c.b, c.loc, offset, lane);
  Value ok = vector::ExtractOp::create(c.b, c.loc, inside, lane);
  Value value = loadGuarded(c, g.flat, at, ok);
  Value next = vector::InsertOp::create(c.b, c.loc, value, loop.getRegionIterArgs()[0], lane);
  scf::YieldOp::create(c.b, c.loc, next);
  return loop.getResult(0);
}
