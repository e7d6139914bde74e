//===- BenchJson.cpp - the parts that bench's JSON lines share ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/BenchJson.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CPU/ThreadPool.h"
#include "tools/flashc/Compiled.h"
#include "tools/flashc/Machine.h"

namespace flashc::tool {

void addKernel(nlohmann::ordered_json &line, const KernelInfo &kernel, int device, int threads) {
  line["target"] = kernel.target;
  line["schedule"] = extractSchedule(kernel.schedule);
  line["strategy"] = kernel.strategy;
  if (kernel.isForGPU()) {
    line["gpu"] = describeMachine(kernel, device, 0);
    return;
  }
  line["threads"] = effectiveThreads(threads);
  line["cpu"] = HostCPU::get().brand();
}

void addProblem(nlohmann::ordered_json &line, const Inputs &inputs) {
  const Sizes &sizes = *inputs.sizes;
  line["dtype"] = nameOf(inputs.desc.dtype);
  line["shape"] = {{"batch", sizes.batch},
                   {"sq", sizes.queries},
                   {"sk", sizes.keys},
                   {"hq", sizes.heads},
                   {"hkv", sizes.headsKv},
                   {"d", inputs.desc.headDim},
                   {"dv", inputs.desc.resolvedValueDim()},
                   {"packed", inputs.isPacked()}};
  line["layout"] = inputs.bhsd ? "bhsd" : "bshd";
}

} // namespace flashc::tool
