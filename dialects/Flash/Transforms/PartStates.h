//===- PartStates.h - softmax states of the parts of a sequence -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Where keys are split, one kernel leaves a state (m, l, acc and, where asked for, the row max) per part in the
// workspace, and another merges those of a tile.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_PARTSTATES_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_PARTSTATES_H

#include "dialects/Flash/Transforms/KernelFrame.h"

namespace flashc::flash {

/// The states of all parts, in the workspace: m, l, acc and the row max, one after another. A part's row r
/// lies at row (part, r).
class PartStates {
public:
  /// Of `parts` parts of the keys of `op`; without a workspace only their size is known.
  PartStates(mlir::OpBuilder &b, mlir::Location loc, mlir::Value workspace, mlir::Value parts,
             OnlineAttentionOp op);

  /// The size of all states in bytes, an index.
  mlir::Value bytes() const { return size; }

  /// Stores the state of the part at hand.
  void store(mlir::OpBuilder &b, mlir::ValueRange state, const GridPoint &point);

  /// The state of all parts of a tile, merged one after another.
  llvm::SmallVector<mlir::Value> mergeInTurn(mlir::OpBuilder &b, const GridPoint &point);

  /// The same, some parts at a time, whose states are loaded together: for where waiting for memory costs more than
  /// loading states that are not there. Of the tile's rows, `pointRows` from the point's first on.
  llvm::SmallVector<mlir::Value> mergeTogether(mlir::OpBuilder &b, const GridPoint &point,
                                               int64_t pointRows);

private:
  using State = llvm::SmallVector<mlir::Value>;

  mlir::RankedTensorType typeOf(mlir::Value memory, int64_t pointRows);
  mlir::Value load(mlir::OpBuilder &b, mlir::Value memory, mlir::Value part, const GridPoint &point,
                   mlir::Value validRows, int64_t pointRows);
  std::tuple<State, State, llvm::SmallVector<int64_t>> place(mlir::OpBuilder &b, mlir::Value memory,
                                                             mlir::Value part, mlir::Value row,
                                                             mlir::Value rows);

  mlir::Location loc;
  int32_t base;
  int64_t rows;
  llvm::SmallVector<mlir::Value> memories;
  mlir::Value size;
};

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_PARTSTATES_H
