//===- InThread.h - a task in a thread of its own ---------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_INTHREAD_H
#define FLASHC_RUNTIME_SUPPORT_INTHREAD_H

#include <future>
#include <system_error>

namespace flashc {

/// The result of `task`, which runs in a thread of its own; where none can be had, when the result is waited for.
template <typename Task> auto inThread(Task task) {
  try {
    return std::async(std::launch::async, task);
  } catch (const std::system_error &) {
    return std::async(std::launch::deferred, task);
  }
}

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_INTHREAD_H
