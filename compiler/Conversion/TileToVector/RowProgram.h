//===- RowProgram.h - fused elementwise ops and reductions ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Between two dots stand elementwise ops, reductions along the columns and stores. All of them become one
// loop over blocks of rows, as many as a vector has lanes. A block goes through phases: values of rank 1
// are computed as vectors of rows, then each row passes over its columns; a reduction's result is there
// for the next phase. What a later phase needs again is kept in a buffer.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_ROWPROGRAM_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_ROWPROGRAM_H

#include "compiler/Conversion/TileToVector/Moves.h"

namespace flashc {

class RowProgram {
public:
  /// `ops` are the program's ops in order: elementwise ops, reductions and stores.
  RowProgram(Context &context, llvm::ArrayRef<mlir::Operation *> ops);

  /// Gives every value that ops outside of the program need a buffer, and emits the loop over rows.
  void emit();

private:
  /// Something to do with each vector of columns of a row.
  struct ColumnTask {
    mlir::Operation *op; // a reduction, a store, or the definition of a value to keep
    mlir::Value value;   // what is reduced, stored or kept
    Buffer buffer;       // where it is kept
  };

  void findOutputs();
  /// isPure, while the program's outputs are found.
  bool isPureHere(mlir::Value value);
  void requireLater(mlir::Value value);
  void keep(mlir::Value value, bool inBlockBuffer);
  void keepRowValue(mlir::Value value);
  unsigned phaseOf(mlir::Value value);
  bool isCheap(mlir::Value value, int budget);
  bool isIn(mlir::Operation *op) const { return op && members.contains(op); }

  void emitBlock(mlir::Value firstRow, mlir::Value extent);
  void emitRowValues(unsigned phase, mlir::Value firstRow, mlir::Value extent);
  void emitColumns(unsigned phase, mlir::Value firstRow, mlir::Value extent);
  void emitColumnLoops(llvm::ArrayRef<ColumnTask> tasks, int64_t columns, mlir::Value firstRow,
                       mlir::Value extent);
  void emitRow(llvm::ArrayRef<ColumnTask> tasks, int64_t columns, mlir::Value row,
               llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value combine(tile::ReduceKind kind, mlir::Value sum, mlir::Value value);

  Context &c;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> members;
  llvm::DenseMap<mlir::Value, unsigned> phases;
  llvm::DenseMap<mlir::Value, bool> pure;
  llvm::MapVector<mlir::Value, Buffer> kept; // not yet visible to the evaluator
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseMap<mlir::Operation *, mlir::Value> partialSums; // of reductions: lanes x lanes
  unsigned lastPhase = 0;
  mlir::Value first; // row that is computed
};

/// Whether `value` depends on no buffer, so that it can be evaluated anywhere.
bool isPure(Context &c, mlir::Value value);

/// Whether all elements of `tile`, of i1, hold in the rows that are computed.
mlir::Value emitAll(Context &c, mlir::Value tile);

/// Evaluates `value` into `buffer`.
void emitInto(Context &c, mlir::Value value, const Buffer &buffer);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_ROWPROGRAM_H
