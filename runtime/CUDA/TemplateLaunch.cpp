//===- TemplateLaunch.cpp - flashc's CUDA C++ run on a device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/TemplateLaunch.h"
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/CUDA/Device.h"

namespace flashc::cuda {
namespace {

constexpr int64_t maxGrid = (int64_t(1) << 31) - 1;

/// Compiled for exactly the device: NVRTC is at hand, and what it gives is not kept for others.
DeviceCode compile(const Driver &driver, int ordinal, const TemplateInstance &instance) {
  const Capability capability = readFacts(driver, ordinal).capability;
  DeviceCode code;
  code.target = concat("sm_", 10 * capability.major + capability.minor);
  code.name = instance.source().name;
  code.ptx = ptxFor(instance.source(), code.target);
  for (const TemplateKernel &kernel : instance.of->kernels) {
    Launch &launch = code.launches.emplace_back();
    launch.entry = instance.symbol(kernel.name);
    launch.threads = static_cast<unsigned>(kernel.threads);
  }
  return code;
}

} // namespace

DeviceTemplate::DeviceTemplate(const Driver &driver, int ordinal, TemplateInstance instance)
    : driver(driver), ordinal(ordinal), instance(std::move(instance)),
      entries(&loadEntries(driver, ordinal, compile(driver, ordinal, this->instance))) {}

void DeviceTemplate::launchWith(std::string_view name, int64_t grid, const void *arguments,
                                CUstream stream) const {
  const std::string symbol = instance.symbol(name); // throws where there is no such kernel
  size_t index = 0;
  while (instance.of->kernels[index].name != name)
    ++index;
  if (grid < 0 || grid > maxGrid)
    fail("expected 0 to 2^31 - 1 blocks for ", symbol, ", got ", grid, "; use smaller tensors");
  if (grid == 0)
    return;
  const ContextScope context(driver, ordinal);
  void *parameters[] = {const_cast<void *>(arguments)};
  const unsigned threads = static_cast<unsigned>(instance.of->kernels[index].threads);
  driver.check(driver.cuLaunchKernel(entries->functions[index], static_cast<unsigned>(grid), 1, 1,
                                     threads, 1, 1, 0, stream, parameters, nullptr),
               "cuLaunchKernel", " for ", symbol, " with grid ", grid);
}

} // namespace flashc::cuda
