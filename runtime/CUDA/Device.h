//===- Device.h - the GPUs of this machine and what they run -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Facts of the devices at hand, as the driver tells them, and which targets
// their compute capability lets them run.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_DEVICE_H
#define FLASHC_RUNTIME_CUDA_DEVICE_H

#include "compiler/Target/TargetInfo.h"
#include "runtime/CUDA/Driver.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flashc::cuda {

/// A compute capability: 9.0 is {9, 0}.
struct Capability {
  int major = 0, minor = 0;
  auto operator<=>(const Capability &) const = default;
};

std::string toString(Capability capability);

/// What a target's name asks of a device.
struct TargetCapability {
  Capability least;
  char suffix = 0; ///< 'a': exactly that capability; 'f': its major version; 0: that and later ones
};

/// Reads "sm_90a"; nothing where the name is no GPU target's.
std::optional<TargetCapability> parseTarget(std::string_view target);

/// Whether a device of this capability runs code for `target`.
bool canRun(Capability capability, std::string_view target);

/// What the driver says of a device. Sizes are bytes.
struct DeviceFacts {
  int ordinal = 0;
  std::string name; ///< "NVIDIA H200"
  Capability capability;
  int multiprocessors = 0;
  size_t memoryBytes = 0;
  int sharedBytesPerBlock = 0; ///< at most, when a kernel opts in
  int l2Bytes = 0;
  double clockGHz = 0;          ///< the highest of the multiprocessors
  double memoryGBPerSecond = 0; ///< peak; 0 where the driver does not say
};

DeviceFacts readFacts(const Driver &driver, int ordinal);

/// All devices, by ordinal.
std::vector<DeviceFacts> listDevices(const Driver &driver);

/// The last of `targets` (from the least to the most capable) that a device of this capability runs;
/// nullptr where there is none.
const TargetInfo *bestTarget(Capability capability,
                             std::span<const TargetInfo> targets = allTargets());

/// The name of device `ordinal`'s best target: what "cuda" means. Throws StatusError
/// (FLASHC_ERROR_UNSUPPORTED) where there is no driver, no such device or no target for it.
std::string bestDeviceTarget(int ordinal = 0);

/// Throws StatusError (FLASHC_ERROR_UNSUPPORTED) unless code for `target` runs on device `ordinal`,
/// or, where that is negative, on some device.
void checkRunsHere(std::string_view target, int ordinal = -1);

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_DEVICE_H
