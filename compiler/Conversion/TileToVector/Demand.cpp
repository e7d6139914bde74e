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
  if (!tile::isTile(tile.getType()))
    return;
  auto [entry, isNew] = demand.try_emplace(tile, rows);
  if (!isNew) {
    Rows &known = entry->second;
    if (known.all || (!rows.all && known.rows == rows.rows))
      return;
    known = Rows{Value(), true};
    rows = known;
  }
  propagate(tile, rows);
}

void RowDemand::propagate(Value tile, Rows rows) {
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0)
      return;
    unsigned index = argument.getArgNumber() - 1;
    require(loop.getInitArgs()[index], rows);
    require(loop.getYieldedValues()[index], rows);
    require(loop.getResult(index), rows);
    return;
  }
  Operation *op = tile.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    require(loop.getRegionIterArg(cast<OpResult>(tile).getResultNumber()), rows);
    return;
  }
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    require(dot.getA(), rows);
    require(dot.getB(), Rows{Value(), true});
    if (dot.getInit())
      require(dot.getInit(), rows);
    if (dot.getKeep())
      require(dot.getKeep(), rows);
    return;
  }
  for (Value operand : op->getOperands())
    require(operand, rows);
}
