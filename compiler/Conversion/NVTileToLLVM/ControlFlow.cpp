//===- ControlFlow.cpp - loops and branches of a thread ------------------- -===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Carried tiles become the scalars of them that a thread holds.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashc;

/// The reduction by which carried value `i` of a loop grows in each turn, if all that happens to the value besides
/// is that it is scaled: the four lanes of a row can then carry a part of the sum each.
static tile::ReduceOp growingSum(scf::ForOp op, unsigned i) {
  BlockArgument carried = op.getRegionIterArg(i);
  auto sum = op.getYieldedValues()[i].getDefiningOp<arith::AddFOp>();
  if (!sum || !carried.hasOneUse())
    return {};
  for (auto [grown, added] :
       {std::pair(sum.getLhs(), sum.getRhs()), {sum.getRhs(), sum.getLhs()}}) {
    auto reduce = added.getDefiningOp<tile::ReduceOp>();
    auto scaled = grown.getDefiningOp<arith::MulFOp>();
    bool isCarried =
        grown == carried || (scaled && scaled->hasOneUse() &&
                             (scaled.getLhs() == carried || scaled.getRhs() == carried));
    if (reduce && reduce.getKind() == tile::ReduceKind::Sum && reduce->hasOneUse() && isCarried)
      return reduce;
  }
  return {};
}

static bool isLines(Value tile) {
  return ThreadTile(cast<RankedTensorType>(tile.getType())).isLines;
}

Value Distributor::sumOverLanes(Value part) {
  for (int32_t mask : {1, 2})
    part = arith::AddFOp::create(b, t.loc, part, t.shuffleXor(part, mask));
  return part;
}

LogicalResult Distributor::lowerFor(scf::ForOp op) {
  storeFetched();
  computeCaptures(*op);
  llvm::SmallDenseSet<unsigned> growing;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (tile::ReduceOp reduce = growingSum(op, i); reduce && !isLines(reduce.getSource())) {
      growing.insert(i);
      partial.insert(reduce);
    }
  SmallVector<Value> inits;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isRegisterTile(init)) {
      inits.push_back(scalar(init));
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(init.getType()));
    for (unsigned e = 0; e < tile.size(); ++e) {
      Value value = get(init, e);
      if (growing.contains(i)) { // the first lane of a row begins with what there was
        value = t.select(isFirstInRow(tile), value, t.f32Constant(0.0f));
      }
      inits.push_back(value);
    }
  }
  auto loop = scf::ForOp::create(b, op.getLoc(), scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    memo.emplace_back();
    scalars.map(op.getInductionVar(), loop.getInductionVar());
    spread(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    SmallVector<Value> next;
    if (!inits.empty())
      next = computeTurn(op, loop.getRegionIterArgs());
    storeFetched();
    if (!inits.empty())
      scf::YieldOp::create(b, t.loc, next);
    memo.pop_back();
  }
  spread(op.getResults(), loop.getResults());
  for (unsigned i : growing) {
    Value result = op.getResult(i);
    for (unsigned e = 0; e < ThreadTile(cast<RankedTensorType>(result.getType())).size(); ++e)
      define(result, e, sumOverLanes(get(result, e)));
  }
  return success();
}

SmallVector<Value> Distributor::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (!isRegisterTile(value)) {
      flat.push_back(scalar(value));
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(value.getType()));
    for (unsigned e = 0; e < tile.size(); ++e)
      flat.push_back(get(value, e));
  }
  return flat;
}

void Distributor::spread(ValueRange values, ValueRange flat) {
  unsigned next = 0;
  for (Value value : values) {
    if (!isRegisterTile(value)) {
      scalars.map(value, flat[next++]);
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(value.getType()));
    for (unsigned e = 0; e < tile.size(); ++e)
      define(value, e, flat[next++]);
  }
}

SmallVector<Type> Distributor::flatTypes(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    flat.append(tensor ? ThreadTile(tensor).size() : 1, tensor ? tensor.getElementType() : type);
  }
  return flat;
}

LogicalResult Distributor::lowerIf(scf::IfOp op) {
  computeCaptures(*op);
  // Where threads meet in a branch, they have what was begun before it.
  bool meets = op->walk([](Operation *inner) {
                   return isa<nvtile::WaitOp, nvtile::BarrierOp>(inner) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
                 }).wasInterrupted();
  if (meets)
    storeFetched();
  SmallVector<nvtile::CopyOp> escaping = escapingCopies(op);
  SmallVector<Type> types = flatTypes(op.getResultTypes());
  size_t numResults = types.size();
  llvm::append_range(types, fetchedTypes(escaping));
  bool hasElse = !op.getElseRegion().empty() || !types.empty();
  auto branch = scf::IfOp::create(b, op.getLoc(), types, scalar(op.getCondition()), hasElse);
  SmallVector<FetchedCopy> before = std::exchange(fetched, {});
  for (auto [from, to] : {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
                          std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (to->empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    Block &block = to->front();
    if (!block.empty())
      block.back().erase();
    b.setInsertionPointToStart(&block);
    memo.emplace_back();
    SmallVector<Value> values;
    if (!from->empty()) {
      if (failed(lowerBlock(from->front())))
        return failure();
      values = flatten(cast<scf::YieldOp>(from->front().getTerminator()).getOperands());
    }
    llvm::append_range(values, yieldFetched(escaping));
    scf::YieldOp::create(b, t.loc, values);
    memo.pop_back();
  }
  fetched = std::move(before);
  takeFetched(escaping, branch.getResults().drop_front(numResults));
  spread(op.getResults(), branch.getResults().take_front(numResults));
  return success();
}

void Distributor::computeCaptures(Operation &op) {
  llvm::SetVector<Value> captured;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isRegisterTile(operand) && !op.isAncestor(operand.getParentBlock()->getParentOp()))
        captured.insert(operand);
  });
  for (size_t n = 0; n < captured.size(); ++n) {
    Value value = captured[n];
    Operation *source = value.getDefiningOp();
    if (isa_and_nonnull<arith::ConstantOp, tensor::SplatOp, tile::CoordsOp>(source))
      continue; // as cheap inside
    if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(source))
      captured.insert(broadcast.getSource());
    else
      computeAll(value);
  }
}

SmallVector<Value> Distributor::computeTurn(scf::ForOp op, ValueRange carried) {
  Value works;
  // Where registers hold the queries too, ptxas no longer overlaps exponentials and products in the other loops
  // once this one branches: at d64 that costs 8%, where skipping gains 2% at d128.
  if (schedule.getQueries() == flash::Placement::Shared)
    for (auto dot : op.getBody()->getOps<nvtile::DotOp>())
      if (dot.getIdleRows() && dot.getKeep())
        works = mayKeep(dot.getKeep());
  if (!works)
    return flatten(op.getYieldedValues());
  auto branch = scf::IfOp::create(b, t.loc, flatTypes(op.getResultTypes()), works,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block &block, auto values) {
    if (!block.empty())
      block.back().erase();
    b.setInsertionPointToStart(&block);
    memo.emplace_back();
    scf::YieldOp::create(b, t.loc, values());
    memo.pop_back();
  };
  fill(*branch.thenBlock(), [&] { return flatten(op.getYieldedValues()); });
  fill(*branch.elseBlock(), [&] {
    // Numbers go on; tiles stay.
    SmallVector<Value> next;
    for (Value value : op.getYieldedValues()) {
      if (!isRegisterTile(value)) {
        next.push_back(scalar(value));
        continue;
      }
      unsigned size = ThreadTile(cast<RankedTensorType>(value.getType())).size();
      for (unsigned e = 0; e < size; ++e)
        next.push_back(carried[next.size()]);
    }
    return next;
  });
  return llvm::to_vector_of<Value>(branch.getResults());
}
