//===- Demand.cpp - how many rows of each tile are needed -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Demand.h"

#include <optional>

using namespace mlir;
using namespace flashc;

RowDemand::RowDemand(Operation *root) : body(&root->getRegion(0).front()) {
  // What is asked of a tile as a whole concerns the rows that are stored.
  std::optional<Rows> stored;
  root->walk([&](tile::StoreOp store) {
    Value rows = store.getValid()[0];
    bool known =
        rows.getParentBlock() == body || !root->isAncestor(rows.getParentRegion()->getParentOp());
    Rows needed = known ? Rows{rows, false} : Rows{Value(), true};
    require(store.getTile(), needed);
    stored = stored && stored->rows != needed.rows ? Rows{Value(), true} : needed;
  });
  root->walk(
      [&](tile::AllOp all) { require(all.getSource(), stored ? *stored : Rows{Value(), true}); });
}

void RowDemand::require(Value tile, Rows rows) {
  // Expressions may be long: no recursion.
  pending.push_back({tile, rows});
  while (!pending.empty()) {
    auto [next, needed] = pending.pop_back_val();
    if (!tile::isTile(next.getType()))
      continue;
    auto [entry, isNew] = demand.try_emplace(next, needed);
    if (!isNew) {
      Rows &known = entry->second;
      if (known.all || (!needed.all && known.rows == needed.rows))
        continue;
      known = needed = Rows{Value(), true};
    }
    propagate(next, needed);
  }
}

void RowDemand::propagate(Value tile, Rows rows) {
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0)
      return;
    unsigned index = argument.getArgNumber() - 1;
    for (Value same :
         {loop.getInitArgs()[index], loop.getYieldedValues()[index], Value(loop.getResult(index))})
      pending.push_back({same, rows});
    return;
  }
  Operation *op = tile.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    pending.push_back({loop.getRegionIterArg(cast<OpResult>(tile).getResultNumber()), rows});
    return;
  }
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    pending.push_back({dot.getA(), rows});
    pending.push_back({dot.getB(), Rows{Value(), true}});
    for (Value more : {dot.getInit(), dot.getKeep()})
      if (more)
        pending.push_back({more, rows});
    return;
  }
  for (Value operand : op->getOperands())
    pending.push_back({operand, rows});
}
