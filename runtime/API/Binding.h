//===- Binding.h - tensors checked and laid out for a kernel -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Everything that could make a kernel read or write where it should not is
// found here, before it runs, and told in terms of the caller's tensors.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_BINDING_H
#define FLASHC_RUNTIME_API_BINDING_H

#include "runtime/API/KernelInfo.h"
#include "runtime/CUDA/DeviceKernel.h"

#include <dlpack/dlpack.h>

#include <optional>
#include <span>
#include <vector>

namespace flashc {

/// The element type of a DLPack type, or nothing when flashc has none such. {kDLUInt, 8, 1} is U8.
std::optional<DType> fromDLPack(DLDataType type);

/// The DLPack type of an element type; bool is {kDLUInt, 8, 1}.
DLDataType toDLPack(DType type);

/// The arguments of one run of a kernel.
class Binding {
public:
  /// Checks `tensors` (in argument order) against `info` and each other: count, device, type, rank,
  /// extents, strides, addresses, that outputs overlap nothing, and on the CPU the contents of
  /// cu_seqlens, seqused_k and page_table; the host does not read a GPU's memory. Throws Error.
  Binding(const KernelInfo &info, std::span<const DLTensor *const> tensors);

  /// What the kernel's functions take: one pointer per argument to its descriptor, the int64 words
  /// {data, data, 0, extents..., strides... (elements)}. Valid while the Binding lives.
  void *const *arguments() const { return pointers.data(); }

  /// The same for a kernel for GPUs, and the ordinal of the device that the tensors are on. That
  /// their memory is what they say remains to be asked of the driver.
  std::span<const cuda::DeviceArgument> deviceArguments() const { return forDevice; }
  int deviceOrdinal() const { return ordinal; }

  /// The extents of every argument.
  std::vector<std::span<const int64_t>> shapes() const;

private:
  std::vector<int64_t> words;
  std::vector<void *> pointers;
  std::vector<cuda::DeviceArgument> forDevice;
  int ordinal = 0;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_API_BINDING_H
