//===- SplitMaskedTiles.cpp - empty, full and partial key tiles -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/KeyRanges.h"
#include "dialects/Flash/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHSPLITMASKEDTILES
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// Clones `loop` over [from, to) with `init`; full tiles lose the mask and the end-of-sequence check.
ValueRange cloneLoop(OpBuilder &b, scf::ForOp loop, Value from, Value to, ValueRange init,
                     bool isFull) {
  auto copy = cast<scf::ForOp>(b.clone(*loop));
  copy.setLowerBound(from);
  copy.setUpperBound(to);
  copy.getInitArgsMutable().assign(init);
  if (isFull)
    copy.walk([&](OnlineAttentionOp op) {
      op.getMask().getBlocks().clear();
      op.setBoundary(false);
      // Every key of a full tile lies inside, so the tiles' valid sizes are their sizes.
      for (Value tile : {op.getK(), op.getV()})
        if (auto load = tile.getDefiningOp<tile::LoadOp>()) {
          OpBuilder local(load);
          int64_t rows = cast<RankedTensorType>(load.getTile().getType()).getDimSize(0);
          load.getValidMutable()[0].assign(Index(local, load.getLoc()).constant(rows));
        }
    });
  return copy.getResults();
}

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

  ValueRange state = loop.getInitArgs();
  if (!op.getMask().empty())
    state = cloneLoop(b, loop, begin, fullBegin, state, /*isFull=*/false);
  state = cloneLoop(b, loop, fullBegin, fullStop, state, /*isFull=*/true);
  state = cloneLoop(b, loop, fullStop, end, state, /*isFull=*/false);
  loop.replaceAllUsesWith(state);
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
