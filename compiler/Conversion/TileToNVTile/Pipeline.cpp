//===- Pipeline.cpp - software-pipelined copies of key tiles --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToNVTile/Pipeline.h"
#include "dialects/Flash/Transforms/Index.h"

using namespace mlir;
using namespace flashc;

using flash::Index;

bool flashc::feedsProduct(tile::LoadOp load) {
  return llvm::any_of(load->getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.getOperandNumber() < 2;
  });
}

static SmallVector<tile::LoadOp> loadsForProducts(scf::ForOp loop) {
  SmallVector<tile::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>())
    if (feedsProduct(load))
      loads.push_back(load);
  return loads;
}

static bool loadsAlike(ArrayRef<tile::LoadOp> a, ArrayRef<tile::LoadOp> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           tile::LoadOp x = std::get<0>(pair), y = std::get<1>(pair);
           return x.getSource() == y.getSource() && x.getDims() == y.getDims() &&
                  x.getTile().getType() == y.getTile().getType();
         });
}

SmallVector<LoopChain> flashc::findChains(Block &block) {
  SmallVector<LoopChain> chains;
  LoopChain *open = nullptr;
  for (Operation &op : block) {
    auto loop = dyn_cast<scf::ForOp>(op);
    SmallVector<tile::LoadOp> loads = loop ? loadsForProducts(loop) : SmallVector<tile::LoadOp>();
    if (loads.empty()) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          llvm::append_range(chains, findChains(inner));
      if (op.getNumRegions())
        open = nullptr; // `chains` may have moved, and the stream of tiles is interrupted
      continue;
    }
    if (open && open->loops.back().getUpperBound() == loop.getLowerBound() &&
        open->loops.back().getStep() == loop.getStep() && loadsAlike(open->loads.front(), loads)) {
      open->loops.push_back(loop);
      open->loads.push_back(loads);
      continue;
    }
    open = &chains.emplace_back(LoopChain{{loop}, {loads}});
  }
  return chains;
}

Value SharedBuffers::get(tile::LoadOp load, int64_t stages, unsigned n) {
  auto tensor = cast<RankedTensorType>(load.getTile().getType());
  auto type = nvtile::SharedType::get(load.getContext(), stages, tensor.getDimSize(0),
                                      tensor.getDimSize(1), tensor.getElementType());
  Value &buffer = buffers[{type, n}];
  if (!buffer) {
    OpBuilder b = OpBuilder::atBlockBegin(&entry);
    buffer = nvtile::AllocOp::create(b, load.getLoc(), type);
    total += type.getBytes();
  }
  return buffer;
}

void flashc::emitCopy(OpBuilder &b, tile::LoadOp load, ValueRange offsets, ValueRange valid,
                      const SharedTile &to) {
  nvtile::CopyOp::create(b, load.getLoc(), load.getSource(), offsets, valid, load.getDims(),
                         to.buffer, to.stage);
}

namespace {

/// Computes values of a loop's body for another value of its induction variable, elsewhere.
class BodyCloner {
public:
  BodyCloner(OpBuilder &b, scf::ForOp loop, Value at) : b(b), body(loop.getBody()) {
    map.map(loop.getInductionVar(), at);
  }

  Value clone(Value value) {
    if (Value known = map.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != body)
      return value; // does not depend on the iteration
    for (Value operand : op->getOperands())
      clone(operand);
    Operation *copy = b.clone(*op, map);
    return copy->getResult(cast<OpResult>(value).getResultNumber());
  }
  SmallVector<Value> clone(ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values)
      result.push_back(clone(value));
    return result;
  }

private:
  OpBuilder &b;
  Block *body;
  IRMapping map;
};

class ChainPipeline {
public:
  ChainPipeline(LoopChain &chain, int64_t stages, SharedBuffers &buffers)
      : chain(chain), stages(stages), begin(chain.loops.front().getLowerBound()),
        end(scf::ForOp(chain.loops.back()).getUpperBound()), step(chain.loops.front().getStep()) {
    for (auto [n, load] : llvm::enumerate(chain.loads.front()))
      shared.push_back(buffers.get(load, stages, n));
  }

  void emit(llvm::DenseMap<Value, SharedTile> &tiles) {
    emitPrologue();
    for (auto [loop, loads] : llvm::zip(chain.loops, chain.loads)) {
      OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
      Value stage = emitTurn(b, loop);
      for (auto [load, buffer] : llvm::zip(loads, shared))
        tiles[load.getTile()] = {buffer, stage};
    }
  }

private:
  /// Begins the copies of the tile at `j` where there is one. The last loop's loads are used: it is they that
  /// know of the sequence's end.
  void emitCopies(OpBuilder &b, Location loc, Value j, Value stage) {
    Value isThere = Index(b, loc).lt(j, end);
    auto branch = scf::IfOp::create(b, loc, isThere, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    scf::ForOp last = chain.loops.back();
    BodyCloner cloner(inner, last, j);
    for (auto [load, buffer] : llvm::zip(chain.loads.back(), shared))
      ::emitCopy(inner, load, cloner.clone(load.getOffsets()), cloner.clone(load.getValid()),
                 {buffer, stage});
  }

  void emitPrologue() {
    scf::ForOp first = chain.loops.front();
    OpBuilder b(first);
    Location loc = first.getLoc();
    Index x(b, loc);
    // Threads may still read what an earlier chain left in the buffers.
    nvtile::BarrierOp::create(b, loc);
    for (int64_t s = 0; s + 1 < stages; ++s) {
      Value j = begin;
      for (int64_t n = 0; n < s; ++n)
        j = x.add(j, step);
      emitCopies(b, loc, j, x.constant(s));
      nvtile::CommitOp::create(b, loc);
    }
    if (stages == 1)
      nvtile::CommitOp::create(b, loc);
  }

  /// One turn of the pipeline at the beginning of a body; returns the stage that holds its tiles.
  Value emitTurn(OpBuilder &b, scf::ForOp loop) {
    Location loc = loop.getLoc();
    Index x(b, loc);
    Value j = loop.getInductionVar();
    if (stages == 1) {
      Value zero = x.constant(0);
      nvtile::BarrierOp::create(b, loc);
      emitCopies(b, loc, j, zero);
      nvtile::CommitOp::create(b, loc);
      nvtile::WaitOp::create(b, loc, 0);
      return zero;
    }
    Value turn = x.div(x.sub(j, begin), step), count = x.constant(stages);
    Value stage = x.rem(turn, count);
    // All but the newest stages - 2 groups are complete: among them this turn's. The threads have met, so
    // that nobody reads the stage that is filled next.
    nvtile::WaitOp::create(b, loc, stages - 2);
    Value ahead = x.constant(stages - 1);
    emitCopies(b, loc, x.add(j, x.mul(step, ahead)), x.rem(x.add(turn, ahead), count));
    nvtile::CommitOp::create(b, loc);
    return stage;
  }

  LoopChain &chain;
  int64_t stages;
  Value begin, end, step;
  SmallVector<Value> shared;
};

} // namespace

void flashc::pipelineChain(LoopChain &chain, int64_t stages, SharedBuffers &buffers,
                           llvm::DenseMap<Value, SharedTile> &tiles) {
  ChainPipeline(chain, stages, buffers).emit(tiles);
}
