//===- BandStates.cpp - softmax states of the bands of a tile -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/BandStates.h"
#include "dialects/Flash/Transforms/TileMath.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

SmallVector<Value> flashc::flash::mergeBands(OpBuilder &b, Location loc, ValueRange state,
                                             int64_t rows, int32_t base) {
  TileMath math(b, loc, base);
  auto fold = [&](tile::ReduceKind kind, Value source) -> Value {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = rows;
    return tile::FoldOp::create(b, loc, tileOf(shape, type.getElementType()), kind, source);
  };
  Value ofBands = state[0];
  Value m = fold(tile::ReduceKind::MaxNum, ofBands);
  Value reference = tile::RepeatOp::create(b, loc, ofBands.getType(), math.safeReference(m));
  Value factor = math.rescale(ofBands, reference);
  Value l = fold(tile::ReduceKind::Sum, arith::MulFOp::create(b, loc, state[1], factor));
  // An empty state adds nothing, even where a value without weight made its acc NaN.
  Value added = math.scaleRows(state[2], factor);
  Value isEmpty = math.broadcast(math.isEmpty(ofBands, state[1]), added);
  added = arith::SelectOp::create(b, loc, isEmpty, math.constant(added.getType(), 0.0), added);
  SmallVector<Value> merged = {m, l, fold(tile::ReduceKind::Sum, added)};
  if (state.size() > merged.size())
    merged.push_back(fold(tile::ReduceKind::Max, state[3]));
  return merged;
}
