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

Value Distributor::bandOf(const ThreadTile &tile, int64_t bands) {
  Value warp = t.div(t.threadId(), kWarpSize);
  return t.div(t.rem(warp, tile.rowWarps), tile.rowWarps / bands);
}

Value Distributor::firstRow(const ThreadTile &tile, int64_t bands) {
  Value thread = t.threadId();
  Value warp = t.div(thread, kWarpSize), lane = t.rem(thread, kWarpSize);
  Value row = t.mul(t.rem(warp, tile.rowWarps / bands), tile.warpRows);
  if (!tile.isLines)
    row = t.add(row, t.div(lane, 4));
  return arith::IndexCastUIOp::create(b, t.loc, t.index, row);
}

Value Distributor::firstColumn(const ThreadTile &tile, int64_t bands) {
  Value thread = t.threadId();
  Value column = tile.isLines ? t.rem(thread, kWarpSize) : t.mul(t.rem(thread, 4), 2);
  if (tile.columnWarps > 1) {
    Value warp = t.div(thread, kWarpSize);
    Value part = t.rem(t.div(warp, tile.rowWarps), tile.columnWarps);
    column = t.add(column, t.mul(part, tile.warpColumns));
  }
  if (bands > 1)
    column = t.add(column, t.mul(bandOf(tile, bands), tile.warpColumns));
  return arith::IndexCastUIOp::create(b, t.loc, t.index, column);
}

Value Distributor::isFirstInRow(const ThreadTile &tile) {
  return arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq,
                               t.rem(t.threadId(), tile.rowLanes), t.constant(0));
}

Value Distributor::computeCoordinate(tile::CoordsOp op, unsigned e) {
  Value result = op.getResult();
  ThreadTile tile(cast<RankedTensorType>(result.getType()));
  bool isRow = op.getDim() == 0;
  // The first element's coordinate is kept beside the elements.
  Value first = lookup(result, tile.size());
  if (!first) {
    first = t.indexAdd(scalar(op.getOffset()),
                       isRow ? firstRow(tile, op.getBands()) : firstColumn(tile, op.getBands()));
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

/// x < y, x <= y, x > y or x >= y as a form that is negative where it holds.
static std::optional<AffineForm> negativeForm(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  bool isLess = predicate == Predicate::slt || predicate == Predicate::sle;
  if (!isLess && predicate != Predicate::sgt && predicate != Predicate::sge)
    return {};
  std::optional<AffineForm> x = affineForm(op.getLhs());
  std::optional<AffineForm> y = x ? affineForm(op.getRhs()) : std::nullopt;
  if (!y || !x->isLike(*y))
    return {};
  AffineForm form = isLess ? x->minus(*y) : y->minus(*x);
  if (predicate == Predicate::sle || predicate == Predicate::sge)
    form.constant -= 1;
  if (std::abs(form.rows) > 1 || std::abs(form.columns) > 1)
    return {};
  return form;
}

Distributor::PositionBound Distributor::boundOf(Value comparison, const AffineForm &form) {
  ThreadTile tile(cast<RankedTensorType>(comparison.getType()));
  Value first = lookup(comparison, tile.size());
  if (!first) {
    Value sum = arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(form.constant));
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
    for (AffineForm::Term term : form.terms)
      add(scalar(term.value), term.sign);
    int64_t bands = std::max<int64_t>(form.bands, 1);
    add(firstRow(tile, bands), form.rows);
    add(firstColumn(tile, bands), form.columns);
    auto bound = [&](int64_t value) {
      return arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(value));
    };
    // In i32: tiles are small, so that a sum that does not fit decides all of their elements.
    constexpr int64_t kFar = int64_t(1) << 30;
    sum = arith::MaxSIOp::create(b, t.loc, sum, bound(-kFar));
    sum = arith::MinSIOp::create(b, t.loc, sum, bound(kFar));
    first = arith::TruncIOp::create(b, t.loc, t.i32, sum);
    define(comparison, tile.size(), first);
  }
  return {first, form.rows, form.columns};
}

/// What must hold together for `keep`, each once and in order; none where that is too much to look at.
static SmallVector<Value> conjuncts(Value keep) {
  constexpr size_t kMost = 64;
  SmallVector<Value> result, pending = {keep};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (seen.size() > kMost)
      return {};
    if (auto both = next.getDefiningOp<arith::AndIOp>())
      pending.append({both.getRhs(), both.getLhs()});
    else
      result.push_back(next);
  }
  return result;
}

std::optional<SmallVector<Distributor::PositionBound>> Distributor::positionBounds(Value keep) {
  SmallVector<PositionBound> bounds;
  for (Value each : conjuncts(keep)) {
    auto comparison = each.getDefiningOp<arith::CmpIOp>();
    std::optional<AffineForm> form = comparison ? negativeForm(comparison) : std::nullopt;
    if (!form)
      return {};
    bounds.push_back(boundOf(each, *form));
    if (bounds.back().columns != bounds.front().columns)
      return {};
  }
  return bounds.empty() ? std::nullopt : std::optional(std::move(bounds));
}

Value Distributor::comparePositions(Value keep, unsigned e) {
  auto bounds = positionBounds(keep);
  if (!bounds)
    return {};
  ThreadTile tile(cast<RankedTensorType>(keep.getType()));
  // The largest of a row's sums decides. Beside them lie the elements, and the first sum.
  unsigned place = tile.size() + 1 + tile.rowOffset(e);
  Value most = lookup(keep, place);
  if (!most) {
    for (const PositionBound &bound : *bounds) {
      Value sum = t.add(bound.first, bound.rows * tile.rowOffset(e));
      most = most ? arith::MaxSIOp::create(b, t.loc, most, sum).getResult() : sum;
    }
    define(keep, place, most);
  }
  int64_t offset = tile.isMatrix ? bounds->front().columns * tile.columnOffset(e) : 0;
  return t.less(most, t.constant(-offset));
}

Value Distributor::mayKeep(Value keep) {
  if (keep.getDefiningOp<arith::AndIOp>()) {
    Value all;
    for (Value each : conjuncts(keep))
      if (Value may = mayKeep(each))
        all = all ? t.both(all, may) : may;
    return all;
  }
  auto bounds = positionBounds(keep);
  if (!bounds)
    return {};
  // The thread's element that is the likeliest to hold has the smallest sum.
  const PositionBound &bound = bounds->front();
  ThreadTile tile(cast<RankedTensorType>(keep.getType()));
  int64_t offset = bound.rows < 0 ? bound.rows * (tile.rows() - 1) * 8 : 0;
  if (tile.isMatrix && bound.columns < 0)
    offset += bound.columns * ((tile.columnBlocks - 1) * 8 + 1);
  Value holds = t.less(bound.first, t.constant(-offset));
  return t.call("llvm.nvvm.vote.any.sync", t.i1, {t.constant(-1), holds});
}
