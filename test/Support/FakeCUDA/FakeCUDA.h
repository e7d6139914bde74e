//===- FakeCUDA.h - controls of the stand-in for the NVIDIA driver -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The library FlashcFakeCUDA exports the driver's functions that flashc uses,
// so that what the runtime asks of a driver can be tested without one: memory
// is the host's, launches are recorded, and rules that a driver enforces
// (contexts, shared memory, captures) are enforced. FLASHC_LIBCUDA names it.
//
// FAKE_CUDA_DEVICES lists the compute capabilities of its devices (default
// "9.0,8.0"), FAKE_CUDA_VERSION its CUDA version (12040). Code is PTX of which only `.entry NAME(.param ...)` is read. An
// entry called zeroN_at_P writes zeros to the rank-4 tensor of N-byte elements
// whose address is parameter P; others do nothing.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_SUPPORT_FAKECUDA_FAKECUDA_H
#define FLASHC_TEST_SUPPORT_FAKECUDA_FAKECUDA_H

#include "runtime/CUDA/DriverTypes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashc::test {

/// One cuLaunchKernel, or cuLaunchKernelEx with a launch that does not wait for those before it.
struct FakeLaunch {
  int device;
  std::string entry;
  unsigned grid, threads, sharedBytes;
  cuda::CUstream stream;
  std::vector<uint64_t> parameters;
  bool isEarly = false;
};

/// What the library exports beside the driver's functions, under the name fakeCudaControls.
struct FakeControls {
  /// Launches so far, oldest first.
  std::vector<FakeLaunch> (*launches)();
  /// Forgets launches, loads, captures and failures; contexts, modules and memory stay.
  void (*reset)();
  /// How often a module was loaded successfully since the last reset.
  int (*numLoads)();
  /// What the last successfully loaded module was made of.
  std::string (*lastImage)();
  /// The next call of the function fails with this result.
  void (*failNext)(const std::string &function, cuda::CUresult result);
  /// Begins or ends a capture of the stream, in the global mode.
  void (*capture)(cuda::CUstream stream, bool begins);
  /// Memory as the other allocators of the driver give it.
  void *(*allocatePinned)(size_t bytes);
  void *(*allocateManaged)(size_t bytes);
  /// The primary context of a device, and how often it was retained.
  cuda::CUcontext (*context)(int device);
  int (*numRetained)(int device);
};

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_FAKECUDA_FAKECUDA_H
