//===- KernelInfo.h - what a kernel object says of itself -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The symbol flashc_kernel_info of every kernel object, or its first line where
// it is for GPUs, is a JSON text; this is its typed form, checked, so that
// nothing else reads the JSON.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_KERNELINFO_H
#define FLASHC_RUNTIME_API_KERNELINFO_H

#include "runtime/CUDA/LaunchPlan.h"
#include "runtime/Support/DType.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

struct KernelArgument {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< one extent per dimension, -1 where any will do
  bool isOutput = false;
};

struct KernelInfo {
  std::string name;
  std::string target;                ///< "x86-64-v4", "sm_80"
  std::vector<std::string> features; ///< what the code needs of the CPU, in LLVM's spelling
  std::string schedule;              ///< as text, for people
  std::string strategy;              ///< "online" or "standard"
  size_t scratchBytes = 0;           ///< private to each thread
  int phases = 1;                    ///< run one after another
  int64_t split = 0;                 ///< keys of a part that has states in the workspace; 0: none
  int64_t tileRows = 1;              ///< states of a part
  std::vector<KernelArgument> arguments;
  std::optional<cuda::LaunchPlan> launchPlan; ///< of a kernel for GPUs

  bool isForGPU() const { return launchPlan.has_value(); }

  /// The index of the argument `name`, or -1.
  int find(std::string_view name) const;

  /// Reads the JSON text of an object. Throws Error when it is malformed, of another ABI version
  /// or lacks q, k, v or o of rank 4.
  static KernelInfo parse(std::string_view json);
};

} // namespace flashc

#endif // FLASHC_RUNTIME_API_KERNELINFO_H
