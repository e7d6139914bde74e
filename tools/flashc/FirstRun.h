//===- FirstRun.h - what a kernel's first run takes -------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// From a description to results, as a program's first call takes it: the kernel is compiled or comes from the
// cache, is loaded, and runs once.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_FIRSTRUN_H
#define FLASHC_TOOLS_FLASHC_FIRSTRUN_H

#include "runtime/API/Kernel.h"
#include "tools/flashc/Inputs.h"

namespace flashc::tool {

/// Seconds of each phase, by the host's clock.
struct FirstRun {
  KernelInfo kernel;
  bool isFromCache = false;                             ///< the kernel object
  cuda::CodeMaker machineCode = cuda::CodeMaker::Ahead; ///< a GPU's; a CPU's is the object itself
  double context = 0;  ///< of a GPU, before the rest: programs with work there have it already
  double compile = 0;  ///< or reading the cache
  double assemble = 0; ///< PTX to machine code; 0 where the driver does that while it loads
  double load = 0;
  double run = 0; ///< from the call until the results are there

  double total() const { return compile + assemble + load + run; }
};

/// Measures in this process, which must not have had the kernel yet; `inputs` name a target. The arrays are
/// copied to a GPU between the phases, which does not count.
FirstRun measureFirstRun(const Inputs &inputs, int device, int threads);

void printFirstRun(const FirstRun &first, const Inputs &inputs, int device, int threads);
void printFirstRunJson(const FirstRun &first, const Inputs &inputs, int device, int threads);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_FIRSTRUN_H
