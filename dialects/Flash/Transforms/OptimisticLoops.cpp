//===- OptimisticLoops.cpp - exponents relative to a fixed reference ------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/OptimisticLoops.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/KernelBuilder.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// |m| up to which s c - m c may be fused: 2^12 in units of the exponent.
constexpr double kFusedReferenceBound = 4096 * llvm::numbers::ln2;
/// Keys whose scores a reference is taken from: any will do. Where scores depend on positions, so many are looked at
/// in every kPeekStep of those near the diagonal, where scores that fall with the distance are largest.
constexpr int64_t kPeekedKeys = 16, kPeekStep = 32;
/// Sums of weights between which an optimistic reference has lost no accuracy: below, weights may have been
/// flushed; the upper one is half of f32's range.
constexpr double kLeastWeight = 0x1p-60, kMostWeight = 0x1p126;
/// The same where LSE = m + log l is a result: what m and log l cancel is lost.
constexpr double kLeastWeightOfLSE = 0x1p-24, kMostWeightOfLSE = 0x1p40;

/// Whether the rows of an optimistic state are right, and those that matter none the less finite: nothing
/// overflowed, the reference is in the range of fused exponents, and the weights, at least 1 in sum where the first
/// tile has a key of the row, did not vanish otherwise. With `passesNaNs` a row is also right where its weights are NaN,
/// as they are for a kept NaN score alone: it must not change the last bits of the rows beside it.
Value emitCheck(OpBuilder &b, Location loc, OnlineAttentionOp op, Value reference, Value l,
                Value acc, bool isForLSE, bool passesNaNs) {
  Index x(b, loc);
  TileMath math(b, loc, op.getBase());
  auto compare = [&](arith::CmpFPredicate predicate, Value value, double bound) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, value, math.constant(value.getType(), bound));
  };
  Value size = math::AbsFOp::create(b, loc, reference);
  Value isRight = compare(arith::CmpFPredicate::OLE, size, kFusedReferenceBound);
  double least = isForLSE ? kLeastWeightOfLSE : kLeastWeight;
  double most = isForLSE ? kMostWeightOfLSE : kMostWeight;
  auto orNaN = [&](arith::CmpFPredicate ordered, arith::CmpFPredicate unordered) {
    return passesNaNs ? unordered : ordered;
  };
  auto atLeast = orNaN(arith::CmpFPredicate::OGE, arith::CmpFPredicate::UGE);
  auto atMost = orNaN(arith::CmpFPredicate::OLE, arith::CmpFPredicate::ULE);
  isRight = x.both(isRight, compare(atLeast, l, least));
  isRight = x.both(isRight, compare(atMost, l, most));
  // Rows of the tile beyond the last query do not matter.
  if (auto load = op.getQ().getDefiningOp<tile::LoadOp>()) {
    auto rowType = cast<RankedTensorType>(l.getType());
    Value row = tile::CoordsOp::create(b, loc, tileOf(rowType.getShape(), b.getIndexType()),
                                       x.constant(0), 0);
    Value isPadding = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row,
                                            math.splat(load.getValid()[0], rowType.getShape()));
    isRight = arith::OrIOp::create(b, loc, isRight, isPadding);
  }
  // A NaN in a value of V that was masked off comes to light here too.
  Value isFinite = compare(arith::CmpFPredicate::OLE, math::AbsFOp::create(b, loc, acc),
                           std::numeric_limits<float>::max());
  if (passesNaNs) {
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, l, l);
    isFinite = x.either(isFinite, math.broadcast(isNaN, acc));
  }
  return tile::AllOp::create(b, loc, b.getI1Type(), x.both(isFinite, math.broadcast(isRight, acc)));
}

/// Makes `load` that of the tile's first rows alone; `b` stands where the load may go.
void takeRows(OpBuilder &b, tile::LoadOp load, int64_t rows) {
  auto type = cast<RankedTensorType>(load.getTile().getType());
  load.getTile().setType(type.clone({rows, type.getDimSize(1)}));
  load.getValidMutable()[0].assign(Index(b, load.getLoc()).min(load.getValid()[0], rows));
}

/// The row maxima of the first keys in each `step` of [from, to), or -inf.
scf::ForOp emitPeek(OpBuilder &b, scf::ForOp loop, OnlineAttentionOp op, Value from, Value to,
                    Value step) {
  Location loc = loop.getLoc();
  auto body = [&](OpBuilder &inner, Location, Value j, ValueRange carried) {
    IRMapping map;
    map.map(loop.getInductionVar(), j);
    for (Operation &each : *loop.getBody()) {
      if (&each == op.getOperation())
        break;
      inner.clone(each, map);
    }
    SmallVector<Value> at, captures;
    for (Value value : op.getAt())
      at.push_back(map.lookupOrDefault(value));
    for (Value value : op.getCaptures())
      captures.push_back(map.lookupOrDefault(value));
    Value q = map.lookupOrDefault(op.getQ());
    auto load = map.lookupOrDefault(op.getK()).getDefiningOp<tile::LoadOp>();
    int64_t rows = cast<RankedTensorType>(load.getTile().getType()).getDimSize(0);
    int64_t keys = std::min(rows, kPeekedKeys);
    takeRows(inner, load, keys);
    Value k = load.getTile();
    load->moveBefore(inner.getBlock(), inner.getBlock()->end());
    SmallVector<int64_t> shape = {cast<RankedTensorType>(q.getType()).getDimSize(0), keys};
    auto scores = ScoresOp::create(inner, loc, tileOf(shape, inner.getF32Type()),
                                   tileOf(shape, inner.getI1Type()), q, k, at, captures,
                                   op.getScaleAttr(), op.getBoundaryAttr());
    cloneRegionOnMemory(op.getScore(), scores.getScore(), captures);
    cloneRegionOnMemory(op.getMask(), scores.getMask(), captures);
    Value m = tile::ReduceOp::create(inner, loc, carried[0].getType(), tile::ReduceKind::MaxNum,
                                     scores.getS());
    scf::YieldOp::create(inner, loc, TileMath(inner, loc, op.getBase()).maximum(carried[0], m));
  };
  return scf::ForOp::create(b, loc, from, to, step, loop.getInitArgs()[0], body);
}

/// References for the rows: maxima of a few scores.
Value emitReference(OpBuilder &b, scf::ForOp loop, OnlineAttentionOp op, const KeyLoops &loops,
                    Value begin, Value end) {
  Location loc = loop.getLoc();
  Index x(b, loc);
  auto at = op.getAt(); // b, h, i0, j0, sq, sk
  bool isPositional = !op.getScore().empty() && !op.getScore().getArgument(4).use_empty();
  if (isPositional) {
    int64_t rows = cast<RankedTensorType>(op.getQ().getType()).getDimSize(0);
    Value diagonal = x.sub(x.add(at[2], at[5]), at[4]);
    Value from = x.max(x.min(diagonal, x.sub(end, 1)), begin);
    from = x.add(begin, x.roundDown(x.sub(from, begin), kPeekedKeys));
    Value to = x.min(x.add(from, rows), end);
    return emitPeek(b, loop, op, from, to, x.constant(kPeekStep)).getResult(0);
  }
  // The tile that the loops begin with, a full one where there is one.
  Value hasFull = x.lt(loops.fullBegin, loops.fullEnd);
  Value first = x.select(hasFull, loops.fullBegin, begin);
  Value last = x.select(hasFull, loops.fullEnd, end);
  scf::ForOp peek =
      emitPeek(b, loop, op, first, x.min(x.add(first, loop.getStep()), last), loop.getStep());
  peek->setAttr(tile::kPeekAttrName, b.getUnitAttr());
  return peek.getResult(0);
}

/// Whether the kernel around `op` returns LSE.
bool returnsLSE(Operation *op) {
  WalkResult walked = op->getParentOfType<func::FuncOp>().walk([](FinalizeOp finalize) {
    return finalize.getLse().use_empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return walked.wasInterrupted();
}

} // namespace

bool flashc::flash::isOptimistic(ScheduleAttr schedule) {
  // Rows of heads are few.
  return schedule && schedule.getReference() == Reference::Optimistic &&
         schedule.getRows() != RowKind::Heads;
}

func::CallOp flashc::flash::rescueAfter(scf::ForOp loop) {
  Block &block = *loop->getBlock();
  auto isBefore = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != &block || op->isBeforeInBlock(loop);
  };
  for (auto call : block.getOps<func::CallOp>())
    if (call->hasAttr(kRescueAttrName) && loop->isBeforeInBlock(call) &&
        llvm::all_of(call.getOperands(), isBefore) && block.getTerminator()->getNumOperands() == 0)
      return call;
  return {};
}

SmallVector<Value> flashc::flash::emitOptimistic(OpBuilder &b, scf::ForOp loop,
                                                 OnlineAttentionOp op, const KeyLoops &loops,
                                                 Value begin, Value end, func::CallOp rescue) {
  Location loc = loop.getLoc();
  Value m = emitReference(b, loop, op, loops, begin, end);
  m = TileMath(b, loc, op.getBase()).safeReference(m);
  ValueRange state = emitLoops(b, loop, loops, {m, loop.getInitArgs()[1], loop.getInitArgs()[2]},
                               [](OnlineAttentionOp each) { each.setFixed(true); });
  Value isRight = emitCheck(b, loc, op, m, state[1], state[2], returnsLSE(op),
                            /*passesNaNs=*/false);
  auto branch = scf::IfOp::create(b, loc, isRight, /*withElseRegion=*/true);
  auto rest = llvm::make_range(std::next(loop->getIterator()),
                               loop->getBlock()->getTerminator()->getIterator());
  for (Operation &each : llvm::make_early_inc_range(rest)) {
    Block *side = &each == rescue ? branch.elseBlock() : branch.thenBlock();
    each.moveBefore(side->getTerminator());
  }
  return {m, state[1], state[2]};
}

SmallVector<Value> flashc::flash::emitOptimisticFull(OpBuilder &b, scf::ForOp loop,
                                                     OnlineAttentionOp op, const KeyLoops &loops,
                                                     Value begin, Value end) {
  Location loc = loop.getLoc();
  Index x(b, loc);
  Value m = emitReference(b, loop, op, loops, begin, end);
  m = TileMath(b, loc, op.getBase()).safeReference(m);
  SmallVector<Value> state(loop.getInitArgs());
  state[0] = m;
  scf::ForOp full = cloneLoop(b, loop, loops.fullBegin, loops.fullEnd, state);
  makeFull(full);
  full.walk([](OnlineAttentionOp each) { each.setFixed(true); });
  // Without any full tile there are no weights either. O has the same bits whether LSE is asked for or not.
  Value isRight = emitCheck(b, loc, op, m, full.getResult(1), full.getResult(2),
                            /*isForLSE=*/true, /*passesNaNs=*/true);
  llvm::copy(full.getResults().drop_front(), state.begin() + 1);
  for (auto [value, init] : llvm::zip(state, loop.getInitArgs()))
    value = arith::SelectOp::create(b, loc, isRight, value, init);

  Value done = x.select(isRight, x.sub(loops.fullEnd, loops.fullBegin), x.constant(0));
  if (!loops.skipped) // the full tiles come first
    return llvm::to_vector_of<Value>(
        cloneLoop(b, loop, x.add(begin, done), end, state).getResults());
  scf::ForOp rest = cloneLoop(b, loop, begin, x.sub(end, done), state);
  jump(rest, loops.fullBegin, done);
  return llvm::to_vector_of<Value>(rest.getResults());
}
