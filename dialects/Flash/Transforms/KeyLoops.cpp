//===- KeyLoops.cpp - loops over full and over partial tiles --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KeyLoops.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Tile/IR/Tile.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

scf::ForOp flashc::flash::cloneLoop(OpBuilder &b, scf::ForOp loop, Value from, Value to,
                                    ValueRange init) {
  auto copy = cast<scf::ForOp>(b.clone(*loop));
  copy.setLowerBound(from);
  copy.setUpperBound(to);
  copy.getInitArgsMutable().assign(init);
  return copy;
}

void flashc::flash::makeFull(scf::ForOp loop) {
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

void flashc::flash::jump(scf::ForOp loop, Value from, Value distance) {
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

ValueRange flashc::flash::emitLoops(OpBuilder &b, scf::ForOp loop, const KeyLoops &loops,
                                    ValueRange state,
                                    llvm::function_ref<void(OnlineAttentionOp)> adapt) {
  scf::ForOp full = cloneLoop(b, loop, loops.fullBegin, loops.fullEnd, state);
  makeFull(full);
  scf::ForOp partial = cloneLoop(b, loop, loops.partialBegin, loops.partialEnd, full.getResults());
  if (loops.skipped)
    jump(partial, loops.fullBegin, loops.skipped);
  if (adapt)
    for (scf::ForOp each : {full, partial})
      each.walk([&](OnlineAttentionOp op) { adapt(op); });
  return partial.getResults();
}
