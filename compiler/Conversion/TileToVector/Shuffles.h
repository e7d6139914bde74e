//===- Shuffles.h - transposing blocks of vectors ---------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A square block of L vectors of L lanes is transposed, or reduced along its lanes, by log2 L rounds that
// exchange halves of blocks between vectors that are s apart.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_SHUFFLES_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_SHUFFLES_H

#include "compiler/Conversion/TileToVector/Context.h"

namespace flashc {

/// Vector n of the result holds lane n of every vector of `block` (as many as they have lanes).
llvm::SmallVector<mlir::Value> emitTranspose(Context &c, llvm::ArrayRef<mlir::Value> block);

/// The lanes of a power of two of vectors in turn, in as many vectors: lane 0 of each, lane 1 of each, and so on.
llvm::SmallVector<mlir::Value> emitZip(Context &c, llvm::ArrayRef<mlir::Value> vectors);

/// Lane n of the result is `combine` over the lanes of vector n of `block`.
mlir::Value emitReduceLanes(Context &c, llvm::ArrayRef<mlir::Value> block,
                            llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_SHUFFLES_H
