//===- DiskCacheProcessTest.cpp - many processes and one cache -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// All at once on a cold cache, killed while they write, and evicting what
// others read.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Cache/CacheTestSupport.h"

#include <fcntl.h>

#include <csignal>
#include <random>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr uint64_t large = uint64_t(1) << 30;

void sleepFor(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(DiskCacheProcessTest, SixtyFourColdProcessesMakeEachKernelOnce) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  constexpr int processes = 64, kernels = 4;
  const std::string ledger = scratch.write("ledger", "");
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int n = 0; n < processes; ++n)
    children.push_back(startChild([&] {
      char byte;
      ::close(gate[1]);
      [[maybe_unused]] const ssize_t opened = ::read(gate[0], &byte, 1); // until all are there
      for (int m = 0; m < kernels; ++m) {
        const int number = (n + m) % kernels;
        const Bytes bytes = cache.get(keyOf(number), "", [&] {
          const int file = ::open(ledger.c_str(), O_WRONLY | O_APPEND);
          const char line = static_cast<char>('0' + number);
          if (::write(file, &line, 1) != 1)
            std::abort();
          sleepFor(50);
          return payload(number, 100000);
        });
        if (bytes != payload(number, 100000))
          return 1;
      }
      return 0;
    }));
  ::close(gate[1]);
  ::close(gate[0]);
  for (const pid_t child : children)
    EXPECT_EQ(waitFor(child), 0);
  const std::string made = scratch.read("ledger");
  std::printf("%d processes, %d kernels: %zu compilations\n", processes, kernels, made.size());
  for (int n = 0; n < kernels; ++n)
    EXPECT_EQ(std::count(made.begin(), made.end(), '0' + n), 1) << made;
  EXPECT_EQ(countFiles(cache.directory(), ""), size_t(kernels));
}

TEST(DiskCacheProcessTest, ThreadsMakeAKernelOnceToo) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 16; ++n)
    threads.emplace_back([&] {
      EXPECT_EQ(cache.get(keyOf(1), "",
                          [&] {
                            ++made;
                            sleepFor(20);
                            return payload(1);
                          }),
                payload(1));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
}

TEST(DiskCacheProcessTest, AKilledMakerHoldsNobodyUp) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int started[2];
  ASSERT_EQ(::pipe(started), 0);
  const pid_t maker = startChild([&] {
    cache.get(keyOf(1), "", [&]() -> Bytes {
      [[maybe_unused]] const ssize_t told = ::write(started[1], "x", 1);
      while (true)
        sleepFor(1000);
    });
    return 0;
  });
  char byte;
  ASSERT_EQ(::read(started[0], &byte, 1), 1);
  std::thread killer([&] {
    sleepFor(100);
    ::kill(maker, SIGKILL);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(cache.get(keyOf(1), "", [] { return payload(1); }), payload(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  killer.join();
  EXPECT_EQ(waitFor(maker), -SIGKILL);
  ::close(started[0]);
  ::close(started[1]);
}

TEST(DiskCacheProcessTest, KilledWritersLeaveNoBadEntry) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  std::minstd_rand random(1);
  constexpr size_t size = 4 << 20;
  const Bytes contents[2] = {payload(0, size), payload(1, size)};
  size_t interrupted = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t writer = startChild([&] {
      for (int n = 0; true; ++n)
        cache.store(keyOf(n % 2), "", contents[n % 2]);
      return 0;
    });
    sleepFor(5 + random() % 40);
    ::kill(writer, SIGKILL);
    EXPECT_EQ(waitFor(writer), -SIGKILL);
    for (int n = 0; n < 2; ++n)
      if (const auto found = cache.find(keyOf(n)))
        EXPECT_TRUE(*found == contents[n]);
    for (const auto &entry : cache.list(true))
      EXPECT_EQ(entry.problem, "");
    interrupted += countFiles(cache.directory(), ".tmp-") != 0;
    cache.prune(large);
    EXPECT_EQ(countFiles(cache.directory(), ".tmp-"), 0u);
  }
  std::printf("30 writers killed, %zu of them in the middle of a file\n", interrupted);
  EXPECT_GT(interrupted, 0u);
}

TEST(DiskCacheProcessTest, ALiveWritersFileIsLeftAlone) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  const pid_t writer = startChild([&] {
    for (int n = 0; n < 200; ++n)
      if (const std::string problem = cache.store(keyOf(n), "", payload(n, 1 << 18));
          !problem.empty()) {
        std::fprintf(stderr, "store: %s\n", problem.c_str());
        return 1;
      }
    return 0;
  });
  int code = 0;
  while (::waitpid(writer, &code, WNOHANG) == 0)
    cache.prune(large);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(cache.list(true).size(), 200u);
}

TEST(DiskCacheProcessTest, EvictionBesideReadersKeepsTheBound) {
  const ScratchDirectory scratch;
  constexpr uint64_t limit = 200000; // of 64 kernels of 10000 bytes
  const DiskCache cache(scratch.path("c"), limit);
  std::vector<pid_t> children;
  for (int n = 0; n < 8; ++n)
    children.push_back(startChild([&cache, n] {
      std::minstd_rand random(static_cast<unsigned>(n + 1));
      for (int round = 0; round < 150; ++round) {
        const int number = static_cast<int>(random() % 64);
        if (cache.get(keyOf(number), "", [&] { return payload(number, 10000); }) !=
            payload(number, 10000))
          return 1;
        // A sweep takes a file that is just being made for one that was left behind.
        if (const std::string problem = cache.store(keyOf(number), "", payload(number, 10000));
            !problem.empty()) {
          std::fprintf(stderr, "store: %s\n", problem.c_str());
          return 2;
        }
      }
      return 0;
    }));
  for (const pid_t child : children)
    EXPECT_EQ(waitFor(child), 0);
  uint64_t bytes = 0;
  for (const auto &entry : cache.list(true)) {
    EXPECT_EQ(entry.problem, "");
    bytes += entry.fileBytes;
  }
  EXPECT_LE(bytes, limit);
  EXPECT_GT(bytes, limit / 2);
}

} // namespace
