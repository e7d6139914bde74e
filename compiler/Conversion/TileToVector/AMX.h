//===- AMX.h - matrix products in tile registers ----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H

#include "compiler/Conversion/TileToVector/ReadAhead.h"

namespace flashc {

/// Rows, and pairs of bf16 or f32 columns, of a tile register.
constexpr int64_t kAMXSize = 16;

/// Where a block of a product goes: to (row, column) of a memref of f32, or onto what is there.
struct AMXResult {
  mlir::Value memory, row, column;
  bool accumulates = false;
};

/// Computes the block of `rowTiles` x `columnTiles` register tiles of left * right at (row, column). `depth` is in
/// pairs, padded.
void emitAMXBlock(Context &c, const Buffer &left, const Buffer &right, mlir::Value row,
                  mlir::Value column, int64_t rowTiles, int64_t columnTiles, int64_t depth,
                  const AMXResult &result);

/// Computes 16 rows of left, from `row` on, times the 16 columns of right, and stores them to the same rows of `result`.
/// The rows of left may be an array's own.
void emitAMXRows(Context &c, const Buffer &left, const Buffer &right, mlir::Value row,
                 int64_t depth, mlir::Value result, const ReadAhead &readAhead);

/// Computes 16 rows of left times `groups` * 32 columns, from `column` on, of the first `depth` rows of right, which are
/// an array's own rows of bf16. `odds` holds left as f32, whose upper halves are its bf16 and whose lower ones are 0,
/// `evens` the same with the halves exchanged. Stores to `result`, from row `column` on and one below the other, the
/// blocks of 16 even columns and of 16 odd ones of each group.
void emitAMXByParity(Context &c, mlir::Value evens, mlir::Value odds, const Buffer &right,
                     mlir::Value column, int64_t groups, int64_t depth, mlir::Value result,
                     const ReadAhead &readAhead);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H
