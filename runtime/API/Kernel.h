//===- Kernel.h - a compiled kernel, loaded and runnable -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Holds a kernel object and runs it on tensors, which it checks first. A CPU's
// is machine code in executable memory, which the thread pool calls once per
// grid point; a GPU's is PTX, which the driver loads and launches.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_KERNEL_H
#define FLASHC_RUNTIME_API_KERNEL_H

#include "runtime/API/KernelInfo.h"
#include "runtime/CPU/ObjectLoader.h"
#include "runtime/CUDA/DeviceKernel.h"

#include <dlpack/dlpack.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flashc {

class Binding;

/// Immutable; any number of threads may use one at once.
class Kernel {
public:
  /// Loads the kernel object `bytes` (copied), or the best one of a bundle, see selectImage().
  /// With `target` the object must be for it. Throws Error when it is malformed, StatusError
  /// (FLASHC_ERROR_UNSUPPORTED) when it is for a CPU and this host cannot run it; a GPU is only
  /// asked for when it is needed.
  explicit Kernel(std::span<const std::byte> bytes, const std::string &target = "");

  const KernelInfo &info() const { return kernelInfo; }

  /// What `info` was read from.
  const std::string &json() const { return infoText; }

  /// The kernel object; of a bundle, the one that was chosen.
  std::span<const std::byte> object() const { return bytes; }

  /// The bytes of workspace that `run` needs for `tensors`; checks them as `run` does.
  size_t workspaceSize(std::span<const DLTensor *const> tensors) const;

  /// Loads the code on a GPU, as the first run there would, and returns how it came there; nothing to do on
  /// the CPU.
  cuda::LoadFacts prepare(DLDevice device) const;

  /// Runs on `tensors` (in argument order; see flashc.h for shapes and Binding.h for the checks)
  /// and returns when done, or, for a GPU, when all is queued on `stream` (a CUstream). `workspace`: workspaceSize(tensors) bytes or more, 64-byte aligned,
  /// for this run alone; null where that is 0. `threads`: at most so many; 0: one per processor.
  /// Each thread keeps a scratch buffer, as large as its largest kernel's, until it ends.
  /// Throws Error before anything is written.
  void run(std::span<const DLTensor *const> tensors, void *workspace, size_t workspaceBytes,
           int threads = 0, void *stream = nullptr) const;

private:
  using GridFunction = int64_t(void *const *args, int64_t phase);
  using WorkspaceFunction = int64_t(void *const *args);
  using RunFunction = void(void *const *args, int64_t phase, int64_t point, void *scratch,
                           void *workspace);

  void load(std::span<const std::byte> cubin);
  void loadForCPU();
  size_t workspaceSize(const Binding &binding) const;
  void runOnCPU(void *const *args, void *workspace, int threads) const;

  std::vector<std::byte> bytes;
  std::unique_ptr<const cuda::DeviceKernel> device; ///< of a kernel for GPUs; then the rest is not
  std::shared_ptr<const LoadedObject> loaded;
  std::string infoText;
  KernelInfo kernelInfo;
  GridFunction *gridFunction = nullptr;
  WorkspaceFunction *workspaceFunction = nullptr;
  RunFunction *runFunction = nullptr;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_API_KERNEL_H
