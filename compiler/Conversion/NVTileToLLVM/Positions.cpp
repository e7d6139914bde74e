//===- Positions.cpp - where the elements of a thread stand --------------- -===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Coordinates, and the comparisons of them that masks are made of.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/AffineForm.h"
#include "compiler/Conversion/NVTileToLLVM/Distributor.h"

using namespace mlir;
using namespace flashc;

Value Distributor::firstRow(const ThreadTile &tile) {
  Value thread = t.threadId();
  Value warp = t.div(thread, kWarpSize), lane = t.rem(thread, kWarpSize);
  Value row = t.add(t.mul(t.rem(warp, tile.rowWarps), tile.warpRows), t.div(lane, 4));
  return arith::IndexCastUIOp::create(b, t.loc, t.index, row);
}

Value Distributor::firstColumn(const ThreadTile &tile) {
  Value thread = t.threadId();
  Value column = t.mul(t.rem(thread, 4), 2);
  if (tile.columnWarps > 1) {
    Value warp = t.div(thread, kWarpSize);
    Value part = t.rem(t.div(warp, tile.rowWarps), tile.columnWarps);
    column = t.add(column, t.mul(part, tile.warpColumns));
  }
  return arith::IndexCastUIOp::create(b, t.loc, t.index, column);
}

Value Distributor::computeCoordinate(tile::CoordsOp op, unsigned e) {
  Value result = op.getResult();
  ThreadTile tile(cast<RankedTensorType>(result.getType()));
  bool isRow = op.getDim() == 0;
  // The first element's coordinate is kept beside the elements.
  Value first = lookup(result, tile.size());
  if (!first) {
    first = t.indexAdd(scalar(op.getOffset()), isRow ? firstRow(tile) : firstColumn(tile));
    define(result, tile.size(), first);
  }
  int64_t offset = isRow ? tile.rowOffset(e) : tile.columnOffset(e);
  unsigned place = tile.size() + 1 + offset;
  Value value = lookup(result, place);
  if (!value) {
    value = t.indexAdd(first, offset);
    define(result, place, value);
  }
  return value;
}

std::optional<Distributor::PositionDifference> Distributor::positionDifference(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  bool isOrder = predicate == Predicate::slt || predicate == Predicate::sle ||
                 predicate == Predicate::sgt || predicate == Predicate::sge;
  std::optional<AffineForm> x = isOrder ? affineForm(op.getLhs()) : std::nullopt;
  std::optional<AffineForm> y = x ? affineForm(op.getRhs()) : std::nullopt;
  if (!y)
    return {};
  AffineForm difference = x->minus(*y);
  if (std::abs(difference.rows) > 1 || std::abs(difference.columns) > 1)
    return {};
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  // In i32: tiles are small, so that a difference that does not fit decides all of their elements.
  Value first = lookup(op.getResult(), tile.size());
  if (!first) {
    Value sum = arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(difference.constant));
    auto add = [&](Value value, int64_t sign) {
      if (!sign)
        return;
      if (value.getType() != t.i64)
        value = value.getType().isIndex()
                    ? arith::IndexCastOp::create(b, t.loc, t.i64, value).getResult()
                    : arith::ExtSIOp::create(b, t.loc, t.i64, value).getResult();
      sum = sign > 0 ? arith::AddIOp::create(b, t.loc, sum, value).getResult()
                     : arith::SubIOp::create(b, t.loc, sum, value).getResult();
    };
    for (AffineForm::Term term : difference.terms)
      add(scalar(term.value), term.sign);
    add(firstRow(tile), difference.rows);
    add(firstColumn(tile), difference.columns);
    auto bound = [&](int64_t value) {
      return arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(value));
    };
    constexpr int64_t kFar = int64_t(1) << 30;
    sum = arith::MaxSIOp::create(b, t.loc, sum, bound(-kFar));
    sum = arith::MinSIOp::create(b, t.loc, sum, bound(kFar));
    first = arith::TruncIOp::create(b, t.loc, t.i32, sum);
    define(op.getResult(), tile.size(), first);
  }
  return PositionDifference{first, difference.rows, difference.columns};
}

Value Distributor::comparePositions(arith::CmpIOp op, unsigned e) {
  std::optional<PositionDifference> difference = positionDifference(op);
  if (!difference)
    return {};
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  int64_t offset = difference->rows * tile.rowOffset(e) +
                   (tile.isMatrix ? difference->columns * tile.columnOffset(e) : 0);
  return arith::CmpIOp::create(b, t.loc, op.getPredicate(), difference->first, t.constant(-offset));
}

Value Distributor::mayKeep(Value keep) {
  if (auto both = keep.getDefiningOp<arith::AndIOp>()) {
    Value x = mayKeep(both.getLhs()), y = mayKeep(both.getRhs());
    return x && y ? t.both(x, y) : (x ? x : y);
  }
  auto comparison = keep.getDefiningOp<arith::CmpIOp>();
  std::optional<PositionDifference> difference =
      comparison ? positionDifference(comparison) : std::nullopt;
  if (!difference)
    return {};
  // The thread's element that is the likeliest to hold: the smallest difference, or the largest.
  ThreadTile tile(cast<RankedTensorType>(keep.getType()));
  bool isLess = comparison.getPredicate() == arith::CmpIPredicate::slt ||
                comparison.getPredicate() == arith::CmpIPredicate::sle;
  auto reach = [&](int64_t coefficient, int64_t extent) -> int64_t {
    return (coefficient < 0) == isLess ? coefficient * extent : 0;
  };
  int64_t offset = reach(difference->rows, (tile.rowBlocks - 1) * 16 + 8);
  if (tile.isMatrix)
    offset += reach(difference->columns, (tile.columnBlocks - 1) * 8 + 1);
  Value holds = arith::CmpIOp::create(b, t.loc, comparison.getPredicate(), difference->first,
                                      t.constant(-offset));
  return t.call("llvm.nvvm.vote.any.sync", t.i1, {t.constant(-1), holds});
}
