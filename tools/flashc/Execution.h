//===- Execution.h - a kernel run on the user's arrays ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Views the user's arrays as the kernel's arguments, allocates results and workspace, and runs. Layouts and
// broadcasts are strides: nothing is copied.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_EXECUTION_H
#define FLASHC_TOOLS_FLASHC_EXECUTION_H

#include "runtime/API/Kernel.h"
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
  /// Binds `inputs`, which must outlive it, to the kernel. Throws Error where the kernel's arguments and
  /// the arrays are not the same ones.
  Execution(const Kernel &kernel, const Inputs &inputs);

  /// Runs once; returns the seconds it took. `threads` as in Kernel::run.
  double run(int threads);

  /// The results in the user's layout, by argument name: o, and lse and row_max where the kernel has them.
  const std::map<std::string, HostArray> &results() const { return outputs; }

private:
  struct FreeAligned {
    void operator()(void *memory) const;
  };

  HostArray makeResult(const std::string &name) const;
  void bind(const KernelArgument &argument, const void *data, const HostArray &array);
  std::string argumentNames() const;

  const Kernel &kernel;
  const Inputs &inputs;
  std::map<std::string, HostArray> outputs;
  std::deque<ArgumentView> views;
  std::deque<DLTensor> tensors;
  std::vector<const DLTensor *> pointers;
  std::unique_ptr<void, FreeAligned> workspace;
  size_t workspaceBytes = 0;
};

/// The name of `target` ("" or "cpu": this machine's best), after a check that this machine runs it.
std::string hostTarget(const std::string &target);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_EXECUTION_H
