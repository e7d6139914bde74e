//===- Layouts.h - which thread holds what ----------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Gives every register tile of a kernel its encoding.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETONVTILE_LAYOUTS_H
#define FLASHC_COMPILER_CONVERSION_TILETONVTILE_LAYOUTS_H

#include "dialects/NVTile/IR/NVTile.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashc {

/// Warps of a block: along the rows of all tiles, and along the columns of those that are no left operand of a
/// product. Left operands are whole in each warp that works on their rows. Tiles with `bands` times `tileRows` rows have
/// warps for each band; in other tiles these lie along the columns.
struct WarpGrid {
  int64_t rows = 1, columns = 1, bands = 1, tileRows = 0;
  int64_t count() const { return rows * columns * bands; }
};

/// Sets the encodings of all tiles in `kernel`.
void assignLayouts(mlir::func::FuncOp kernel, WarpGrid warps);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETONVTILE_LAYOUTS_H
