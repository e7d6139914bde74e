//===- AMX.h - matrix products in tile registers ----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H

#include "compiler/Conversion/TileToVector/Context.h"

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

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_AMX_H
