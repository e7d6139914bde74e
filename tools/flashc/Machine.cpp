//===- Machine.cpp - what a run happens on --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Machine.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CPU/ThreadPool.h"
#include "runtime/CUDA/Device.h"
#include "tools/flashc/Suggest.h"

namespace flashc::tool {

Flag deviceFlag() {
  return {"device", "N", "Run on this GPU, as 'flashc targets' counts them (default 0)."};
}

Flag graphFlag() {
  return {"graph", "", "On a GPU: capture the run in a CUDA graph, and launch that."};
}

int deviceOf(const Arguments &arguments) {
  return static_cast<int>(arguments.integer("device", 0, 1023, 0));
}

std::string runnableTarget(const AttentionDesc &desc, int device) {
  const std::string &name = desc.target;
  if (name.empty() || name == "cpu")
    return std::string(bestHostTarget(desc.dtype).name);
  if (name == "cuda")
    return cuda::bestDeviceTarget(device);
  const TargetInfo *target = lookupTarget(name);
  if (!target) {
    std::vector<std::string> names = {"cpu", "cuda"};
    for (const TargetInfo &known : allTargets())
      names.emplace_back(known.name);
    fail("--target: expected cpu, cuda or one of ", listTargetNames(),
         " ('flashc targets' describes them), got '", name, "'", didYouMean(name, names));
  }
  if (target->kind == TargetKind::GPU) {
    cuda::checkRunsHere(name, device);
    return name;
  }
  std::string missing;
  for (const std::string &feature : HostCPU::get().missingFeatures(target->requiredFeatures))
    missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty())
    fail("--target: expected a target that this machine runs, got ", name, ", which needs ",
         missing, "; leave --target out for ", bestHostTarget(desc.dtype).name);
  return name;
}

void checkDeviceFlags(const Arguments &arguments, const std::string &target) {
  for (const char *flag : {"device", "graph"})
    if (arguments.has(flag) && !cuda::parseTarget(target))
      fail("--", flag, ": expected a target that is a GPU, got ", target,
           "; add --target cuda, or leave --", flag, " out");
}

std::string describeMachine(const KernelInfo &kernel, int device, int threads) {
  if (!kernel.isForGPU())
    return concat(HostCPU::get().brand(), ", ", effectiveThreads(threads), " threads");
  const cuda::Driver &driver = cuda::Driver::get(concat("target ", kernel.target));
  return concat(cuda::readFacts(driver, device).name, " (device ", device, ")");
}

} // namespace flashc::tool
