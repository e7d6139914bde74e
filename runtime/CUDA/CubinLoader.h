//===- CubinLoader.h - from the compiler's PTX to a cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Compiles PTX, and CUDA C++ beside it, to one cubin for one architecture, with
// NVRTC and nvJitLink and without a GPU. What was made once comes from the
// user's disk cache.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_CUBINLOADER_H
#define FLASHC_RUNTIME_CUDA_CUBINLOADER_H

#include "runtime/CUDA/NVRTC.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

class DiskCache;

/// Whether cubinFor can make cubins on this machine; otherwise `reason` says why not, and PTX goes
/// to the driver, which compiles it too. What needs CUDA C++ needs NVRTC as well.
bool canMakeCubins(std::string &reason);

/// The cubin of `ptx` (text; "" for none) and of `sources`, linked for `arch` ("sm_90a").
/// `driverVersion` as cuDriverGetVersion gives it, 0 where there is no driver: a cubin is kept per
/// driver. Throws Error with the log when they do not compile or link, and where nvJitLink (or,
/// with sources, NVRTC) is missing.
std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources = {});

/// The same with a cache other than the user's.
std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources, const DiskCache &cache);

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_CUBINLOADER_H
