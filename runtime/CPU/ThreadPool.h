//===- ThreadPool.h - the process's worker threads -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// oneTBB's threads, one set per process, started at the first parallel loop.
// The calling thread always takes part and waits only for helpers that have
// begun, so loops of many user threads at once cannot deadlock. Helpers stay
// awake for a millisecond after a loop, so that short loops in a row do not
// wait for threads to wake; a loop inside another's body is its caller's alone.
// A forked child has none of its parent's threads; where the parent had run a
// loop on several, the child's callers do theirs alone.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CPU_THREADPOOL_H
#define FLASHC_RUNTIME_CPU_THREADPOOL_H

#include <cstdint>
#include <functional>

namespace flashc {

/// The number of threads that `parallelFor` uses at most for a request of `threads`: `threads` <= 0
/// means every processor this process may use, and more than those is cut to them.
int effectiveThreads(int threads);

/// Calls body(index, worker) once for each index in [0, n), on up to effectiveThreads(threads)
/// threads, the caller among them. Indices are handed out one at a time in increasing order.
/// `worker` is in [0, effectiveThreads(threads)), 0 for the caller, and no two threads have the same
/// at a time, so it may select private scratch. The first exception ends the loop early and is thrown
/// to the caller after all threads have left `body`.
void parallelFor(int64_t n, int threads, const std::function<void(int64_t, int)> &body);

} // namespace flashc

#endif // FLASHC_RUNTIME_CPU_THREADPOOL_H
