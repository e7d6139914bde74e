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

/// Clones `loop` over [from, to) with `init`.
scf::ForOp cloneLoop(OpBuilder &b, scf::ForOp loop, Value from, Value to, ValueRange init) {
  auto copy = cast<scf::ForOp>(b.clone(*loop));
  copy.setLowerBound(from);
  copy.setUpperBound(to);
  copy.getInitArgsMutable().assign(init);
  return copy;
}

/// Makes the tiles of `loop` full ones, without the mask and the end-of-sequence check.
void makeFull(scf::ForOp loop) {
  loop.walk([&](OnlineAttentionOp op) {
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
}

/// Makes the turns of `loop` from `from` on stand for tiles that lie `distance` keys further.
void jump(scf::ForOp loop, Value from, Value distance) {
  Value turn = loop.getInductionVar();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : turn.getUses())
    uses.push_back(&use);
  OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
  Index x(b, loop.getLoc());
  Value key = x.select(x.lt(turn, from), turn, x.add(turn, distance));
  for (OpOperand *use : uses)
    use->set(key);
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

  // The order of tiles is free. Partial ones before and after the full ones share a loop, half of the code.
  scf::ForOp full = cloneLoop(b, loop, fullBegin, fullStop, loop.getInitArgs());
  makeFull(full);
  Value skipped = x.sub(fullStop, fullBegin);
  scf::ForOp partial;
  if (op.getMask().empty()) {
    partial = cloneLoop(b, loop, fullStop, end, full.getResults());
  } else {
    partial = cloneLoop(b, loop, begin, x.sub(end, skipped), full.getResults());
    jump(partial, fullBegin, skipped);
  }
  loop.replaceAllUsesWith(partial.getResults());
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
