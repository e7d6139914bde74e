//===- Execution.h - a kernel run on the user's arrays ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Views the user's arrays as the kernel's arguments, allocates results and workspace, and runs. Layouts and
// broadcasts are strides: nothing is copied but to and from a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_EXECUTION_H
#define FLASHC_TOOLS_FLASHC_EXECUTION_H

#include "runtime/API/Kernel.h"
#include "tools/flashc/DeviceArrays.h"
#include "tools/flashc/Inputs.h"

#include <deque>
#include <map>
#include <memory>

namespace flashc::tool {

/// Shape and strides (in elements) of a kernel argument.
struct ArgumentView {
  std::vector<int64_t> shape, strides;
};

/// How the user's `array` looks as the kernel's argument `name`: q, k, v, o as [B,S,H,D], lse and row_max
/// as [B,Hq,Sq], bias as [B,Hq,Sq,Sk]; the others as they are.
ArgumentView viewAsArgument(std::string_view name, const HostArray &array, const Inputs &inputs);

class Execution {
public:
  /// Binds `inputs`, which must outlive it, to the kernel; `device` is where one for GPUs runs, and its code
  /// is loaded there. Throws Error where the kernel's arguments and the arrays are not the same ones.
  /// With `asGraph` a GPU's runs are captured in a CUDA graph, whose launches they then are.
  Execution(const Kernel &kernel, const Inputs &inputs, int device = 0, bool asGraph = false);

  /// Runs so many times, until done; returns the seconds that each took, on a GPU those of the kernels alone.
  /// `threads` as in Kernel::run.
  std::vector<double> run(int64_t repetitions, int threads);

  /// Runs once and returns the seconds from the call until all is done, by the host's clock.
  double runByHostClock(int threads);

  /// The results in the user's layout, by argument name: o, and lse and row_max where the kernel has them.
  /// From a GPU they are copied now.
  const std::map<std::string, HostArray> &results();

private:
  struct FreeAligned {
    void operator()(void *memory) const;
  };

  HostArray makeResult(const std::string &name) const;
  void bind(const KernelArgument &argument, const HostArray &array);
  void makeWorkspace();
  std::string argumentNames() const;

  const Kernel &kernel;
  const Inputs &inputs;
  std::map<std::string, HostArray> outputs;
  std::deque<ArgumentView> views;
  std::deque<DLTensor> tensors;
  std::vector<const DLTensor *> pointers;
  std::unique_ptr<DeviceArrays> onDevice; ///< where the kernel is for GPUs
  bool asGraph;
  std::unique_ptr<void, FreeAligned> hostWorkspace;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
};

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_EXECUTION_H
