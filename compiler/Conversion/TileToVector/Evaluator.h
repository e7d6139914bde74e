//===- Evaluator.h - elementwise tiles, vector by vector --------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Evaluates an elementwise expression on tiles at one place: a vector of columns of one row, a single
// element, or, for tiles of rank 1, a vector of rows. Leaves are buffers, coordinates, constants and
// gathers.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H

#include "compiler/Conversion/TileToVector/Context.h"

namespace flashc {

class Evaluator {
public:
  /// Evaluates at (row, column...column + width). With `width` 1 the results are scalars.
  Evaluator(Context &context, mlir::Value row, mlir::Value column, int64_t width)
      : c(context), row(row), column(column), width(width) {}
  /// Evaluates tiles of rank 1 at the rows from `row` on, a vector of them.
  static Evaluator ofRows(Context &context, mlir::Value row) {
    Evaluator result(context, row, mlir::Value(), 1);
    result.rowWidth = context.lanes;
    return result;
  }

  /// The value of a tile: of rank 2, a vector of `width`, or a scalar; of rank 1, a scalar, or a vector of rows.
  mlir::Value value(mlir::Value tile);
  /// Makes `value` known as what `tile` is here.
  void note(mlir::Value tile, mlir::Value value) { known[tile] = value; }

private:
  /// A tile.gather, with its array as flat memory.
  struct Gather {
    mutable tile::GatherOp op;
    mlir::Value flat;
    mlir::ValueRange sizes, strides;
  };

  mlir::Value load(const Buffer &buffer, bool isRow);
  /// The first operand of `op` that is a tile and is to be evaluated before it; null where all are.
  mlir::Value unknownOperand(mlir::Operation *op) const;
  mlir::Value compute(mlir::Operation *op, bool isRow);
  mlir::Value gather(tile::GatherOp op, bool isRow);
  mlir::Value gatherScalar(const Gather &gather, bool isRow);
  mlir::Value gatherVector(const Gather &gather, bool isRow);
  std::pair<mlir::Value, mlir::Value> locate(const Gather &gather, bool isRow);
  mlir::Value indexOf(mlir::Value index, bool isRow);
  mlir::Value operand(mlir::Value operand);
  mlir::Value splat(mlir::Value scalar, bool isRow);
  mlir::Type typeOf(mlir::Type element, bool isRow);
  int64_t widthOf(bool isRow) const { return isRow ? rowWidth : width; }

  Context &c;
  mlir::Value row, column;
  int64_t width, rowWidth = 1;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H
