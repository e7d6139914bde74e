//===- KernelCache.h - kernels, one per description and process -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Turns a description into a kernel through the process's compiler. Equal
// descriptions share one kernel; threads that ask at the same time share one
// compilation. What was compiled once comes from the user's disk cache.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_KERNELCACHE_H
#define FLASHC_RUNTIME_API_KERNELCACHE_H

#include "runtime/API/AttentionDesc.h"
#include "runtime/API/Kernel.h"

#include <memory>

namespace flashc {

/// The kernel of `desc` for its target (none or "cpu": the host's best; "cuda": its first GPU's). The last 256 kernels used
/// are kept. Safe from any thread. Throws Error for a description that is not acceptable, and
/// StatusError when the host cannot run the target, there is no compiler, or it fails.
std::shared_ptr<const Kernel> compileKernel(const AttentionDesc &desc);

} // namespace flashc

#endif // FLASHC_RUNTIME_API_KERNELCACHE_H
