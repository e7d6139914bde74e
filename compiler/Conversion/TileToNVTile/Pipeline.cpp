//===- Pipeline.cpp - software-pipelined copies of key tiles --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToNVTile/Pipeline.h"
#include "dialects/Flash/Transforms/Index.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace flashc;

using flash::Index;

bool flashc::feedsProduct(tile::LoadOp load) {
  return llvm::any_of(load->getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.getOperandNumber() < 2;
  });
}

/// The loads of a loop's body that products read; none for a loop around such loops.
static SmallVector<tile::LoadOp> loadsForProducts(scf::ForOp loop) {
  SmallVector<tile::LoadOp> loads;
  bool isOuter = false;
  loop.walk([&](tile::LoadOp load) {
    isOuter |= load->getBlock() != loop.getBody() && feedsProduct(load);
  });
  if (isOuter)
    return loads;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>())
    if (feedsProduct(load))
      loads.push_back(load);
  return loads;
}

static bool isAlike(tile::LoadOp a, tile::LoadOp b) {
  return a.getSource() == b.getSource() && a.getDims() == b.getDims() &&
         a.getTable() == b.getTable() && a.getTile().getType() == b.getTile().getType();
}

/// Whether `a` loads the first rows of what `b` loads, or all of them.
static bool isPrefix(tile::LoadOp a, tile::LoadOp b) {
  auto small = cast<RankedTensorType>(a.getTile().getType());
  auto large = cast<RankedTensorType>(b.getTile().getType());
  return a.getSource() == b.getSource() && a.getDims() == b.getDims() &&
         a.getTable() == b.getTable() && small.getDimSize(0) <= large.getDimSize(0) &&
         small.getDimSize(1) == large.getDimSize(1);
}

static bool loadsAlike(ArrayRef<tile::LoadOp> a, ArrayRef<tile::LoadOp> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return isAlike(std::get<0>(pair), std::get<1>(pair));
         });
}

/// Moves what computes `value` before `place`; false where that depends on a loop.
static bool hoist(Value value, Operation *place) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place))
    return true;
  if (op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  for (Value operand : op->getOperands())
    if (!hoist(operand, place))
      return false;
  op->moveBefore(place);
  return true;
}

SmallVector<LoopChain> flashc::findChains(Block &block) {
  SmallVector<LoopChain> chains;
  LoopChain *open = nullptr;
  scf::ForOp peek;
  // A look at tiles that the loop after it does not load is a loop like any other.
  auto closePeek = [&] {
    if (peek)
      chains.push_back(LoopChain{{}, {}, {peek}, {loadsForProducts(peek)}});
    peek = {};
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto loop = dyn_cast<scf::ForOp>(op);
    SmallVector<tile::LoadOp> loads = loop ? loadsForProducts(loop) : SmallVector<tile::LoadOp>();
    if (loads.empty()) {
      if (op.getNumRegions())
        closePeek();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          llvm::append_range(chains, findChains(inner));
      if (op.getNumRegions())
        open = nullptr; // `chains` may have moved, and the stream of tiles is interrupted
      continue;
    }
    if (op.hasAttr(tile::kPeekAttrName)) {
      closePeek();
      peek = loop;
      open = nullptr;
      continue;
    }
    Operation *first = open ? open->first() : nullptr;
    if (open && open->loops.front().getStep() == loop.getStep() &&
        loadsAlike(open->loads.front(), loads) && hoist(loop.getLowerBound(), first) &&
        hoist(loop.getUpperBound(), first)) {
      open->loops.push_back(loop);
      open->loads.push_back(loads);
      continue;
    }
    bool isLook =
        peek && llvm::all_of(loadsForProducts(peek), [&](tile::LoadOp look) {
          return llvm::any_of(loads, [&](tile::LoadOp load) { return isPrefix(look, load); });
        });
    if (!isLook)
      closePeek();
    open = &chains.emplace_back(LoopChain{peek, {}, {loop}, {loads}});
    if (peek) {
      open->peekLoads = loadsForProducts(peek);
      hoist(loop.getLowerBound(), peek);
      hoist(loop.getUpperBound(), peek);
    }
    peek = {};
  }
  closePeek();
  return chains;
}

Value SharedBuffers::get(tile::LoadOp load, int64_t stages, unsigned n) {
  auto tensor = cast<RankedTensorType>(load.getTile().getType());
  auto type = nvtile::SharedType::get(load.getContext(), stages, tensor.getDimSize(0),
                                      tensor.getDimSize(1), tensor.getElementType());
  auto &known = buffers[n];
  nvtile::AllocOp below;
  for (nvtile::AllocOp buffer : known) {
    auto its = cast<nvtile::SharedType>(buffer.getResult().getType());
    if (its == type)
      return buffer;
    if (!buffer.getOver() && its.getBytes() >= type.getBytes())
      below = buffer;
  }
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  if (below)
    b.setInsertionPointAfter(below);
  auto made = nvtile::AllocOp::create(b, load.getLoc(), type, below ? below.getResult() : Value());
  if (!below) {
    total += type.getBytes();
    for (nvtile::AllocOp smaller : known)
      if (!smaller.getOver()) {
        smaller.getOverMutable().assign(made.getResult());
        total -= cast<nvtile::SharedType>(smaller.getResult().getType()).getBytes();
      }
  }
  known.push_back(made);
  return made;
}

Value SharedBuffers::getOwn(Location loc, nvtile::SharedType type) {
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  total += type.getBytes();
  return nvtile::AllocOp::create(b, loc, type, Value());
}

Value SharedBuffers::getOver(Location loc, nvtile::SharedType type) {
  nvtile::AllocOp largest;
  auto bytesOf = [](nvtile::AllocOp buffer) {
    return cast<nvtile::SharedType>(buffer.getResult().getType()).getBytes();
  };
  for (auto alloc : entry.getOps<nvtile::AllocOp>())
    if (!alloc.getOver() && (!largest || bytesOf(alloc) > bytesOf(largest)))
      largest = alloc;
  if (!largest || bytesOf(largest) < type.getBytes())
    return getOwn(loc, type);
  OpBuilder b(entry.getParentOp()->getContext());
  b.setInsertionPointAfter(largest);
  return nvtile::AllocOp::create(b, loc, type, largest.getResult());
}

SmallVector<Value> flashc::placeOf(tile::LoadOp load) {
  SmallVector<Value> place(load.getOffsets());
  if (load.getTable())
    place.push_back(load.getTableRow());
  llvm::append_range(place, load.getValid());
  return place;
}

void flashc::emitCopy(OpBuilder &b, tile::LoadOp load, ValueRange place, const SharedTile &to) {
  size_t rank = load.getOffsets().size();
  bool isPaged = bool(load.getTable());
  nvtile::CopyOp::create(b, load.getLoc(), load.getSource(), place.take_front(rank),
                         load.getTable(), isPaged ? place[rank] : Value(),
                         place.drop_front(rank + isPaged), load.getDims(), to.buffer, to.stage);
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

/// The first op of the loop's body that multiplies what the turn computed with the tile of `load`; none where the tile
/// meets a loaded one too.
Operation *lateUse(tile::LoadOp load) {
  Operation *first = nullptr;
  for (Operation *user : load->getUsers()) {
    auto dot = dyn_cast<tile::DotOp>(user);
    if (!dot || dot.getA().getDefiningOp<tile::LoadOp>())
      return nullptr;
    if (!first || dot->isBeforeInBlock(first))
      first = dot;
  }
  return first;
}

class ChainPipeline {
public:
  ChainPipeline(LoopChain &chain, int64_t stages, flash::ValueCopy values, SharedBuffers &buffers)
      : chain(chain), stages(stages), step(chain.loops.front().getStep()) {
    bool isPlain = values == flash::ValueCopy::Ahead;
    for (tile::LoadOp load : chain.loads.front())
      isLate.push_back(!isPlain && lateUse(load));
    hasLate = llvm::is_contained(isLate, true);
    isInstead = values == flash::ValueCopy::Instead && hasLate;
    distance = stages > 1 || (hasLate && !isInstead) ? std::max<int64_t>(stages - 1, 1) : 0;
    shared.resize(isLate.size());
    // Of buffers for one memory the largest comes first.
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, isLate.size()));
    auto columns = [&](unsigned n) {
      auto load = chain.loads.front()[n];
      return cast<RankedTensorType>(load.getTile().getType()).getDimSize(1);
    };
    if (isInstead)
      llvm::sort(order, [&](unsigned a, unsigned b) {
        return std::pair(-columns(a), a) < std::pair(-columns(b), b);
      });
    for (unsigned n : order)
      shared[n] = buffers.get(chain.loads.front()[n], isLate[n] ? 1 : stages, isInstead ? 0 : n);
  }

  void emit(llvm::DenseMap<Value, SharedTile> &tiles) {
    emitPrologue();
    if (chain.peek)
      emitPeek(tiles);
    for (size_t n = 0; n < chain.loops.size(); ++n) {
      Value stage = emitTurn(n);
      for (auto [load, buffer, late] : llvm::zip(chain.loads[n], shared, isLate))
        tiles[load.getTile()] = {buffer, late ? zeroIn(chain.loops[n]) : stage};
    }
  }

private:
  static Value zeroIn(scf::ForOp loop) {
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    return Index(b, loop.getLoc()).constant(0);
  }

  /// Begins the copies of turn `turn` of the stream where there is one, given that it lies in loop `from` or a
  /// later one.
  void emitCopies(OpBuilder &b, Location loc, size_t from, Value turn, Value stage) {
    Value isThere = Index(b, loc).lt(turn, starts.back());
    auto branch = scf::IfOp::create(b, loc, isThere, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    Index x(inner, loc);
    // Per load its offsets and valid sizes, those of the loop that the turn lies in.
    SmallVector<SmallVector<Value>> places;
    for (size_t n = chain.loops.size(); n-- > from;) {
      Value j = x.add(chain.loops[n].getLowerBound(), x.mul(x.sub(turn, starts[n]), step));
      BodyCloner cloner(inner, chain.loops[n], j);
      Value isHere = x.lt(turn, starts[n + 1]);
      for (auto [k, load] : llvm::enumerate(chain.loads[n])) {
        SmallVector<Value> place = cloner.clone(placeOf(load));
        if (places.size() <= k) {
          places.push_back(place);
          continue;
        }
        for (auto [old, value] : llvm::zip(places[k], place))
          old = x.select(isHere, value, old);
      }
    }
    for (auto [place, load, buffer, late] : llvm::zip(places, chain.loads.front(), shared, isLate))
      if (!late)
        flashc::emitCopy(inner, load, place, {buffer, stage});
  }

  /// The stream's first tiles lie in stage 0; without stages to spare they are loaded for the look alone.
  void emitPeek(llvm::DenseMap<Value, SharedTile> &tiles) {
    OpBuilder b = OpBuilder::atBlockBegin(chain.peek.getBody());
    Location loc = chain.peek.getLoc();
    Value zero = Index(b, loc).constant(0);
    if (!distance)
      nvtile::BarrierOp::create(b, loc);
    BodyCloner cloner(b, chain.peek, chain.peek.getInductionVar());
    for (tile::LoadOp load : chain.peekLoads) {
      auto like = llvm::find_if(chain.loads.front(),
                                [&](tile::LoadOp other) { return isPrefix(load, other); });
      SharedTile place = {shared[like - chain.loads.front().begin()], zero};
      if (!distance)
        flashc::emitCopy(b, load, cloner.clone(placeOf(load)), place);
      tiles[load.getTile()] = place;
    }
    if (!distance)
      nvtile::CommitOp::create(b, loc);
    nvtile::WaitOp::create(b, loc, std::max<int64_t>(stages - 2, 0));
  }

  void emitPrologue() {
    OpBuilder b(chain.first());
    Location loc = chain.loops.front().getLoc();
    Index x(b, loc);
    // The number of the stream's turn with which each loop begins, and of all turns.
    starts.push_back(x.constant(0));
    for (scf::ForOp loop : chain.loops) {
      Value length = x.max(x.sub(loop.getUpperBound(), loop.getLowerBound()), x.constant(0));
      Value turns = x.div(x.add(length, x.sub(step, 1)), step);
      starts.push_back(x.add(starts.back(), turns));
    }
    // Threads may still read what an earlier chain left in the buffers.
    nvtile::BarrierOp::create(b, loc);
    for (int64_t s = 0; s < distance; ++s) {
      emitCopies(b, loc, 0, x.constant(s), x.constant(s));
      nvtile::CommitOp::create(b, loc);
    }
    if (!distance)
      nvtile::CommitOp::create(b, loc);
  }

  /// Carries the number of the stage through loop `n`, which is made anew; returns it.
  Value carryStage(size_t n) {
    scf::ForOp loop = chain.loops[n];
    Location loc = loop.getLoc();
    IRRewriter rewriter(loop);
    Index x(rewriter, loc);
    Value first = x.rem(starts[n], x.constant(stages));
    auto yield = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> carried) {
      Index y(b, loc);
      Value next = y.add(carried[0], 1);
      Value isOver = y.equal(next, y.constant(stages));
      return SmallVector<Value>{y.select(isOver, y.constant(0), next)};
    };
    auto made = loop.replaceWithAdditionalYields(rewriter, first,
                                                 /*replaceInitOperandUsesInLoop=*/false, yield);
    chain.loops[n] = cast<scf::ForOp>(*made);
    return chain.loops[n].getRegionIterArgs().back();
  }

  /// A turn of the pipeline at the beginning of loop `n`'s body; returns the stage that holds its tiles.
  Value emitTurn(size_t n) {
    Value stage;
    if (stages > 1)
      stage = carryStage(n);
    scf::ForOp loop = chain.loops[n];
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    Location loc = loop.getLoc();
    Index x(b, loc);
    Value j = loop.getInductionVar();
    if (stages == 1)
      stage = x.constant(0);
    Operation *use = nullptr; // of the first late tile
    for (auto [load, late] : llvm::zip(chain.loads[n], isLate))
      if (Operation *its = late ? lateUse(load) : nullptr;
          its && (!use || its->isBeforeInBlock(use)))
        use = its;
    if (!distance) {
      nvtile::BarrierOp::create(b, loc);
      emitOwnCopies(b, n, j, stage, false);
      nvtile::CommitOp::create(b, loc);
      nvtile::WaitOp::create(b, loc, 0);
      if (!use)
        return stage;
      // The scores are there, and the memory of the keys is free.
      b.setInsertionPoint(use);
      nvtile::BarrierOp::create(b, loc);
      emitOwnCopies(b, n, j, stage, true);
      nvtile::CommitOp::create(b, loc);
      nvtile::WaitOp::create(b, loc, 0);
      return stage;
    }
    // All but the newest stages - 2 tiles have come: among them this turn's. The threads have met, so that nobody
    // reads the stage that is filled next. No late values are under way here: those of the turn before were waited for.
    nvtile::WaitOp::create(b, loc, std::max<int64_t>(stages - 2, 0));
    if (use) {
      emitOwnCopies(b, n, j, x.constant(0), true);
      nvtile::CommitOp::create(b, loc);
      OpBuilder late(use);
      if (stages > 1) {
        nvtile::WaitOp::create(late, loc, 1);
      } else { // now the one stage of the keys is free
        nvtile::WaitOp::create(late, loc, 0);
        b = late;
      }
    }
    emitNextCopies(b, n, j, stage);
    return stage;
  }

  /// Begins the copies of the turn that lies `distance` after loop `n`'s at `j`.
  void emitNextCopies(OpBuilder &b, size_t n, Value j, Value stage) {
    scf::ForOp loop = chain.loops[n];
    Location loc = loop.getLoc();
    Index x(b, loc);
    Value ahead = x.constant(distance);
    Value filled = stages == 1   ? stage
                   : stages == 2 ? x.sub(x.constant(1), stage)
                                 : x.rem(x.add(stage, ahead), x.constant(stages));
    Value next = x.add(j, x.mul(step, ahead));
    // Nearly always the loop's own; else those of a later loop, if there are any.
    auto branch = scf::IfOp::create(b, loc, x.lt(next, loop.getUpperBound()),
                                    /*withElseRegion=*/n + 1 < chain.loops.size());
    OpBuilder own = branch.getThenBodyBuilder();
    emitOwnCopies(own, n, next, filled, false);
    if (n + 1 < chain.loops.size()) {
      OpBuilder other = branch.getElseBodyBuilder();
      Index y(other, loc);
      Value passed = y.div(y.sub(j, loop.getLowerBound()), step);
      Value turn = y.add(y.add(starts[n], passed), ahead);
      emitCopies(other, loc, n + 1, turn, filled);
    }
    nvtile::CommitOp::create(b, loc);
  }

  /// Begins the copies of loop `n`'s tiles at `j`, of late ones or of the others.
  void emitOwnCopies(OpBuilder &b, size_t n, Value j, Value stage, bool ofLate) {
    BodyCloner cloner(b, chain.loops[n], j);
    for (auto [load, buffer, late] : llvm::zip(chain.loads[n], shared, isLate))
      if (late == ofLate)
        flashc::emitCopy(b, load, cloner.clone(placeOf(load)), {buffer, stage});
  }

  LoopChain &chain;
  int64_t stages;
  /// Turns that a copy is begun ahead of its own.
  int64_t distance;
  Value step;
  SmallVector<Value> shared, starts;
  /// Per load of a turn, whether its tile is copied when the turn has begun.
  SmallVector<bool> isLate;
  bool hasLate, isInstead;
};

} // namespace

void flashc::pipelineChain(LoopChain &chain, int64_t stages, flash::ValueCopy values,
                           SharedBuffers &buffers, llvm::DenseMap<Value, SharedTile> &tiles) {
  ChainPipeline(chain, stages, values, buffers).emit(tiles);
}
