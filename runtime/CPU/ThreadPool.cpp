//===- ThreadPool.cpp - the process's worker threads -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ThreadPool.h"

#include "runtime/CPU/HostCPU.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <pthread.h>

using namespace flashc;

namespace {

int maxThreads() {
  static const int count = hardwareConcurrency();
  return count;
}

/// One parallel loop. Helpers hold it by shared_ptr: one that gets to run only after the loop has
/// ended finds it closed and never touches `body`, which lives in the caller's frame.
class Loop {
public:
  Loop(int64_t n, const std::function<void(int64_t, int)> &body) : n(n), body(body) {}

  /// The work of one pool thread; `body` may be entered only between join and leave.
  void help() {
    int worker;
    {
      std::lock_guard lock(mutex);
      if (closed)
        return;
      worker = ++joined;
      ++active;
    }
    work(worker);
    // Notified under the lock: the caller cannot return before this thread lets go of it.
    std::lock_guard lock(mutex);
    if (--active == 0)
      idle.notify_one();
  }

  /// The work of the calling thread, then the wait for the helpers that joined.
  void run() {
    work(0);
    std::unique_lock lock(mutex);
    closed = true;
    idle.wait(lock, [&] { return active == 0; });
    if (error)
      std::rethrow_exception(error);
  }

private:
  void work(int worker) {
    try {
      for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < n;)
        body(index, worker);
    } catch (...) {
      next.store(n, std::memory_order_relaxed);
      std::lock_guard lock(mutex);
      if (!error)
        error = std::current_exception();
    }
  }

  const int64_t n;
  const std::function<void(int64_t, int)> &body;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::condition_variable idle;
  int joined = 0;
  int active = 0;
  bool closed = false;
  std::exception_ptr error;
};

/// The pool's threads are left to the end of the process: joining them from a static destructor
/// would wait for user code. A forked child has none of them and begins again.
std::atomic<boost::asio::thread_pool *> currentPool{nullptr};
std::mutex poolMutex;

void forgetPoolInChild() {
  currentPool.store(nullptr);
  poolMutex.unlock();
}

boost::asio::thread_pool &pool() {
  if (auto *existing = currentPool.load(std::memory_order_acquire))
    return *existing;
  static const int registered =
      pthread_atfork([] { poolMutex.lock(); }, [] { poolMutex.unlock(); }, forgetPoolInChild);
  (void)registered;
  std::lock_guard lock(poolMutex);
  auto *created = currentPool.load();
  if (!created) {
    created = new boost::asio::thread_pool(size_t(std::max(1, maxThreads() - 1)));
    currentPool.store(created, std::memory_order_release);
  }
  return *created;
}

} // namespace

int flashc::effectiveThreads(int threads) {
  return threads <= 0 ? maxThreads() : std::min(threads, maxThreads());
}

void flashc::parallelFor(int64_t n, int threads, const std::function<void(int64_t, int)> &body) {
  if (n <= 0)
    return;
  int64_t helpers = std::min<int64_t>(effectiveThreads(threads), n) - 1;
  if (helpers == 0) {
    for (int64_t index = 0; index < n; ++index)
      body(index, 0);
    return;
  }
  auto loop = std::make_shared<Loop>(n, body);
  for (int64_t helper = 0; helper < helpers; ++helper)
    boost::asio::post(pool(), [loop] { loop->help(); });
  loop->run();
}
