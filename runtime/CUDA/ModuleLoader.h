//===- ModuleLoader.h - PTX made into code of a device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A cubin may come with the PTX. Else ptxas makes one, which the disk cache keeps for the next process; where
// there is none, or it does not go together with the driver, the driver compiles
// the PTX itself: it has the same compiler inside.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_MODULELOADER_H
#define FLASHC_RUNTIME_CUDA_MODULELOADER_H

#include "runtime/CUDA/Device.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace flashc::cuda {

/// Who made a module's machine code.
enum class CodeMaker {
  Ahead, ///< it came with the PTX
  Ptxas,
  Cache,  ///< ptxas, for an earlier process
  Driver, ///< while it loaded the PTX
};

struct LoadedModule {
  CUmodule module = nullptr;
  CodeMaker maker = CodeMaker::Driver;
  double assembleSeconds =
      0; ///< what ptxas took, or reading what it made; in vain where the driver had to
};

/// Loads `ptx`, compiled for `target`, into the context of the device of `facts`, which is current;
/// `name` is the kernel's. `cubin`, compiled of it ahead for the target, is taken where it is there
/// and goes together with device and driver. Throws StatusError with the logs of all that refused it.
LoadedModule loadModule(const Driver &driver, const DeviceFacts &facts, const std::string &ptx,
                        const std::string &name, const std::string &target,
                        std::span<const std::byte> cubin = {});

/// Whether a driver of this version (12040) loads cubins of that release of ptxas: those of its major
/// version and before.
bool loadsCubinsOf(std::string_view release, int driverVersion);

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_MODULELOADER_H
