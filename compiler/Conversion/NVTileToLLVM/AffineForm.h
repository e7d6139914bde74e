//===- AffineForm.h - integer tiles that grow evenly ------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Masks compare positions: a scalar plus the row's or the column's number. Of such tiles a thread needs one
// scalar, from which all of its elements differ by constants.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_AFFINEFORM_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_AFFINEFORM_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace flashc {

/// sum of `sign * value` over the terms + rows * row + columns * column + constant, of scalars whose sizes are those
/// of positions in memory, so that no sum wraps.
struct AffineForm {
  struct Term {
    mlir::Value value; ///< index or an integer, before distribution
    int64_t sign;
  };
  llvm::SmallVector<Term> terms;
  int64_t rows = 0, columns = 0, constant = 0;
  /// Bands of the rows by which row and column are numbered (tile.coords); 0 where there is neither.
  int64_t bands = 0;

  /// Whether rows and columns of both are numbered alike.
  bool isLike(const AffineForm &other) const {
    return bands == other.bands || !bands || !other.bands;
  }
  /// This minus `other`, which is like it, equal terms cancelled.
  AffineForm minus(const AffineForm &other) const;
};

/// The form of an integer tile or scalar; none where it has another one, or where a scalar may be of any size.
std::optional<AffineForm> affineForm(mlir::Value value);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_AFFINEFORM_H
