//===- PartStates.cpp - softmax states of the parts of a sequence ---------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/PartStates.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

/// Numbers of a state's components.
static constexpr size_t kM = 0, kL = 1, kAcc = 2, kRowMax = 3;
/// Parts whose states are loaded together: as many as a sequence has at most where 8 heads or more of keys share a device
/// (kFewParts of KernelFrame.cpp), and a lane's columns of all of them take a quarter of its registers; fewer of larger
/// heads.
static constexpr int64_t kLoadedTogether = 16, kLoadedOfLargeHeads = 8, kLargeHead = 128;

PartStates::PartStates(OpBuilder &b, Location loc, Value workspace, Value parts,
                       OnlineAttentionOp op)
    : loc(loc), base(op.getBase()), rows(op.getSchedule()->getTile()[0]) {
  Index x(b, loc);
  Value offset = x.constant(0);
  for (Value component : op.getResults()) {
    auto type = cast<RankedTensorType>(component.getType());
    SmallVector<int64_t> shape = {ShapedType::kDynamic, rows};
    if (type.getRank() == 4)
      shape.push_back(type.getDimSize(3));
    int64_t bytes = 4 * rows * (type.getRank() == 4 ? type.getDimSize(3) : 1);
    if (workspace)
      memories.push_back(memref::ViewOp::create(b, loc, MemRefType::get(shape, b.getF32Type()),
                                                workspace, offset, parts));
    offset = x.add(offset, x.roundUp(x.mul(parts, bytes), 64));
  }
  size = offset;
}

/// Offsets, valid sizes and dims of a part's rows from `row` on in a component's memory.
std::tuple<PartStates::State, PartStates::State, SmallVector<int64_t>>
PartStates::place(OpBuilder &b, Value memory, Value part, Value row, Value validRows) {
  Index x(b, loc);
  SmallVector<Value> offsets = {part, row}, valid = {validRows};
  SmallVector<int64_t> dims = {1};
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() == 3) {
    offsets.push_back(x.constant(0));
    valid.push_back(x.constant(type.getDimSize(2)));
    dims.push_back(2);
  }
  return {offsets, valid, dims};
}

RankedTensorType PartStates::typeOf(Value memory, int64_t pointRows) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape(type.getShape().drop_front());
  if (pointRows)
    shape[0] = pointRows;
  return tileOf(shape, type.getElementType());
}

void PartStates::store(OpBuilder &b, ValueRange state, const GridPoint &point) {
  for (auto [tile, memory] : llvm::zip(state, memories)) {
    auto [offsets, valid, dims] =
        place(b, memory, point.part, Index(b, loc).constant(0), point.rows);
    tile::StoreOp::create(b, loc, tile, memory, offsets, valid, dims);
  }
}

Value PartStates::load(OpBuilder &b, Value memory, Value part, const GridPoint &point,
                       Value validRows, int64_t pointRows) {
  auto [offsets, valid, dims] = place(b, memory, part, point.firstRow, validRows);
  return tile::LoadOp::create(b, loc, typeOf(memory, pointRows), memory, offsets, valid, dims);
}

SmallVector<Value> PartStates::mergeInTurn(OpBuilder &b, const GridPoint &point) {
  Index x(b, loc);
  auto loadAll = [&](OpBuilder &builder, Value part) {
    State state;
    for (Value memory : memories)
      state.push_back(load(builder, memory, part, point, point.rows, rows));
    return state;
  };
  auto body = [&](OpBuilder &nested, Location, Value part, ValueRange carried) {
    State next = loadAll(nested, part);
    auto merged = MergeOp::create(nested, loc, carried.take_front(kRowMax).getTypes(), carried[kM],
                                  carried[kL], carried[kAcc], next[kM], next[kL], next[kAcc], base);
    State state(merged.getResults());
    if (next.size() > kRowMax)
      state.push_back(arith::MaximumFOp::create(nested, loc, carried[kRowMax], next[kRowMax]));
    scf::YieldOp::create(nested, loc, state);
  };
  Value end = x.add(point.firstPart, point.parts);
  auto loop = scf::ForOp::create(b, loc, x.add(point.firstPart, 1), end, x.constant(1),
                                 loadAll(b, point.firstPart), body);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> PartStates::mergeTogether(OpBuilder &b, const GridPoint &point,
                                             int64_t pointRows) {
  Index x(b, loc);
  TileMath math(b, loc, base);
  RankedTensorType rowType = typeOf(memories[kM], pointRows);
  RankedTensorType accType = typeOf(memories[kAcc], pointRows);
  int64_t together = accType.getDimSize(1) > kLargeHead ? kLoadedOfLargeHeads : kLoadedTogether;
  auto body = [&](OpBuilder &nested, Location, Value first, ValueRange carried) {
    Index y(nested, loc);
    TileMath inner(nested, loc, base);
    SmallVector<State> loaded(together);
    State merged(carried);
    Value none = inner.negativeInfinity(rowType);
    for (auto [n, part] : llvm::enumerate(loaded)) {
      Value number = y.add(first, n), isThere = y.lt(number, point.parts);
      Value rows = y.select(isThere, point.rows, y.constant(0));
      for (Value memory : memories)
        part.push_back(
            load(nested, memory, y.add(point.firstPart, number), point, rows, pointRows));
      part[kM] = arith::SelectOp::create(nested, loc, isThere, part[kM], none);
      merged[kM] = arith::MaxNumFOp::create(nested, loc, merged[kM], part[kM]);
      if (part.size() > kRowMax) {
        part[kRowMax] = arith::SelectOp::create(nested, loc, isThere, part[kRowMax], none);
        merged[kRowMax] = arith::MaximumFOp::create(nested, loc, merged[kRowMax], part[kRowMax]);
      }
    }
    Value reference = inner.safeReference(merged[kM]);
    Value before = inner.rescale(carried[kM], reference);
    merged[kL] = arith::MulFOp::create(nested, loc, merged[kL], before);
    merged[kAcc] = inner.scaleRows(merged[kAcc], before);
    for (const State &part : loaded) {
      Value weight = inner.rescale(part[kM], reference);
      merged[kL] = arith::AddFOp::create(nested, loc, merged[kL],
                                         arith::MulFOp::create(nested, loc, part[kL], weight));
      Value added = inner.scaleRows(part[kAcc], weight);
      // An empty state adds nothing, even where a value without weight made its acc NaN.
      Value isEmpty = inner.broadcast(inner.isEmpty(part[kM], part[kL]), added);
      added = arith::SelectOp::create(nested, loc, isEmpty, inner.constant(added.getType(), 0.0),
                                      added);
      merged[kAcc] = arith::AddFOp::create(nested, loc, merged[kAcc], added);
    }
    scf::YieldOp::create(nested, loc, merged);
  };
  State identity = {math.negativeInfinity(rowType), math.constant(rowType, 0.0),
                    math.constant(accType, 0.0)};
  if (memories.size() > kRowMax)
    identity.push_back(identity[kM]);
  auto loop =
      scf::ForOp::create(b, loc, x.constant(0), point.parts, x.constant(together), identity, body);
  return llvm::to_vector_of<Value>(loop.getResults());
}
