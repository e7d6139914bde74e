//===- Stopwatch.h - seconds since it was made ------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_STOPWATCH_H
#define FLASHC_RUNTIME_SUPPORT_STOPWATCH_H

#include <chrono>

namespace flashc {

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

private:
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_STOPWATCH_H
