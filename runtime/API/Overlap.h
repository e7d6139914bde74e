//===- Overlap.h - do strided views share memory? -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A kernel writes its outputs from many threads in any order, so an output must
// share no byte with any other argument and no element with itself. Views that
// merely interleave (o beside q, k, v in one buffer) are fine and common enough
// that comparing address ranges does not do: the question is whether a bounded
// linear Diophantine equation has a solution.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_OVERLAP_H
#define FLASHC_RUNTIME_API_OVERLAP_H

#include <cstdint>
#include <span>

namespace flashc {

/// Elements of `elementBytes` at base + sum(index[d] * strides[d] * elementBytes). Extents are
/// non-negative; all byte offsets fit in int64.
struct StridedView {
  const void *base = nullptr; ///< element [0, ..., 0]
  int64_t elementBytes = 1;
  std::span<const int64_t> shape;
  std::span<const int64_t> strides; ///< in elements, of any sign
};

/// True if the views share a byte. Exact unless the search gets too long (contrived strides
/// only): then true.
bool mayOverlap(const StridedView &a, const StridedView &b);

/// True if two different indices of `view` name the same element; exactness as above.
bool mayOverlapItself(const StridedView &view);

} // namespace flashc

#endif // FLASHC_RUNTIME_API_OVERLAP_H
