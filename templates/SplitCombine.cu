//===- SplitCombine.cu - states of parts merged into O and LSE ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The last step of decoding with split keys: a block per row, a thread per
// element of the head, in f32. The state of a sink, (sink, 1, 0), joins once.
//
// Parameters: ELEMENT (f16, bf16, f32): o.
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {

FLASHC_KERNEL(split_combine, combineThreads)(const SplitCombine a) {
  const i64 i = blockIdx.x % a.queries;
  const i64 head = blockIdx.x / a.queries % a.heads, batch = blockIdx.x / a.queries / a.heads;
  const i64 row = batch * a.rowStrides[0] + head * a.rowStrides[1] + i * a.rowStrides[2];
  const float *acc =
      a.acc + batch * a.accRowStrides[0] + head * a.accRowStrides[1] + i * a.accRowStrides[2];

  const float sink = a.sinks ? a.sinks[head] / a.lnBase : -infinity();
  float top = sink;
  for (i64 part = 0; part < a.parts; ++part)
    top = fmax(top, a.m[row + part * a.partStride]);
  const float reference = top == -infinity() ? 0.0f : top;
  float sum = a.sinks ? exp((sink - reference) * a.lnBase) : 0.0f;
  for (i64 part = 0; part < a.parts; ++part)
    sum += exp((a.m[row + part * a.partStride] - reference) * a.lnBase) *
           a.l[row + part * a.partStride];

  for (i64 d = threadIdx.x; d < a.valueDim; d += combineThreads) {
    float value = 0;
    for (i64 part = 0; part < a.parts; ++part) {
      const float weight = exp((a.m[row + part * a.partStride] - reference) * a.lnBase);
      value = fma(weight, acc[part * a.accPartStride + d * a.accDimStride], value);
    }
    storeAt<ELEMENT>(a.o.data, offsetOf(a.o, batch, i, head, d), sum == 0 ? 0.0f : value / sum);
  }
  if (a.lse && threadIdx.x == 0)
    a.lse[batch * a.lseStrides[0] + head * a.lseStrides[1] + i * a.lseStrides[2]] =
        sum == 0 ? -infinity() : reference * a.lnBase + log(sum);
}

} // namespace templates
} // namespace flashc
