//===- HostShim.cpp - CUDA's kernels run by the host -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/HostShim.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <vector>

ShimIndex threadIdx, blockIdx, gridDim;

namespace {

constexpr size_t stackBytes = 256 << 10;

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stackBytes]};
  bool isDone = false;
};

ucontext_t scheduler;
std::vector<Thread> threads;
size_t current = 0;
const std::function<void()> *kernel = nullptr;
unsigned ballots[2]; ///< of this barrier and the next
size_t barrier = 0;

void runThread() {
  (*kernel)();
  threads[current].isDone = true;
  swapcontext(&threads[current].context, &scheduler); // never comes back
}

void giveWay() {
  const size_t self = current;
  swapcontext(&threads[self].context, &scheduler);
}

} // namespace

void __syncthreads() { giveWay(); }

unsigned __ballot_sync(unsigned, bool predicate) {
  const size_t own = barrier % 2;
  ballots[own] |= static_cast<unsigned>(predicate) << threadIdx.x;
  giveWay();
  return ballots[own];
}

void flashc::test::launchOnHost(long long blocks, int count, const std::function<void()> &body) {
  std::minstd_rand random(1);
  kernel = &body;
  gridDim.x = static_cast<unsigned>(blocks);
  while (threads.size() < static_cast<size_t>(count))
    threads.emplace_back();
  std::vector<size_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    for (const size_t n : order) {
      Thread &thread = threads[n];
      thread.isDone = false;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.get();
      thread.context.uc_stack.ss_size = stackBytes;
      thread.context.uc_link = nullptr;
      makecontext(&thread.context, runThread, 0);
    }
    for (size_t left = order.size(); left;) { // up to the next barrier, or the end
      std::shuffle(order.begin(), order.end(), random);
      ballots[barrier % 2] = 0;
      left = 0;
      for (const size_t n : order) {
        if (threads[n].isDone)
          continue;
        current = n;
        threadIdx.x = static_cast<unsigned>(n);
        swapcontext(&scheduler, &threads[n].context);
        left += !threads[n].isDone;
      }
      ++barrier;
    }
  }
}
