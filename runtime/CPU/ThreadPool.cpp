//===- ThreadPool.cpp - the process's worker threads -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ThreadPool.h"

#include "runtime/CPU/HostCPU.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <pthread.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

using namespace flashc;

namespace {

int maxThreads() {
  static const int count = hardwareConcurrency();
  return count;
}

/// Workers do not survive a fork, and oneTBB neither notices nor starts others.
std::atomic<bool> workersAreLost{false};

void watchForks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { workersAreLost = true; });
  (void)registered;
}

/// The calling thread's arenas by their number of threads. Each has a place that only the caller
/// takes, so loops of many threads never wait for one another's places.
class Arenas {
public:
  Arenas() { watchForks(); }
  Arenas(const Arenas &) = delete;
  Arenas &operator=(const Arenas &) = delete;
  ~Arenas() {
    // A worker may have held the scheduler's locks when the process was forked.
    if (workersAreLost)
      (void)arenas.release();
  }

  tbb::task_arena &get(int threads) {
    constexpr unsigned placesOfCallers = 1;
    return arenas->try_emplace(threads, threads, placesOfCallers).first->second;
  }

private:
  std::unique_ptr<std::map<int, tbb::task_arena>> arenas =
      std::make_unique<std::map<int, tbb::task_arena>>();
};

/// One parallel loop, on the caller's stack: it outlives its tasks.
class Loop {
public:
  Loop(int64_t n, const std::function<void(int64_t, int)> &body) : n(n), body(body) {}

  void run(int64_t threads) {
    tbb::task_group group(context);
    for (int64_t helper = 1; helper < threads; ++helper)
      group.run([this] { work(); });
    work();
    group.wait();
  }

  void rethrow() const {
    if (error)
      std::rethrow_exception(error);
  }

private:
  /// Exceptions are carried by hand, past oneTBB's library, which may have another C++ runtime.
  void work() noexcept {
    try {
      const int worker = tbb::this_task_arena::current_thread_index();
      for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < n;)
        body(index, worker);
    } catch (...) {
      if (context.cancel_group_execution()) // true for the first one alone
        error = std::current_exception();
      next.store(n, std::memory_order_relaxed);
    }
  }

  const int64_t n;
  const std::function<void(int64_t, int)> &body;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  // Of nobody else's group, whose end would end this one.
  tbb::task_group_context context{tbb::task_group_context::isolated};
};

} // namespace

int flashc::effectiveThreads(int threads) {
  return threads <= 0 ? maxThreads() : std::min(threads, maxThreads());
}

void flashc::parallelFor(int64_t n, int threads, const std::function<void(int64_t, int)> &body) {
  const int places = effectiveThreads(threads);
  const int64_t used = std::min<int64_t>(places, n);
  if (used <= 1 || workersAreLost) {
    for (int64_t index = 0; index < n; ++index)
      body(index, 0);
    return;
  }
  thread_local Arenas arenas;
  Loop loop(n, body);
  // Isolated: a caller that waits for an inner loop does not begin with the outer one's.
  arenas.get(places).execute([&] { tbb::this_task_arena::isolate([&] { loop.run(used); }); });
  loop.rethrow();
}
