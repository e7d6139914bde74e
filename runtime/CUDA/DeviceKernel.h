//===- DeviceKernel.h - a kernel that runs on GPUs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A kernel object for a GPU is PTX text whose first line describes it:
//
//   // flashc_kernel_info {"abi":2,"name":"attention","target":"sm_80",...}
//
// Its parameters are 64-bit integers: of every argument and then the workspace
// the address, extents and strides; then the facts that the description has the
// host compute. Running it is a launch per phase on the caller's stream and
// nothing else: no allocation, no synchronisation, no stream of its own, so that
// it can be captured in a CUDA graph.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_DEVICEKERNEL_H
#define FLASHC_RUNTIME_CUDA_DEVICEKERNEL_H

#include "runtime/CUDA/ModuleCache.h"

#include <cstddef>
#include <map>
#include <shared_mutex>
#include <string_view>

namespace flashc::cuda {

/// Where a tensor says that it lives.
enum class MemoryKind { Device, Managed, PinnedHost };

/// A tensor of a run, already checked to fit the kernel.
struct DeviceArgument {
  std::string_view name;
  MemoryKind memory = MemoryKind::Device;
  const void *data = nullptr; ///< null: no elements
  std::span<const int64_t> shape, strides;
};

/// Immutable but for what is loaded; any number of threads may use one at once.
class DeviceKernel {
public:
  /// Whether the bytes of a kernel object are for a GPU.
  static bool recognizes(std::span<const std::byte> object);

  /// The JSON in the first line of such an object. Throws Error where it is not text.
  static std::string readInfo(std::span<const std::byte> object);

  /// `cubin`: of the object's PTX, compiled ahead for the target; empty: none.
  DeviceKernel(std::span<const std::byte> object, std::string name, std::string target,
               LaunchPlan plan, std::span<const std::byte> cubin = {});

  /// The bytes of workspace for arguments of these shapes. Throws Error.
  size_t workspaceSize(ArgumentShapes shapes) const;

  /// Loads the code on device `ordinal`, unless it is there; returns how it came there. Throws Error.
  LoadFacts prepare(int ordinal) const;

  /// Launches all phases on `stream` of device `ordinal`. `workspace`: as many bytes as
  /// workspaceSize says, in device memory. Loads the code at the first run on a device, which it
  /// refuses while `stream` is being captured. Throws Error before the first launch, and
  /// StatusError when the driver refuses one.
  void run(int ordinal, std::span<const DeviceArgument> arguments, void *workspace,
           CUstream stream) const;

private:
  const Entries *findEntries(int ordinal) const;
  const Entries &getEntries(const Driver &driver, int ordinal, CUstream stream) const;
  void launch(const Driver &driver, const Launch &launch, CUfunction entry, int64_t grid,
              void **parameters, CUstream stream, bool followsPhase) const;

  DeviceCode code;
  HostExpr workspaceBytes;
  mutable std::shared_mutex mutex;
  mutable std::map<int, const Entries *> entriesByDevice; ///< guarded by mutex
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_DEVICEKERNEL_H
