//===- Compare.cu - errors against an oracle, reduced on the device -------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Two kernels, so that nothing depends on the order of atomics: every block
// reduces its share, then one block reduces the blocks' results.
//
// Parameters: ELEMENT (f16, bf16, f32): actual. ORACLE (f32, f64): oracle.
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {
namespace {

__device__ Comparison nothing() { return {0, 0, 0, 0, 0, -1}; }

__device__ Comparison merge(const Comparison &a, const Comparison &b) {
  Comparison sum = {fmax(a.maxError, b.maxError),
                    a.sumSquares + b.sumSquares,
                    a.oracleSumSquares + b.oracleSumSquares,
                    a.compared + b.compared,
                    a.mismatches + b.mismatches,
                    a.firstMismatch};
  if (a.firstMismatch < 0 || (b.firstMismatch >= 0 && b.firstMismatch < a.firstMismatch))
    sum.firstMismatch = b.firstMismatch;
  return sum;
}

__device__ void add(Comparison &sum, double actual, double oracle, i64 index) {
  ++sum.compared;
  if (isFinite(oracle))
    sum.oracleSumSquares += oracle * oracle;
  if (isFinite(actual) && isFinite(oracle)) {
    const double error = fabs(actual - oracle);
    sum.maxError = fmax(sum.maxError, error);
    sum.sumSquares += error * error;
  } else if (actual != oracle && !(actual != actual && oracle != oracle)) {
    ++sum.mismatches;
    if (sum.firstMismatch < 0)
      sum.firstMismatch = index;
  }
}

/// Thread 0 writes the block's sum.
__device__ void reduceTo(Comparison *to, const Comparison &own) {
  __shared__ Comparison sums[compareThreads];
  const int thread = static_cast<int>(threadIdx.x);
  sums[thread] = own;
  __syncthreads();
  for (int half = compareThreads / 2; half > 0; half /= 2) {
    if (thread < half)
      sums[thread] = merge(sums[thread], sums[thread + half]);
    __syncthreads();
  }
  if (thread == 0)
    *to = sums[0];
}

} // namespace

FLASHC_KERNEL(compare, compareThreads)(const Compare a) {
  const i64 count = a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3];
  Comparison own = nothing();
  for (i64 n = static_cast<i64>(blockIdx.x) * compareThreads + threadIdx.x; n < count;
       n += static_cast<i64>(gridDim.x) * compareThreads)
    add(own, loadAt<ELEMENT>(a.actual, offsetOf(a.sizes, a.actualStrides, n)),
        loadAt<ORACLE>(a.oracle, offsetOf(a.sizes, a.oracleStrides, n)), n);
  reduceTo(a.partial + blockIdx.x, own);
}

/// One block; `partial` as the first kernel's launch left it.
FLASHC_KERNEL(compare_finish, compareThreads)(const Compare a) {
  Comparison own = nothing();
  for (i64 n = threadIdx.x; n < compareGrid(a); n += compareThreads)
    own = merge(own, a.partial[n]);
  reduceTo(a.result, own);
}

} // namespace templates
} // namespace flashc
