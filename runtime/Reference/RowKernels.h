//===- RowKernels.h - the two products of the reference -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// q.K and P.V for one row, in double or float. Each result is one chain of fused multiply-adds in
// index order, which is what OpenBLAS's (hence NumPy's) single-precision product computes, bit for
// bit.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_ROWKERNELS_H
#define FLASHC_RUNTIME_REFERENCE_ROWKERNELS_H

#include <cstdint>

namespace flashc::reference {

/// Keys per block of the transposed keys; rows of the values are padded to kPadding.
inline constexpr int64_t kKeyBlock = 256;
inline constexpr int64_t kPadding = 8;

/// out[j] = sum over d < depth of q[d] * keys[d][j], for j < kKeyBlock; keys is [depth, kKeyBlock].
void multiplyKeys(const double *q, const double *keys, int64_t depth, double *out);
void multiplyKeys(const float *q, const float *keys, int64_t depth, float *out);

/// out[c] += sum over n < count of p[index[n]] * values[index[n]][c], for c < width, a multiple of
/// kPadding; values is [..., width]. The sum is formed apart and added once.
void accumulateValues(const double *p, const int32_t *index, int64_t count, const double *values,
                      int64_t width, double *out);
void accumulateValues(const float *p, const int32_t *index, int64_t count, const float *values,
                      int64_t width, float *out);

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_ROWKERNELS_H
