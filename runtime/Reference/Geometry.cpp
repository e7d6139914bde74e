//===- Geometry.cpp - checked sizes and addresses of a reference problem --===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// All checks of the reference are here; the evaluation itself trusts the geometry.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Geometry.h"

#include <algorithm>
#include <cmath>

namespace flashc::reference {

static void checkTensor(const char *name, const TensorView &view, int64_t rank, bool isFloating) {
  if (view.rank() != rank || view.strides.size() != view.shape.size())
    fail("expected ", name, " of rank ", rank, ", got shape ", shapeToString(view.shape));
  if (isFloat(view.dtype) != isFloating)
    fail("expected ", name, " of ", isFloating ? "a float" : "an integer", " type, got ",
         nameOf(view.dtype));
}

static void checkSize(const char *what, int64_t expected, int64_t actual) {
  if (expected != actual)
    fail("expected ", what, " of size ", expected, ", got ", actual);
}

Geometry::Geometry(const Problem &problem) {
  q.view = &problem.q;
  k.view = &problem.k;
  v.view = &problem.v;
  if (problem.cuSeqlensQ.has_value() != problem.cuSeqlensK.has_value())
    fail("expected cu_seqlens_q and cu_seqlens_k together, got only one");
  if (problem.windowLeft < -1 || problem.windowRight < -1)
    fail("expected window sizes of at least -1, got ", problem.windowLeft, " and ",
         problem.windowRight);
  const bool packed = problem.cuSeqlensQ.has_value();
  if (problem.pageTable && (packed || !problem.seqUsedK))
    fail("expected page_table with seqused_k and without cu_seqlens, got ",
         packed ? "cu_seqlens" : "no seqused_k");
  const int64_t rank = packed ? 3 : 4;
  checkTensor("q", problem.q, rank, true);
  checkTensor("k", problem.k, rank, true);
  checkTensor("v", problem.v, rank, true);
  if (packed)
    addPacked(problem);
  else
    addDense(problem);
  if (hkv == 0 ? hq != 0 : hq % hkv != 0)
    fail("expected a number of query heads that is a multiple of the ", hkv, " key heads, got ",
         hq);
  scale = problem.scale ? *problem.scale : 1 / std::sqrt(static_cast<double>(d));
  if (problem.alibi) {
    checkTensor("alibi slopes", *problem.alibi, 1, true);
    checkSize("alibi slopes", hq, problem.alibi->shape[0]);
  }
  if (problem.sinks) {
    checkTensor("sinks", *problem.sinks, 1, true);
    checkSize("sinks", hq, problem.sinks->shape[0]);
  }
  if (problem.bias)
    resolveBias(problem);
}

/// The used length of batch b, checked.
static int64_t usedLength(const Problem &problem, int64_t b, int64_t available) {
  if (!problem.seqUsedK)
    return available;
  const int64_t used = problem.seqUsedK->intAt(b * problem.seqUsedK->strides[0]);
  if (used < 0 || used > available)
    fail("expected seqused_k between 0 and ", available, ", got ", used, " for batch ", b);
  return used;
}

void Geometry::addDense(const Problem &problem) {
  const size_t row = problem.layout == Layout::BSHD ? 1 : 2, head = 3 - row;
  const int64_t batch = problem.q.shape[0];
  const int64_t sq = problem.q.shape[row];
  hq = problem.q.shape[head];
  hkv = problem.k.shape[head];
  d = problem.q.shape[3];
  dv = problem.v.shape[3];
  keys = problem.k.shape[row];
  if (problem.pageTable) {
    checkTensor("page_table", *problem.pageTable, 2, false);
    checkSize("page_table", batch, problem.pageTable->shape[0]);
    checkSize("v's pages", problem.k.shape[0], problem.v.shape[0]);
    pageRows = keys;
    keys *= problem.pageTable->shape[1];
  } else {
    checkSize("k's batch", batch, problem.k.shape[0]);
    checkSize("v's batch", batch, problem.v.shape[0]);
  }
  checkSize("v's sequence", problem.k.shape[row], problem.v.shape[row]);
  checkSize("v's heads", hkv, problem.v.shape[head]);
  checkSize("k's head dimension", d, problem.k.shape[3]);
  for (Operand *operand : {&q, &k, &v}) {
    operand->rowStride = operand->view->strides[row];
    operand->headStride = operand->view->strides[head];
    operand->featureStride = operand->view->strides[3];
  }
  if (problem.seqUsedK) {
    checkTensor("seqused_k", *problem.seqUsedK, 1, false);
    checkSize("seqused_k", batch, problem.seqUsedK->shape[0]);
  }
  oShape = problem.q.shape;
  oShape[3] = dv;
  rowShape = {batch, hq, sq};
  oRowStride = row == 1 ? hq * dv : dv;
  oHeadStride = row == 1 ? dv : sq * dv;
  rowHeadStride = sq;
  for (int64_t b = 0; b < batch; ++b)
    sequences.push_back({b,
                         sq,
                         usedLength(problem, b, keys),
                         b * problem.q.strides[0],
                         b * problem.k.strides[0],
                         b * problem.v.strides[0],
                         b * sq * hq * dv,
                         b * hq * sq,
                         {}});
  if (problem.pageTable)
    addPages(*problem.pageTable);
}

/// The pages of all sequences, checked as far as keys are in use.
void Geometry::addPages(const TensorView &table) {
  for (Sequence &sequence : sequences)
    for (int64_t j = 0; j < sequence.sk; j += pageRows) {
      const int64_t page =
          table.intAt(sequence.b * table.strides[0] + j / pageRows * table.strides[1]);
      if (page < 0 || page >= k.view->shape[0])
        fail("expected page_table between 0 and ", k.view->shape[0] - 1, ", got ", page,
             " for key ", j, " of batch ", sequence.b);
      sequence.pages.push_back(page);
    }
}

void Geometry::addPacked(const Problem &problem) {
  const TensorView &cuQ = *problem.cuSeqlensQ, &cuK = *problem.cuSeqlensK;
  checkTensor("cu_seqlens_q", cuQ, 1, false);
  checkTensor("cu_seqlens_k", cuK, 1, false);
  if (cuQ.shape[0] < 1)
    fail("expected cu_seqlens_q of at least one element, got none");
  checkSize("cu_seqlens_k", cuQ.shape[0], cuK.shape[0]);
  const int64_t batch = cuQ.shape[0] - 1;
  const int64_t totalQ = problem.q.shape[0], totalK = problem.k.shape[0];
  hq = problem.q.shape[1];
  hkv = problem.k.shape[1];
  d = problem.q.shape[2];
  dv = problem.v.shape[2];
  checkSize("v's total", totalK, problem.v.shape[0]);
  checkSize("v's heads", hkv, problem.v.shape[1]);
  checkSize("k's head dimension", d, problem.k.shape[2]);
  for (Operand *operand : {&q, &k, &v}) {
    operand->rowStride = operand->view->strides[0];
    operand->headStride = operand->view->strides[1];
    operand->featureStride = operand->view->strides[2];
  }
  if (problem.seqUsedK) {
    checkTensor("seqused_k", *problem.seqUsedK, 1, false);
    checkSize("seqused_k", batch, problem.seqUsedK->shape[0]);
  }
  oShape = {totalQ, hq, dv};
  rowShape = {hq, totalQ};
  oRowStride = hq * dv;
  oHeadStride = dv;
  rowHeadStride = totalQ;
  auto bounds = [](const char *name, const TensorView &cu, int64_t b, int64_t total) {
    const int64_t begin = cu.intAt(b * cu.strides[0]), end = cu.intAt((b + 1) * cu.strides[0]);
    if (begin < 0 || end < begin || end > total)
      fail("expected ", name, " to rise from 0 to at most ", total, ", got ", begin, " then ", end);
    return std::pair(begin, end - begin);
  };
  for (int64_t b = 0; b < batch; ++b) {
    auto [qStart, sq] = bounds("cu_seqlens_q", cuQ, b, totalQ);
    auto [kStart, sk] = bounds("cu_seqlens_k", cuK, b, totalK);
    sequences.push_back({b,
                         sq,
                         usedLength(problem, b, sk),
                         qStart * q.rowStride,
                         kStart * k.rowStride,
                         kStart * v.rowStride,
                         qStart * oRowStride,
                         qStart,
                         {}});
  }
}

void Geometry::resolveBias(const Problem &problem) {
  const TensorView &bias = *problem.bias;
  const int64_t rank = bias.rank();
  if (rank > 4 || !isFloat(bias.dtype))
    fail("expected a float bias of rank at most 4, got ", nameOf(bias.dtype), " of shape ",
         shapeToString(bias.shape));
  const bool packed = problem.cuSeqlensQ.has_value();
  int64_t sizes[4] = {static_cast<int64_t>(sequences.size()), hq, 0, 0};
  for (const Sequence &sequence : sequences) {
    sizes[2] = std::max(sizes[2], sequence.sq);
    sizes[3] = std::max(sizes[3], sequence.sk);
  }
  if (!packed) {
    sizes[2] = rowShape[2];
    sizes[3] = keys;
  }
  for (int64_t n = 0; n < rank; ++n) {
    const int64_t dimension = 4 - rank + n, size = bias.shape[n];
    const bool fits =
        size == sizes[dimension] || (packed && dimension >= 2 && size >= sizes[dimension]);
    if (size != 1 && !fits)
      fail("expected a bias that broadcasts to [", sizes[0], ", ", sizes[1], ", ", sizes[2], ", ",
           sizes[3], "], got shape ", shapeToString(bias.shape));
    biasStrides[dimension] = size == 1 ? 0 : bias.strides[n];
  }
}

} // namespace flashc::reference
