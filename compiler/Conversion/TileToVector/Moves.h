//===- Moves.h - tiles between memory and buffers ---------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_MOVES_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_MOVES_H

#include "compiler/Conversion/TileToVector/Evaluator.h"

namespace flashc {

/// A tile's place in memory: element (r, c) lies at `offset + r * rowStride + c * columnStride` of `flat`, or at
/// `offset + rowOffsets[r] + c * columnStride` where rows lie in pages.
struct Place {
  mlir::Value flat; // memref<?xT> over the whole memory
  mlir::Value offset, rowStride, columnStride;
  mlir::Value columnsAreAdjacent; // an i1: columnStride is 1
  mlir::Value rowOffsets;         // memref<rows x 1 x i64>, or null

  mlir::Value at(Context &c, mlir::Value row, mlir::Value column) const;
};

/// The place that `offsets` and `dims` of a tile.load or tile.store name in `memory`.
Place emitPlace(Context &c, mlir::Value memory, mlir::ValueRange offsets,
                llvm::ArrayRef<int64_t> dims);

/// What a tile.load reads.
struct Source {
  Source(Context &c, tile::LoadOp op);

  mlir::Type element;
  int64_t rows, columns;                   // of the tile
  llvm::SmallVector<mlir::Value, 2> valid; // rows and columns
  Place place;
  bool isNextKnown; // the next iteration of the loop around loads the rows after these
  bool isWhole;     // all rows and columns are known to be valid

  /// Adjacent columns of a row; asks for those of the next tile ahead of time.
  mlir::Value vector(Context &c, mlir::Value row, mlir::Value column, int64_t width) const;
  mlir::Value scalar(Context &c, mlir::Value row, mlir::Value column) const;

private:
  static bool advancesByTile(tile::LoadOp op);
  /// Looks up where the valid rows lie.
  void followTable(Context &c, tile::LoadOp op);
};

/// A loop over [from, to) without carried values.
void emitLoop(Context &c, mlir::Value from, mlir::Value to, int64_t step,
              llvm::function_ref<void(mlir::Value)> body);

/// A narrow float as f32; other values as they are. Works on scalars and vectors.
mlir::Value widen(Context &c, mlir::Value value);

/// Loads a tile into a new buffer, transposed where a dot wants it so; notes whether all of it is
/// finite where a dot with dropped terms needs to know.
void lowerLoad(Context &c, tile::LoadOp op);

/// Stores columns [column, column + lanes) of a row, as far as they are valid. `value` is a vector of
/// f32 carriers.
void emitStoreVector(Context &c, const Place &place, mlir::Value row, mlir::Value column,
                     mlir::Value validColumns, mlir::Value value);

/// Stores one element.
void emitStoreScalar(Context &c, const Place &place, mlir::Value row, mlir::Value value);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_MOVES_H
