//===- CubinLoader.h - from the compiler's PTX to a cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Compiles PTX, and CUDA C++ beside it, to one cubin for one architecture, with
// ptxas, NVRTC and nvJitLink and without a GPU. What was made once comes from the
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

/// Whether a cubin of PTX alone is as good as the driver's own: ptxas is there, which compiles it as
/// a whole. Otherwise `reason` says why not, and PTX is better given to the driver, since nvJitLink's
/// cubin of it is slower (see Ptxas.h).
bool canMakeCubins(std::string &reason);

/// A cubin, and whether it was made before.
struct MadeCubin {
  std::vector<std::byte> bytes;
  bool isFromCache = false;
};

/// The cubin of `ptx` (text; "" for none) and of `sources` for `arch` ("sm_90a"). PTX alone is
/// compiled by ptxas (where there is none by nvJitLink), one source alone by NVRTC; several are
/// linked by nvJitLink. `driverVersion` as cuDriverGetVersion gives it, 0 where there is no driver: a
/// cubin is kept per driver. Throws Error with the log when they do not compile or link, and where
/// what is needed of the toolkit is missing.
MadeCubin makeCubin(std::string_view ptx, const std::string &arch, int driverVersion,
                    std::span<const CudaSource> sources, const DiskCache &cache);

/// Its bytes; by default with the user's cache.
std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources = {});
std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources, const DiskCache &cache);

/// The PTX of `source` for `arch`, by NVRTC or from the cache. Throws Error with the log, and where
/// there is no NVRTC.
std::string ptxFor(const CudaSource &source, const std::string &arch);
std::string ptxFor(const CudaSource &source, const std::string &arch, const DiskCache &cache);

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_CUBINLOADER_H
