//===- ModuleLoader.h - PTX made into code of a device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// nvJitLink makes a cubin, which the disk cache keeps for the next process; where
// there is none, or it does not go together with the driver, the driver compiles
// the PTX itself. Both end in the same machine code compiler of NVIDIA's.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_MODULELOADER_H
#define FLASHC_RUNTIME_CUDA_MODULELOADER_H

#include "runtime/CUDA/Device.h"

#include <string>
#include <string_view>

namespace flashc::cuda {

/// Loads `ptx`, compiled for `target`, into the context of the device of `facts`, which is current;
/// `name` is the kernel's. Throws StatusError with the logs of all that refused it.
CUmodule loadModule(const Driver &driver, const DeviceFacts &facts, const std::string &ptx,
                    const std::string &name, const std::string &target);

/// Whether a driver of this version (12040) loads cubins of an nvJitLink of version `linker`
/// ("13.0"): those of its major version and before.
bool loadsCubinsOf(std::string_view linker, int driverVersion);

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_MODULELOADER_H
