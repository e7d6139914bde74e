//===- SplitMaskedTiles.cpp - empty, full and partial key tiles -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/KeyRanges.h"
#include "dialects/Flash/Transforms/OptimisticLoops.h"
#include "dialects/Flash/Transforms/Passes.h"
#include "dialects/Flash/Transforms/Schedules.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHSPLITMASKEDTILES
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

void split(scf::ForOp loop, OnlineAttentionOp op) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Index x(b, loc);
  auto at = op.getAt(); // b, h, i0, j0, sq, sk
  int64_t bc = cast<RankedTensorType>(op.getK().getType()).getDimSize(0);
  int64_t queries = op.getHeads() ? 1 : cast<RankedTensorType>(op.getQ().getType()).getDimSize(0);
  // The keys at hand: all of the sequence, or a part.
  Value first = loop.getLowerBound(), last = loop.getUpperBound(), sk = at[5];
  Value begin = first, end = last, fullBegin = first, fullEnd = last;
  if (!op.getMask().empty()) {
    QueryBox box = {at[0], at[1], at[2], x.min(x.add(at[2], queries), at[4]), at[4], sk};
    KeyRanges ranges = emitKeyRanges(b, loc, op.getMask(), box, op.getCaptures());
    end = x.min(ranges.maybeEnd, last);
    begin = x.max(x.roundDown(ranges.maybeBegin, bc), first);
    Value isEmpty = x.either(x.le(end, begin), x.le(ranges.maybeEnd, ranges.maybeBegin));
    begin = x.select(isEmpty, end, begin);
    fullBegin = x.max(x.roundUp(ranges.fullBegin, bc), begin);
    fullEnd = x.min(ranges.fullEnd, last);
  }
  // Full tiles lie wholly in [fullBegin, fullEnd); without any, all tiles go to the last loop.
  Value fullStop = x.roundDown(fullEnd, bc);
  Value none = x.le(fullStop, fullBegin);
  fullBegin = x.select(none, begin, fullBegin);
  fullStop = x.select(none, begin, fullStop);

  // The order of tiles is free. Partial ones before and after the full ones share a loop, half of the code:
  // its turns are their keys without the full ones between.
  KeyLoops loops = {fullBegin, fullStop, begin, end, Value()};
  if (op.getMask().empty()) {
    loops.partialBegin = fullStop;
  } else {
    loops.skipped = x.sub(fullStop, fullBegin);
    loops.partialEnd = x.sub(end, loops.skipped);
  }
  // On CPUs score expressions take the exact strategy: some make the first keys the least of a row, as ALiBi does, and
  // would have every tile computed twice.
  SmallVector<Value> results;
  if (func::CallOp rescue = rescueAfter(loop); rescue && isFor(op, TargetKind::GPU))
    results = emitOptimistic(b, loop, op, loops, begin, end, rescue);
  else if (isFor(op, TargetKind::CPU) && isOptimistic(scheduleOf(op)) && op.getScore().empty())
    results = emitOptimisticFull(b, loop, op, loops, begin, end);
  else if (loop->getParentOfType<func::FuncOp>()->hasAttr(kRescueAttrName))
    // Hardly ever run: one loop is the least code.
    results =
        llvm::to_vector_of<Value>(cloneLoop(b, loop, begin, end, loop.getInitArgs()).getResults());
  else
    results = llvm::to_vector_of<Value>(emitLoops(b, loop, loops, loop.getInitArgs(), {}));
  loop.replaceAllUsesWith(results);
  loop.erase();
}

struct SplitMaskedTiles : flash::impl::FlashSplitMaskedTilesBase<SplitMaskedTiles> {
  void runOnOperation() override {
    SmallVector<std::pair<scf::ForOp, OnlineAttentionOp>> loops;
    getOperation().walk([&](OnlineAttentionOp op) {
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      // The loop over key tiles: its induction variable is the tile's first key.
      // Where rows are heads, a mask that tells heads apart has no one range of keys.
      if (op.getHeads() && !op.getMask().empty() && !op.getMask().getArgument(1).use_empty())
        return;
      if (loop && op.isTile() && op.getBoundary() && op.getAt()[3] == loop.getInductionVar())
        loops.push_back({loop, op});
    });
    for (auto [loop, op] : loops)
      split(loop, op);
  }
};

} // namespace
