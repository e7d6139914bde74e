//===- Decompose.cpp - flash ops on tiles to the tile dialect -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/Passes.h"
#include "dialects/Flash/Transforms/RegionInliner.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/PatternMatch.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHDECOMPOSE
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

struct Scores {
  Value s;    // -inf where dropped
  Value keep; // null where everything is kept
};

/// Whether multiplying by `scale` can wait until after the maximum: it keeps the order, and -inf.
bool isPositive(const APFloat &scale) { return scale.isFiniteNonZero() && !scale.isNegative(); }

/// The scores of a tile: scale, score region, mask region, end of the sequence. `Op` is
/// flash.online_attention in its tile form or flash.scores. With `isScaled` false the products are left
/// without their scale.
template <typename Op>
Scores emitScores(OpBuilder &b, Op op, TileMath &math, bool isScaled, bool rowsAreHeads,
                  int64_t bands = 1) {
  Location loc = op.getLoc();
  int64_t rows = cast<RankedTensorType>(op.getQ().getType()).getDimSize(0) * bands;
  int64_t columns = cast<RankedTensorType>(op.getK().getType()).getDimSize(0) / bands;
  IntegerAttr banded = bands > 1 ? b.getI64IntegerAttr(bands) : IntegerAttr();
  SmallVector<int64_t> shape = {rows, columns};
  Type scoreType = tileOf(shape, b.getF32Type()), indexType = tileOf(shape, b.getIndexType());

  Scores result;
  result.s = tile::DotOp::create(b, loc, scoreType, op.getQ(), op.getK(), Value(), Value(),
                                 /*transpose_b=*/b.getUnitAttr(), /*idle_rows=*/UnitAttr(),
                                 /*loose=*/UnitAttr(), banded);
  if (isScaled && !op.getScale().isExactlyValue(1.0))
    result.s = arith::MulFOp::create(b, loc, result.s,
                                     math.constant(scoreType, op.getScale().convertToFloat()));

  auto at = op.getAt(); // b, h, i0, j0, sq, sk
  auto coords = [&](Value offset, int64_t dim) -> Value {
    return tile::CoordsOp::create(b, loc, indexType, offset, b.getI64IntegerAttr(dim), banded);
  };
  Value rowCoords = coords(rowsAreHeads ? at[1] : at[2], 0);
  Value h = rowsAreHeads ? rowCoords : at[1], i = rowsAreHeads ? at[2] : rowCoords;
  Value j = coords(at[3], 1);
  SmallVector<Value> arguments = {result.s, at[0], h, i, j, at[4], at[5]};
  llvm::append_range(arguments, op.getCaptures());
  auto asTile = [&](Value value) {
    return isa<RankedTensorType>(value.getType()) ? value : math.splat(value, shape);
  };
  if (!op.getScore().empty())
    result.s = asTile(inlineRegion(b, loc, op.getScore(), arguments, shape));
  if (!op.getMask().empty())
    result.keep =
        asTile(inlineRegion(b, loc, op.getMask(), ValueRange(arguments).drop_front(), shape));
  if (op.getBoundary()) {
    Value inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, j, math.splat(at[5], shape));
    result.keep = result.keep ? Value(arith::AndIOp::create(b, loc, inside, result.keep)) : inside;
  }
  if (result.keep)
    result.s =
        arith::SelectOp::create(b, loc, result.keep, result.s, math.negativeInfinity(scoreType));
  return result;
}

/// Whether the loop around `op` carries its state and nothing else, so that a row without a key to keep
/// changes nothing in a turn.
bool isLoopState(OnlineAttentionOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  return loop && llvm::equal(loop.getYieldedValues(), op.getResults()) &&
         llvm::equal(loop.getRegionIterArgs(), op.getInit());
}

UnitAttr flag(OpBuilder &b, bool isSet) { return isSet ? b.getUnitAttr() : UnitAttr(); }

/// The same with a reference that stays: weights are exp2(s c - m c), fused, and nothing is rescaled.
void lowerFixed(OpBuilder &b, OnlineAttentionOp op) {
  Location loc = op.getLoc();
  TileMath math(b, loc, op.getBase());
  bool isFolded = op.getScore().empty() && (!op.getRowMax() || isPositive(op.getScale()));
  Scores scores = emitScores(b, op, math, /*isScaled=*/!isFolded, op.getHeads(), op.getBands());
  Value m = op.getInit()[0];
  Value p = math.fusedExp(scores.s, isFolded ? op.getScale().convertToFloat() : 1.0, m);
  Value l = tile::ReduceOp::create(b, loc, m.getType(), tile::ReduceKind::Sum, p);
  l = arith::AddFOp::create(b, loc, op.getInit()[1], l);
  Value rounded = math.round(p, cast<RankedTensorType>(op.getV().getType()).getElementType());
  // A NaN of V that the mask drops shows in acc, and the exact attempt follows.
  Value keep = op.getMask().empty() ? Value() : scores.keep;
  Value acc =
      tile::DotOp::create(b, loc, op.getAcc().getType(), rounded, op.getV(), op.getInit()[2], keep,
                          /*transpose_b=*/UnitAttr(), flag(b, keep && isLoopState(op)),
                          /*loose=*/flag(b, bool(keep)), op.getBandsAttr());
  SmallVector<Value> results = {m, l, acc};
  if (op.getRowMax()) {
    Value top = tile::ReduceOp::create(b, loc, m.getType(), tile::ReduceKind::Max, scores.s);
    if (isFolded)
      top = arith::MulFOp::create(b, loc, top,
                                  math.constant(m.getType(), op.getScale().convertToFloat()));
    results.push_back(arith::MaximumFOp::create(b, loc, op.getInit()[3], top));
  }
  op.replaceAllUsesWith(results);
}

/// Algorithm 1, lines 9 to 13, with the running maximum as reference.
void lower(OpBuilder &b, OnlineAttentionOp op) {
  if (op.getFixed())
    return lowerFixed(b, op);
  Location loc = op.getLoc();
  TileMath math(b, loc, op.getBase());
  // Without a score region the maximum is that of the bare products, and scaled by rows.
  bool isFolded = op.getScore().empty() && isPositive(op.getScale());
  Scores scores = emitScores(b, op, math, /*isScaled=*/!isFolded, op.getHeads(), op.getBands());
  Type rowType = op.getM().getType();
  Value rowScale = math.constant(rowType, op.getScale().convertToFloat());

  bool hasInit = !op.getInit().empty();
  auto reduceMax = [&](tile::ReduceKind kind) -> Value {
    Value result = tile::ReduceOp::create(b, loc, rowType, kind, scores.s);
    return isFolded ? Value(arith::MulFOp::create(b, loc, result, rowScale)) : result;
  };
  Value m = reduceMax(tile::ReduceKind::MaxNum);
  if (hasInit)
    m = math.maximum(op.getInit()[0], m);
  Value reference = math.safeReference(m);
  // Product and difference are rounded apart, so that the maximum itself gives exactly 0 however large it is.
  Value scaled = scores.s;
  if (isFolded && !op.getScale().isExactlyValue(1.0))
    scaled = arith::MulFOp::create(b, loc, scaled,
                                   math.constant(scaled.getType(), op.getScale().convertToFloat()));
  Value shifted = arith::SubFOp::create(b, loc, scaled, math.broadcast(reference, scaled));
  Value p = math.exp(shifted);
  Value l = tile::ReduceOp::create(b, loc, rowType, tile::ReduceKind::Sum, p);
  Value acc;
  if (hasInit) {
    Value factor = math.rescale(op.getInit()[0], reference);
    l = arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, op.getInit()[1], factor), l);
    acc = math.scaleRows(op.getInit()[2], factor);
  }
  // P meets V in the input type; l has summed it unrounded.
  Value rounded = math.round(p, cast<RankedTensorType>(op.getV().getType()).getElementType());
  // Beyond the end of the sequence V is 0, as P is, so only what the mask drops must not be multiplied.
  Value keep = op.getMask().empty() ? Value() : scores.keep;
  acc = tile::DotOp::create(b, loc, op.getAcc().getType(), rounded, op.getV(), acc, keep,
                            /*transpose_b=*/UnitAttr(), flag(b, keep && isLoopState(op)),
                            /*loose=*/UnitAttr(), op.getBandsAttr());
  SmallVector<Value> results = {m, l, acc};
  if (op.getRowMax()) {
    results.push_back(reduceMax(tile::ReduceKind::Max));
    if (hasInit)
      results[3] = arith::MaximumFOp::create(b, loc, op.getInit()[3], results[3]);
  }
  op.replaceAllUsesWith(results);
}

void lower(OpBuilder &b, ScoresOp op) {
  TileMath math(b, op.getLoc(), 0);
  Scores scores = emitScores(b, op, math, /*isScaled=*/true, /*rowsAreHeads=*/false);
  if (!scores.keep)
    scores.keep = arith::ConstantOp::create(
        b, op.getLoc(), DenseElementsAttr::get(cast<ShapedType>(op.getKeep().getType()), true));
  op.replaceAllUsesWith(ValueRange{scores.s, scores.keep});
}

void lower(OpBuilder &b, MergeOp op) {
  Location loc = op.getLoc();
  TileMath math(b, loc, op.getBase());
  Value m = math.maximum(op.getM1(), op.getM2());
  Value reference = math.safeReference(m);
  Value f1 = math.rescale(op.getM1(), reference), f2 = math.rescale(op.getM2(), reference);
  Value l = arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, op.getL1(), f1),
                                  arith::MulFOp::create(b, loc, op.getL2(), f2));
  // An empty state adds nothing, even where a value without weight made its acc NaN.
  auto weighted = [&](Value m, Value l, Value acc, Value factor) -> Value {
    return arith::SelectOp::create(b, loc, math.broadcast(math.isEmpty(m, l), acc),
                                   math.constant(acc.getType(), 0.0), math.scaleRows(acc, factor));
  };
  Value acc = arith::AddFOp::create(b, loc, weighted(op.getM1(), op.getL1(), op.getAcc1(), f1),
                                    weighted(op.getM2(), op.getL2(), op.getAcc2(), f2));
  op.replaceAllUsesWith(ValueRange{m, l, acc});
}

void lower(OpBuilder &b, SinkStateOp op) {
  Location loc = op.getLoc();
  TileMath math(b, loc, 0);
  auto rowType = cast<RankedTensorType>(op.getM().getType());
  Value m = op.getSinks();
  if (m.getType() != rowType)
    m = math.splat(m, rowType.getShape());
  op.replaceAllUsesWith(
      ValueRange{m, math.constant(rowType, 1.0), math.constant(op.getAcc().getType(), 0.0)});
}

void lower(OpBuilder &b, FinalizeOp op) {
  Location loc = op.getLoc();
  TileMath math(b, loc, 0);
  Type rowType = op.getL().getType();
  Value one = math.constant(rowType, 1.0);
  Value empty = math.isEmpty(op.getM(), op.getL());
  // An empty row has acc = 0, so dividing it by 1 gives the 0 that it should.
  Value divisor = arith::SelectOp::create(b, loc, empty, one, op.getL());
  Value o = arith::DivFOp::create(b, loc, op.getAcc(), math.broadcast(divisor, op.getAcc()));
  Value zero = math.constant(o.getType(), 0.0);
  o = arith::SelectOp::create(b, loc, math.broadcast(empty, o), zero, o);
  Value lse = arith::AddFOp::create(b, loc, op.getM(), math::LogOp::create(b, loc, divisor));
  Type element = cast<RankedTensorType>(op.getO().getType()).getElementType();
  op.replaceAllUsesWith(ValueRange{math.round(o, element), lse});
}

/// Emits an error where an array that is read does not lie in memory.
LogicalResult expectMemory(Operation *op, ValueRange arrays) {
  for (Value array : arrays)
    if (!isa<MemRefType>(array.getType()))
      return op->emitOpError() << "expected captures in memory, got " << array.getType()
                               << "; run flash-tile first";
  return success();
}

struct Decompose : flash::impl::FlashDecomposeBase<Decompose> {
  void runOnOperation() override {
    WalkResult result =
        getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
          OpBuilder b(op);
          return llvm::TypeSwitch<Operation *, WalkResult>(op)
              .Case([&](OnlineAttentionOp online) {
                if (!online.isTile()) {
                  online.emitOpError()
                      << "expected the tile form, got whole tensors; run flash-tile "
                         "first";
                  return WalkResult::interrupt();
                }
                if (failed(expectMemory(op, online.getCaptures())))
                  return WalkResult::interrupt();
                lower(b, online);
                op->erase();
                return WalkResult::skip();
              })
              .Case<ScoresOp, MergeOp, SinkStateOp, FinalizeOp>([&](auto typed) {
                if (cast<ShapedType>(op->getResult(0).getType()).getRank() > 2) {
                  op->emitOpError()
                      << "expected the tile form, got whole tensors; run flash-tile first";
                  return WalkResult::interrupt();
                }
                if (auto scores = dyn_cast<ScoresOp>(op))
                  if (failed(expectMemory(op, scores.getCaptures())))
                    return WalkResult::interrupt();
                lower(b, typed);
                op->erase();
                return WalkResult::skip();
              })
              .Case([&](ReadOp read) {
                if (failed(expectMemory(op, read.getArray())))
                  return WalkResult::interrupt();
                read.replaceAllUsesWith(lowerScalarRead(b, read));
                op->erase();
                return WalkResult::skip();
              })
              .Default(WalkResult::advance());
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
