//===- ThreadPool.cpp - the process's worker threads -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ThreadPool.h"

#include "runtime/CPU/HostCPU.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <thread>

using namespace flashc;

namespace {

using Clock = std::chrono::steady_clock;

/// How long a helper stays awake after a loop: waking a thread takes up to 100 us, and where the system puts it on
/// the caller's processor, it does not run before the caller's next time slice. oneTBB's own delayed leaving
/// (from 2022.2 on) takes as long.
constexpr std::chrono::microseconds kLinger{1000};
/// Of that, how long it takes a processor for itself.
constexpr std::chrono::microseconds kSpin{100};

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

/// Waits awake for `isDone`, for at most `longest`; returns whether it is.
template <typename Condition> bool waitAwake(Condition isDone, Clock::duration longest) {
  constexpr int pauses = 32; // between looks at the clock
  const Clock::time_point begin = Clock::now();
  for (int turn = 1;; ++turn) {
    if (isDone())
      return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (turn % pauses != 0)
      continue;
    const Clock::duration waited = Clock::now() - begin;
    if (waited > longest)
      return isDone();
    if (waited > kSpin)
      std::this_thread::yield();
  }
}

/// Moves the calling thread away if it is on `processor`, where the thread that waits for it works: some systems leave
/// both there for as long as either of them sleeps now and then, whatever others are idle.
void leaveProcessor(int processor) {
  if (sched_getcpu() != processor)
    return;
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return; // there are more processors than a set holds
  others = allowed;
  CPU_CLR(processor, &others);
  // Where it is now it stays for a while once it may be anywhere again.
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Whether the thread is inside a loop's body.
thread_local bool isInBody = false;

/// One parallel loop, on the caller's stack: it outlives its helpers.
class Loop {
public:
  Loop(int64_t n, const std::function<void(int64_t, int)> &body) : n(n), body(body) {}

  /// Exceptions are carried by hand, past oneTBB's library, which may have another C++ runtime.
  void work(int worker) noexcept {
    isInBody = true;
    try {
      for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < n;)
        body(index, worker);
    } catch (...) {
      if (!hasFailed.exchange(true)) // the first one alone
        error = std::current_exception();
      next.store(n, std::memory_order_relaxed);
    }
    isInBody = false;
  }

  void rethrow() const {
    if (error)
      std::rethrow_exception(error);
  }

private:
  const int64_t n;
  const std::function<void(int64_t, int)> &body;
  std::atomic<int64_t> next{0};
  std::atomic<bool> hasFailed{false};
  std::exception_ptr error;
};

/// A calling thread's helpers for loops of so many threads: tasks that take part in one loop after another, and wait
/// awake between them for a while. Its arena has a place that only the caller takes, so loops of many threads
/// never wait for one another's places.
class Crew {
public:
  explicit Crew(int threads) : arena(threads, /*reserved_for_masters=*/1) {}
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;
  ~Crew() {
    isClosed = true;
    arena.execute([&] { group.wait(); });
  }

  void run(Loop &loop, int helpers) {
    callersProcessor = sched_getcpu();
    current = &loop;
    ++generation;
    if (const int missing = helpers - present; missing > 0) {
      present += missing;
      arena.execute([&] {
        for (int i = 0; i < missing; ++i)
          group.run([this] { help(); });
      });
    }
    loop.work(0);
    // A helper that has not joined by now sees none; one that has is waited for.
    current = nullptr;
    if (!waitAwake([&] { return joined == 0; }, kLinger))
      for (int still; (still = joined) != 0;)
        joined.wait(still);
  }

private:
  void help() noexcept {
    // In the caller's place it is the caller that waits for the group's end.
    const int worker = tbb::this_task_arena::current_thread_index();
    uint64_t seen = 0;
    for (bool isPresent = true; isPresent;) {
      do {
        seen = generation;
        join(worker);
      } while (waitAwake([&] { return generation != seen || isClosed; }, kLinger) && !isClosed);
      --present;
      // The caller may have counted on this one just before.
      isPresent = generation != seen && !isClosed;
      present += isPresent;
    }
  }

  void join(int worker) noexcept {
    leaveProcessor(callersProcessor);
    ++joined;
    if (Loop *loop = current)
      loop->work(worker);
    if (--joined == 0)
      joined.notify_one();
  }

  tbb::task_arena arena;
  // Of nobody else's group, whose end would end this one.
  tbb::task_group_context context{tbb::task_group_context::isolated};
  tbb::task_group group{context};
  // In one order for all threads: each of the two sides writes one and then reads the other's.
  std::atomic<Loop *> current{nullptr};
  std::atomic<uint64_t> generation{0};
  std::atomic<int> callersProcessor{-1};
  std::atomic<int> joined{0};  // helpers that may be inside `current`
  std::atomic<int> present{0}; // helpers that have been asked for and have not left
  std::atomic<bool> isClosed{false};
};

/// The calling thread's crews by their number of threads.
class Crews {
public:
  Crews() { watchForks(); }
  Crews(const Crews &) = delete;
  Crews &operator=(const Crews &) = delete;
  ~Crews() {
    // A worker may have held the scheduler's locks when the process was forked.
    if (workersAreLost)
      (void)crews.release();
  }

  Crew &get(int threads) { return crews->try_emplace(threads, threads).first->second; }

private:
  std::unique_ptr<std::map<int, Crew>> crews = std::make_unique<std::map<int, Crew>>();
};

} // namespace

int flashc::effectiveThreads(int threads) {
  return threads <= 0 ? maxThreads() : std::min(threads, maxThreads());
}

void flashc::parallelFor(int64_t n, int threads, const std::function<void(int64_t, int)> &body) {
  const int places = effectiveThreads(threads);
  const int64_t used = std::min<int64_t>(places, n);
  if (used <= 1 || workersAreLost || isInBody) {
    for (int64_t index = 0; index < n; ++index)
      body(index, 0);
    return;
  }
  thread_local Crews crews;
  Loop loop(n, body);
  crews.get(places).run(loop, static_cast<int>(used - 1));
  loop.rethrow();
}
