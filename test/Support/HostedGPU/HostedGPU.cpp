//===- HostedGPU.cpp - GPU kernels run on the host ------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/HostedGPU/HostedGPU.h"
#include "compiler/Driver/Compile.h"
#include "runtime/API/KernelInfo.h"
#include "runtime/CPU/ObjectLoader.h"
#include "runtime/CUDA/DeviceKernel.h"
#include "test/Support/HostedGPU/HostedBlock.h"
#include "test/Support/HostedGPU/HostedModule.h"

namespace flashc::test {

std::vector<std::string> executeOnHostedGPU(const AttentionDesc &desc, CaseTensors &tensors) {
  CompileOptions options;
  options.emit = Stage::PTX;
  const std::string ptx = compileAttention(desc, options);
  const KernelInfo info =
      KernelInfo::parse(cuda::DeviceKernel::readInfo(std::as_bytes(std::span(ptx))));
  options.emit = Stage::LLVMIR;
  const std::string object = compileHosted(compileAttention(desc, options));
  const auto loaded = LoadedObject::load(std::as_bytes(std::span(object)));

  std::vector<std::string> outputs;
  std::vector<int64_t> parameters;
  std::vector<std::span<const int64_t>> shapes;
  const auto addAddress = [&](const void *data) {
    parameters.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(data)));
  };
  std::vector<DLTensor> views;
  for (const KernelArgument &argument : info.arguments) {
    const DLTensor &view = views.emplace_back(tensors.at(argument.name).view());
    addAddress(static_cast<const char *>(view.data) + view.byte_offset);
    shapes.emplace_back(view.shape, view.shape + view.ndim);
    parameters.insert(parameters.end(), view.shape, view.shape + view.ndim);
    parameters.insert(parameters.end(), view.strides, view.strides + view.ndim);
    if (argument.isOutput)
      outputs.push_back(argument.name);
  }
  const int64_t bytes = info.launchPlan->workspace.evaluate(shapes);
  std::vector<std::byte> storage(static_cast<size_t>(bytes) + 64, std::byte(0xff));
  const auto begin = reinterpret_cast<uintptr_t>(storage.data());
  addAddress(storage.data() + (64 - begin % 64) % 64);
  parameters.insert(parameters.end(), {bytes, 1});
  for (const cuda::Launch &launch : info.launchPlan->launches) {
    auto *entry = loaded->function<void(int64_t *)>("hosted_" + launch.entry);
    std::vector<int64_t> all = parameters;
    for (const int64_t fact : launch.facts.evaluateAll(shapes))
      all.push_back(fact);
    runHosted(launch.grid.evaluate(shapes), launch.threads, launch.sharedBytes,
              [&] { entry(all.data()); });
  }
  return outputs;
}

} // namespace flashc::test
