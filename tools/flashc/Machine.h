//===- Machine.h - what a run happens on ------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The flags --target and --device of the subcommands that run kernels: the processor, or a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_MACHINE_H
#define FLASHC_TOOLS_FLASHC_MACHINE_H

#include "runtime/API/AttentionDesc.h"
#include "runtime/API/KernelInfo.h"
#include "tools/flashc/CommandLine.h"

namespace flashc::tool {

/// The flags of GPUs, --device and --graph.
Flag deviceFlag();
Flag graphFlag();

/// The GPU that --device names, 0 where it is not given.
int deviceOf(const Arguments &arguments);

/// The name of the target of `desc` ("" or "cpu": the best of this machine's processor for its type; "cuda": of
/// GPU `device`), after a check that it runs there.
std::string runnableTarget(const AttentionDesc &desc, int device);

/// Throws Error where --device or --graph is given and `target` is not a GPU's.
void checkDeviceFlags(const Arguments &arguments, const std::string &target);

/// What `kernel` runs on, for people: "Intel Xeon, 8 threads", "NVIDIA H200 (device 0)".
std::string describeMachine(const KernelInfo &kernel, int device, int threads);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_MACHINE_H
