//===- ModuleCache.h - device code loaded once per device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Loading takes milliseconds to seconds, so equal code is loaded once per device
// and process, also when many threads ask at once. It stays loaded for good:
// work that was launched, and graphs that captured it, may outlive the kernel
// that they came from, and unloading would wait for the device.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_MODULECACHE_H
#define FLASHC_RUNTIME_CUDA_MODULECACHE_H

#include "runtime/CUDA/Driver.h"
#include "runtime/CUDA/LaunchPlan.h"
#include "runtime/CUDA/ModuleLoader.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flashc::cuda {

/// What is loaded: code, and what its launches need of the device.
struct DeviceCode {
  std::string ptx;
  std::string name;   ///< the kernel's, for messages
  std::string target; ///< "sm_80"
  std::vector<Launch> launches;
  std::vector<std::byte> cubin; ///< of the PTX, compiled ahead for the target; empty: none
};

/// How code came to a device.
struct LoadFacts {
  CodeMaker maker = CodeMaker::Ahead;
  double assembleSeconds = 0; ///< PTX to machine code, where that is ptxas's work
  double loadSeconds = 0;     ///< all else
};

/// The launches' entries on one device, ready to be launched.
struct Entries {
  std::vector<CUfunction> functions;
  LoadFacts facts;
};

/// The entries of `code` on device `ordinal`, in the order of its launches; valid for good. Loads
/// the code where that has not been done yet. Throws StatusError where the device cannot run it or
/// the driver refuses it; those who wait for the same loading get the error too, and a later call
/// tries again.
const Entries &loadEntries(const Driver &driver, int ordinal, const DeviceCode &code);

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_MODULECACHE_H
