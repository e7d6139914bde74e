//===- HostShim.h - CUDA's kernels run by the host -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Enough of CUDA for the files of templates/ to be compiled as host C++ and
// run, block after block. Every thread of a block is a context of its own that
// gives way at barriers, so that shared memory, ballots and the order between
// barriers mean what they mean on a GPU; threads run in a shuffled order, which
// changes at each barrier.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_HOSTSHIM_H
#define FLASHC_TEST_UNIT_CUDA_HOSTSHIM_H

#include <cmath>
#include <functional>

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static // one block at a time

struct ShimIndex {
  unsigned x = 0;
};
extern ShimIndex threadIdx, blockIdx, gridDim;

void __syncthreads();
unsigned __ballot_sync(unsigned mask, bool predicate);
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline unsigned long long atomicAdd(unsigned long long *to, unsigned long long value) {
  const unsigned long long before = *to;
  *to += value;
  return before;
}

// CUDA has the overloads for float beside those of C.
using std::cos;
using std::exp;
using std::fabs;
using std::fma;
using std::fmax;
using std::log;
using std::sin;
using std::sqrt;

namespace flashc::test {

/// Runs `body` as every thread of every block.
void launchOnHost(long long blocks, int threads, const std::function<void()> &body);

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_HOSTSHIM_H
