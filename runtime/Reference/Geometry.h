//===- Geometry.h - checked sizes and addresses of a reference problem -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Turns the layouts (BSHD, BHSD, packed, shorter lengths) into one list of sequences, each with
// plain offsets and strides, after checking that everything fits together.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_GEOMETRY_H
#define FLASHC_RUNTIME_REFERENCE_GEOMETRY_H

#include "runtime/Reference/Attention.h"

namespace flashc::reference {

/// Where element (row, head, feature) of one sequence is, relative to the view's data.
struct Operand {
  const TensorView *view = nullptr;
  int64_t rowStride = 0, headStride = 0, featureStride = 0;

  double at(int64_t rowOffset, int64_t head, int64_t feature) const {
    return view->at(rowOffset + head * headStride + feature * featureStride);
  }
};

/// One sequence (packed) or batch element.
struct Sequence {
  int64_t b = 0, sq = 0, sk = 0;
  int64_t qBase = 0, kBase = 0, vBase = 0; ///< Offsets of the first element in the views.
  int64_t oBase = 0, rowBase = 0;          ///< Of row 0, head 0 in the results.
  std::vector<int64_t> pages;              ///< Where keys lie in pages: those in use, in order.
};

/// The whole problem, resolved.
struct Geometry {
  /// Throws flashc::Error. Keeps pointers into the problem.
  explicit Geometry(const Problem &problem);

  /// The offset into the bias's data of element (b, h, i, 0), and the stride of j.
  int64_t biasOffset(int64_t b, int64_t h, int64_t i) const {
    return b * biasStrides[0] + h * biasStrides[1] + i * biasStrides[2];
  }

  /// The offset of key `j` in `operand`, k or v, whose element of row 0 without pages is at `base`.
  int64_t keyOffset(const Operand &operand, const Sequence &sequence, int64_t base,
                    int64_t j) const {
    if (!pageRows)
      return base + j * operand.rowStride;
    return sequence.pages[j / pageRows] * operand.view->strides[0] +
           j % pageRows * operand.rowStride;
  }

  int64_t hq = 0, hkv = 0, d = 0, dv = 0;
  Operand q, k, v;
  int64_t keys = 0;     ///< The most that a sequence can have; not where packed.
  int64_t pageRows = 0; ///< 0: no pages.
  std::vector<Sequence> sequences;
  int64_t oRowStride = 0, oHeadStride = 0; ///< Of the results' o; features are contiguous.
  int64_t rowHeadStride = 0;               ///< Of lse and rowMax; rows are contiguous.
  int64_t biasStrides[4] = {};
  std::vector<int64_t> oShape, rowShape;
  double scale = 1;

private:
  void addDense(const Problem &problem);
  void addPages(const TensorView &table);
  void addPacked(const Problem &problem);
  void resolveBias(const Problem &problem);
};

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_GEOMETRY_H
