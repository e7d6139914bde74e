//===- CacheTestSupport.h - helpers of the cache's tests -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Keys and bytes by number, and code run in a process of its own.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CACHE_CACHETESTSUPPORT_H
#define FLASHC_TEST_UNIT_CACHE_CACHETESTSUPPORT_H

#include "runtime/Cache/ContentHash.h"
#include "runtime/Cache/DiskCache.h"
#include "test/Unit/IO/TestFiles.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flashc::test {

using Bytes = DiskCache::Bytes;

inline std::string keyOf(int number) {
  return ContentHash().add("test", std::to_string(number)).key();
}

/// Bytes that depend on `number` everywhere.
inline Bytes payload(int number, size_t size = 1000) {
  Bytes bytes(size);
  uint32_t state = static_cast<uint32_t>(number) * 2654435761u + 1;
  for (std::byte &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline size_t countFiles(const std::string &folder, const std::string &part) {
  size_t count = 0;
  for (const auto &file : std::filesystem::directory_iterator(folder))
    count += file.path().filename().string().find(part) != std::string::npos;
  return count;
}

/// Starts `body` in a process of its own, which exits with what it returns.
template <typename Body> pid_t startChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  return child;
}

/// The exit code of a process, or minus the signal that ended it.
inline int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <typename Body> int inChild(Body body) { return waitFor(startChild(body)); }

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CACHE_CACHETESTSUPPORT_H
