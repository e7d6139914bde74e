//===- Demand.h - how many rows of each tile are needed ---------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A tile at the end of a sequence has fewer valid rows than its type says. Rows are independent in every
// tile op but in the right operand of a dot, so the number that the stores need holds for all that
// they are computed from.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DEMAND_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DEMAND_H

#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flashc {

class RowDemand {
public:
  /// Analyses the tile ops below `root`. Values defined inside of `root` count as known only where they
  /// are defined directly in its body, before every loop.
  explicit RowDemand(mlir::Operation *root);

  /// The number of rows needed of `tile` (an index value), or null for all rows.
  mlir::Value lookup(mlir::Value tile) const {
    auto found = demand.find(tile);
    return found == demand.end() || found->second.all ? mlir::Value() : found->second.rows;
  }

private:
  struct Rows {
    mlir::Value rows;
    bool all = false;
  };

  /// Demands rows of `tile` and of all that it is computed from.
  void require(mlir::Value tile, Rows rows);
  /// What follows from rows of `tile` for others goes to `pending`.
  void propagate(mlir::Value tile, Rows rows);

  mlir::Block *body;
  llvm::SmallVector<std::pair<mlir::Value, Rows>> pending;
  llvm::DenseMap<mlir::Value, Rows> demand;
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DEMAND_H
