//===- Evaluator.h - elementwise tiles, vector by vector --------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Evaluates an elementwise expression on tiles at one place: a vector of columns of one row, or a single
// element. Leaves are buffers, coordinates, constants and gathers.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H

#include "compiler/Conversion/TileToVector/Context.h"

namespace flashc {

/// What is known of one row: the values of tiles of rank 1, as scalars.
using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Evaluates at (row, column...). With `width` 1 the results are scalars.
class Evaluator {
public:
  Evaluator(Context &context, mlir::Value row, mlir::Value column, int64_t width, RowValues &rows)
      : c(context), row(row), column(column), width(width), rows(rows) {}

  /// The value of a tile of rank 2: a vector of `width`, or a scalar.
  mlir::Value matrix(mlir::Value tile);
  /// The value of a tile of rank 1: a scalar.
  mlir::Value vector(mlir::Value tile);

private:
  /// A tile.gather, with its array as flat memory.
  struct Gather {
    mutable tile::GatherOp op;
    mlir::Value flat;
    mlir::ValueRange sizes, strides;
  };

  mlir::Value load(const Buffer &buffer);
  mlir::Value compute(mlir::Operation *op, bool isRow);
  mlir::Value gather(tile::GatherOp op, bool isRow);
  mlir::Value gatherScalar(const Gather &gather, bool isRow);
  mlir::Value gatherVector(const Gather &gather);
  std::pair<mlir::Value, mlir::Value> locate(const Gather &gather, bool isRow);
  mlir::Value indexOf(mlir::Value index, bool isRow);
  mlir::Value operand(mlir::Value value, bool isRow);
  mlir::Value splat(mlir::Value scalar, bool isRow);
  mlir::Type typeOf(mlir::Type element, bool isRow);

  Context &c;
  mlir::Value row, column;
  int64_t width;
  RowValues &rows;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_EVALUATOR_H
