//===- BenchJson.h - the parts that bench's JSON lines share ----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_BENCHJSON_H
#define FLASHC_TOOLS_FLASHC_BENCHJSON_H

#include "runtime/API/KernelInfo.h"
#include "tools/flashc/Inputs.h"
#include "tools/flashc/Json.h"

namespace flashc::tool {

/// target, schedule, strategy, and gpu, or threads and cpu.
void addKernel(nlohmann::ordered_json &line, const KernelInfo &kernel, int device, int threads);

/// dtype, shape, layout.
void addProblem(nlohmann::ordered_json &line, const Inputs &inputs);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_BENCHJSON_H
