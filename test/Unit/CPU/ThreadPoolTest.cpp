//===- ThreadPoolTest.cpp - parallel loops, nested, concurrent, failing -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <set>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace flashc;

namespace {

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (int threads : {-1, 0, 1, 2, 1000})
    for (int64_t n : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> visits(n);
      parallelFor(n, threads, [&](int64_t index, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, effectiveThreads(threads));
        ++visits[index];
      });
      for (auto &count : visits)
        EXPECT_EQ(count, 1);
    }
  parallelFor(-5, 0, [](int64_t, int) { FAIL(); });
}

TEST(ThreadPool, OneThreadGoesInOrder) {
  std::vector<int64_t> order;
  parallelFor(5, 1, [&](int64_t index, int) { order.push_back(index); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, AWorkerIsOneThread) {
  std::vector<std::set<std::thread::id>> threadsOf(effectiveThreads(0));
  std::mutex mutex;
  parallelFor(2000, 0, [&](int64_t, int worker) {
    std::lock_guard lock(mutex);
    threadsOf[worker].insert(std::this_thread::get_id());
  });
  for (auto &threads : threadsOf)
    EXPECT_LE(threads.size(), 1u);
  // The others may have done it all before the caller got to run.
  if (!threadsOf[0].empty()) {
    EXPECT_EQ(*threadsOf[0].begin(), std::this_thread::get_id());
  }
}

/// Helpers that leave the caller's processor may use all others afterwards, and that one.
TEST(ThreadPool, ThreadsKeepTheirProcessors) {
  auto processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
  };
  const int all = processors();
  for (int repeat = 0; repeat < 200; ++repeat)
    parallelFor(8, 0, [&](int64_t, int) { EXPECT_EQ(processors(), all); });
  EXPECT_EQ(processors(), all);
}

/// Helpers wait awake for the next loop, and are asleep for one after a pause.
TEST(ThreadPool, LoopsAfterPausesAreWhole) {
  std::atomic<int64_t> sum{0};
  for (int pause : {0, 50, 500, 900, 1000, 1100, 2000, 5000}) // in us
    for (int repeat = 0; repeat < 10; ++repeat) {
      parallelFor(11, 0, [&](int64_t index, int) { sum += index; });
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
  EXPECT_EQ(sum, 8 * 10 * 55);
}

TEST(ThreadPool, ALoopInABodyIsItsCallersAlone) {
  parallelFor(20, 0, [&](int64_t, int) {
    const std::thread::id caller = std::this_thread::get_id();
    parallelFor(5, 0, [&](int64_t, int worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
    });
  });
}

TEST(ThreadPool, NestedLoopsOfManyThreadsEnd) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 8; ++user)
    users.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat)
        parallelFor(7, 0, [&](int64_t, int) {
          parallelFor(11, 0, [&](int64_t inner, int) { sum += inner; });
        });
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(sum, 8 * 20 * 7 * 55);
}

TEST(ThreadPool, ThrowsTheBodysException) {
  for (int threads : {1, 0}) {
    std::atomic<int64_t> visits{0};
    try {
      parallelFor(int64_t(1) << 40, threads, [&](int64_t index, int) {
        ++visits;
        if (index == 100)
          throw std::runtime_error("at 100");
      });
      FAIL();
    } catch (const std::runtime_error &error) {
      EXPECT_STREQ(error.what(), "at 100");
    }
    EXPECT_GE(visits, 101);
  }
  // The pool is usable afterwards.
  std::atomic<int> count{0};
  parallelFor(10, 0, [&](int64_t, int) { ++count; });
  EXPECT_EQ(count, 10);
}

TEST(ThreadPool, WorksInAForkedChild) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer does not follow threads of a forked child";
#endif
#endif
  parallelFor(10, 0, [](int64_t, int) {});
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20); // a hang must not outlive the test
    std::atomic<int> count{0};
    parallelFor(1000, 0, [&](int64_t, int) { ++count; });
    _exit(count == 1000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// Workers may be anywhere then, with the scheduler's locks held; but the child needs none of them.
TEST(ThreadPool, AChildForkedDuringALoopEnds) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer does not follow threads of a forked child";
#endif
#endif
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop)
      parallelFor(100, 0, [](int64_t, int) {});
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      std::atomic<int> count{0};
      // A thread's arenas end with it.
      std::thread([&] { parallelFor(1000, 0, [&](int64_t, int) { ++count; }); }).join();
      parallelFor(1000, 0, [&](int64_t, int) { ++count; });
      _exit(count == 2000 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

} // namespace
