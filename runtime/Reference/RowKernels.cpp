//===- RowKernels.cpp - the two products of the reference -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// AVX2 and FMA, which flashc requires of any x86-64 host, named per function so that the rest of
// the library is compiled for the baseline; elsewhere plain loops with std::fma.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/RowKernels.h"

#include <cmath>

#if defined(__x86_64__)
#define FLASHC_FMA_TARGET __attribute__((target("avx2,fma")))
#else
#define FLASHC_FMA_TARGET
#endif

namespace flashc::reference {

namespace {

/// 64 bytes of accumulators, two vector registers, stay live over the inner loop.
template <typename Real> inline constexpr int64_t kLanes = 64 / sizeof(Real);

template <typename Real>
FLASHC_FMA_TARGET inline __attribute__((always_inline)) void
multiplyKeysImpl(const Real *q, const Real *keys, int64_t depth, Real *out) {
  constexpr int64_t step = 2 * kLanes<Real>;
  for (int64_t j = 0; j < kKeyBlock; j += step) {
    Real sum[step] = {};
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t n = 0; n < step; ++n)
        sum[n] = std::fma(q[d], keys[d * kKeyBlock + j + n], sum[n]);
    for (int64_t n = 0; n < step; ++n)
      out[j + n] = sum[n];
  }
}

template <int64_t Step, typename Real>
FLASHC_FMA_TARGET inline __attribute__((always_inline)) int64_t
accumulateColumns(const Real *p, const int32_t *index, int64_t count, const Real *values,
                  int64_t width, int64_t column, Real *out) {
  for (; column + Step <= width; column += Step) {
    Real sum[Step] = {};
    for (int64_t n = 0; n < count; ++n) {
      const Real weight = p[index[n]];
      const Real *row = values + index[n] * width + column;
      for (int64_t c = 0; c < Step; ++c)
        sum[c] = std::fma(weight, row[c], sum[c]);
    }
    for (int64_t c = 0; c < Step; ++c)
      out[column + c] += sum[c];
  }
  return column;
}

template <typename Real>
FLASHC_FMA_TARGET inline __attribute__((always_inline)) void
accumulateValuesImpl(const Real *p, const int32_t *index, int64_t count, const Real *values,
                     int64_t width, Real *out) {
  const int64_t column =
      accumulateColumns<2 * kLanes<Real>>(p, index, count, values, width, 0, out);
  accumulateColumns<kPadding>(p, index, count, values, width, column, out);
}

} // namespace

FLASHC_FMA_TARGET void multiplyKeys(const double *q, const double *keys, int64_t depth,
                                    double *out) {
  multiplyKeysImpl(q, keys, depth, out);
}
FLASHC_FMA_TARGET void multiplyKeys(const float *q, const float *keys, int64_t depth, float *out) {
  multiplyKeysImpl(q, keys, depth, out);
}
FLASHC_FMA_TARGET void accumulateValues(const double *p, const int32_t *index, int64_t count,
                                        const double *values, int64_t width, double *out) {
  accumulateValuesImpl(p, index, count, values, width, out);
}
FLASHC_FMA_TARGET void accumulateValues(const float *p, const int32_t *index, int64_t count,
                                        const float *values, int64_t width, float *out) {
  accumulateValuesImpl(p, index, count, values, width, out);
}

} // namespace flashc::reference
