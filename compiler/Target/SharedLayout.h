//===- SharedLayout.h - rows of tiles in shared memory ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// How !nvtile.shared lays rows out, for the dialect and for the table that must know whether a tile fits. Plain
// C++.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_SHAREDLAYOUT_H
#define FLASHC_COMPILER_TARGET_SHAREDLAYOUT_H

#include <cstdint>

namespace flashc {

/// Bytes that copies and ldmatrix move at a time, and chunks of them that fill all banks.
constexpr int64_t kChunkBytes = 16, kChunksOfBanks = 8;
/// Columns to a multiple of which rows are padded: those of an mma.sync operand.
constexpr int64_t kColumnMultiple = 16;

constexpr int64_t paddedColumns(int64_t columns) {
  return (columns + kColumnMultiple - 1) / kColumnMultiple * kColumnMultiple;
}

/// Whether the chunks of a row are permuted by the row's number; otherwise rows are skewed by a chunk.
constexpr bool isSwizzled(int64_t columns, int64_t elementBytes) {
  return elementBytes == 2 &&
         paddedColumns(columns) * elementBytes % (kChunksOfBanks * kChunkBytes) == 0;
}

constexpr int64_t rowBytes(int64_t columns, int64_t elementBytes) {
  int64_t bytes = paddedColumns(columns) * elementBytes;
  return isSwizzled(columns, elementBytes) ? bytes : bytes + kChunkBytes;
}

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_SHAREDLAYOUT_H
