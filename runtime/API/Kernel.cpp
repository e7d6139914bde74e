//===- Kernel.cpp - a compiled kernel, loaded and runnable -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Kernel.h"
#include "runtime/API/Binding.h"
#include "runtime/API/KernelImage.h"
#include "runtime/API/Status.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CPU/ThreadPool.h"

#include <new>
#include <string_view>

// The sanitizer of calls looks for a type in front of the called function; code that is loaded at
// run time has none there, and perhaps no memory.
#ifdef __clang__
#define FLASHC_CALLS_LOADED_CODE __attribute__((no_sanitize("function")))
#else
#define FLASHC_CALLS_LOADED_CODE
#endif

namespace flashc {
namespace {

constexpr std::align_val_t alignment{64};

/// A thread's scratch memory: grows to what its largest kernel needs.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { release(); }

  void *reserve(size_t bytes) {
    if (bytes > size) {
      release();
      data = ::operator new(bytes, alignment);
      size = bytes;
    }
    return data;
  }

private:
  void release() {
    ::operator delete(data, alignment);
    data = nullptr;
    size = 0;
  }

  void *data = nullptr;
  size_t size = 0;
};

thread_local Scratch threadScratch;

void checkFeatures(const KernelInfo &info) {
  const std::vector<std::string_view> needed(info.features.begin(), info.features.end());
  const std::vector<std::string> missing = HostCPU::get().missingFeatures(needed);
  if (missing.empty())
    return;
  std::string names;
  for (const std::string &feature : missing)
    names += (names.empty() ? "" : ", ") + feature;
  throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                    concat("expected a processor with what target ", info.target,
                           " needs, got one (", HostCPU::get().brand(), ") without ", names,
                           "; compile for another target"));
}

} // namespace

Kernel::Kernel(std::span<const std::byte> file, const std::string &target) {
  const KernelImage image = selectImage(file, target);
  bytes.assign(image.object.begin(), image.object.end());
  load(image.cubin);
  const char *kind = device ? "cuda" : "cpu";
  if (!target.empty() && target != kernelInfo.target && target != kind)
    throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                      concat("expected a kernel object for target ", target.substr(0, 100),
                             ", got one for ", kernelInfo.target));
}

void Kernel::load(std::span<const std::byte> cubin) {
  if (!cuda::DeviceKernel::recognizes(bytes)) {
    loadForCPU();
    return;
  }
  infoText = cuda::DeviceKernel::readInfo(bytes);
  kernelInfo = KernelInfo::parse(infoText);
  if (!kernelInfo.isForGPU())
    fail("kernel object: expected kernels in the description of PTX, got none");
  device = std::make_unique<const cuda::DeviceKernel>(bytes, kernelInfo.name, kernelInfo.target,
                                                      *kernelInfo.launchPlan, cubin);
}

void Kernel::loadForCPU() {
  loaded = LoadedObject::load(bytes);
  infoText = loaded->text("flashc_kernel_info");
  kernelInfo = KernelInfo::parse(infoText);
  if (kernelInfo.isForGPU())
    fail("kernel object: expected machine code without kernels for a GPU, got some");
  checkFeatures(kernelInfo);
  gridFunction = loaded->function<GridFunction>("flashc_kernel_grid");
  workspaceFunction = loaded->function<WorkspaceFunction>("flashc_kernel_workspace");
  runFunction = loaded->function<RunFunction>("flashc_kernel_run");
}

cuda::LoadFacts Kernel::prepare(DLDevice where) const {
  if (where.device_type != (device ? kDLCUDA : kDLCPU))
    fail("expected a device of type ", int(device ? kDLCUDA : kDLCPU), " for target ",
         kernelInfo.target, ", got type ", int(where.device_type));
  return device ? device->prepare(where.device_id) : cuda::LoadFacts{};
}

FLASHC_CALLS_LOADED_CODE size_t Kernel::workspaceSize(const Binding &binding) const {
  if (device)
    return device->workspaceSize(binding.shapes());
  const int64_t size = workspaceFunction(binding.arguments());
  if (size < 0)
    throw StatusError(FLASHC_ERROR_INTERNAL,
                      concat("expected a workspace size from the kernel, got ", size));
  return static_cast<size_t>(size);
}

size_t Kernel::workspaceSize(std::span<const DLTensor *const> tensors) const {
  return workspaceSize(Binding(kernelInfo, tensors));
}

void Kernel::run(std::span<const DLTensor *const> tensors, void *workspace, size_t workspaceBytes,
                 int threads, void *stream) const {
  if (threads < 0)
    fail("expected a number of threads, or 0 for one per processor, got ", threads);
  if (stream && !device)
    fail("expected no stream for a kernel that runs on the CPU, got one");
  const Binding binding(kernelInfo, tensors);
  const size_t needed = workspaceSize(binding);
  if (workspaceBytes < needed || (needed && !workspace))
    fail("expected a workspace of ", needed, " bytes, got ", workspace ? workspaceBytes : 0,
         "; ask for the size that these tensors need");
  if (needed && reinterpret_cast<uintptr_t>(workspace) % size_t(alignment) != 0)
    fail("expected a workspace at a multiple of ", size_t(alignment), ", got ", workspace);
  if (device)
    device->run(binding.deviceOrdinal(), binding.deviceArguments(), workspace,
                static_cast<cuda::CUstream>(stream));
  else
    runOnCPU(binding.arguments(), workspace, threads);
}

FLASHC_CALLS_LOADED_CODE void Kernel::runOnCPU(void *const *args, void *workspace,
                                               int threads) const {
  for (int64_t phase = 0; phase < kernelInfo.phases; ++phase)
    parallelFor(gridFunction(args, phase), threads,
                [&](int64_t point, int) FLASHC_CALLS_LOADED_CODE {
                  void *scratch = threadScratch.reserve(kernelInfo.scratchBytes);
                  runFunction(args, phase, point, scratch, workspace);
                });
}

} // namespace flashc
