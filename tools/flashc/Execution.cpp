//===- Execution.cpp - a kernel run on the user's arrays ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Execution.h"
#include "runtime/API/Binding.h"
#include "runtime/Support/Stopwatch.h"
#include "tools/flashc/Shapes.h"

#include <algorithm>
#include <cstdlib>

namespace flashc::tool {
namespace {

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The flag that gives a kernel's argument.
std::string flagOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

ArgumentView viewBias(const HostArray &array, const Inputs &inputs) {
  ArgumentView view = {biasTarget(inputs), {0, 0, 0, 0}};
  const std::vector<int64_t> strides = array.strides();
  for (size_t n = 0; n < array.shape.size(); ++n) {
    const size_t dimension = 4 - array.shape.size() + n;
    if (array.shape[n] == 1)
      continue;
    view.shape[dimension] = array.shape[n];
    view.strides[dimension] = strides[n];
  }
  return view;
}

} // namespace

ArgumentView viewAsArgument(std::string_view name, const HostArray &array, const Inputs &inputs) {
  ArgumentView view = {array.shape, array.strides()};
  if (name == "bias")
    return viewBias(array, inputs);
  const bool isMain = isOneOf(name, {"q", "k", "v", "o"});
  if (inputs.isPacked() && (isMain || isOneOf(name, {"lse", "row_max"}))) {
    view.shape.insert(view.shape.begin(), 1);
    view.strides.insert(view.strides.begin(), std::max<int64_t>(array.numElements(), 1));
  } else if (isMain && inputs.bhsd) {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.strides[1], view.strides[2]);
  }
  return view;
}

void Execution::FreeAligned::operator()(void *memory) const { std::free(memory); }

Execution::Execution(const Kernel &kernel, const Inputs &inputs, int device, bool asGraph)
    : kernel(kernel), inputs(inputs), asGraph(asGraph) {
  const KernelInfo &info = kernel.info();
  if (info.isForGPU()) {
    onDevice = std::make_unique<DeviceArrays>(device, info.target);
    kernel.prepare({kDLCUDA, device});
  }
  for (const auto &[name, array] : inputs.arrays)
    if (info.find(name) < 0)
      fail("expected arrays for the kernel's arguments (", argumentNames(), "), got ", name,
           " as well; leave it out, or use a kernel that has it");
  for (const KernelArgument &argument : info.arguments) {
    if (argument.isOutput) {
      HostArray &array = outputs[argument.name] = makeResult(argument.name);
      bind(argument, array);
      continue;
    }
    const HostArray *array = inputs.find(argument.name);
    if (!array)
      fail("expected an array for the kernel's argument ", argument.name, ", got none; give ",
           flagOf(argument.name), " or --capture ", argument.name, "=FILE");
    bind(argument, *array);
  }
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  makeWorkspace();
}

void Execution::makeWorkspace() {
  workspaceBytes = kernel.workspaceSize(pointers);
  if (workspaceBytes == 0)
    return;
  if (onDevice) {
    workspace = onDevice->allocate("the workspace", workspaceBytes);
    return;
  }
  checkMemory(static_cast<double>(workspaceBytes), "workspace");
  constexpr size_t alignment = 64;
  hostWorkspace.reset(
      std::aligned_alloc(alignment, (workspaceBytes + alignment - 1) / alignment * alignment));
  if (!hostWorkspace)
    throw std::bad_alloc();
  workspace = hostWorkspace.get();
}

std::string Execution::argumentNames() const {
  std::string names;
  for (const KernelArgument &argument : kernel.info().arguments)
    if (!argument.isOutput)
      names += (names.empty() ? "" : ", ") + argument.name;
  return names;
}

/// A result's array, all NaN: what a kernel fails to write is found by every check.
HostArray Execution::makeResult(const std::string &name) const {
  std::vector<int64_t> shape = inputs.find("q")->shape;
  DType type = inputs.desc.dtype;
  if (name == "o") {
    shape.back() = inputs.desc.resolvedValueDim();
  } else {
    const Sizes &sizes = *inputs.sizes;
    shape = {sizes.batch, sizes.heads, sizes.queries};
    if (inputs.isPacked())
      shape.erase(shape.begin());
    type = DType::F32;
  }
  HostArray array = HostArray::zeros(type, shape);
  std::fill(array.data.begin(), array.data.end(), std::byte{0xff});
  return array;
}

void Execution::bind(const KernelArgument &argument, const HostArray &array) {
  ArgumentView &view = views.emplace_back(viewAsArgument(argument.name, array, inputs));
  DLTensor &tensor = tensors.emplace_back();
  if (onDevice) {
    // Results too, so that what the kernel leaves out stays NaN.
    tensor.data = onDevice->upload(argument.name, array.data);
    tensor.device = {kDLCUDA, onDevice->ordinal()};
  } else {
    tensor.data = const_cast<std::byte *>(array.data.data());
    tensor.device = {kDLCPU, 0};
  }
  tensor.ndim = static_cast<int32_t>(view.shape.size());
  tensor.dtype = toDLPack(array.dtype);
  tensor.shape = view.shape.data();
  tensor.strides = view.strides.data();
  tensor.byte_offset = 0;
}

std::vector<double> Execution::run(int64_t repetitions, int threads) {
  if (onDevice)
    return onDevice->measure(
        repetitions,
        [&](void *stream) { kernel.run(pointers, workspace, workspaceBytes, threads, stream); },
        asGraph);
  std::vector<double> seconds;
  for (int64_t n = 0; n < repetitions; ++n)
    seconds.push_back(runByHostClock(threads));
  return seconds;
}

double Execution::runByHostClock(int threads) {
  const Stopwatch watch;
  kernel.run(pointers, workspace, workspaceBytes, threads, onDevice ? onDevice->queue() : nullptr);
  if (onDevice)
    onDevice->finish();
  return watch.seconds();
}

const std::map<std::string, HostArray> &Execution::results() {
  if (onDevice)
    for (auto &[name, array] : outputs)
      onDevice->download(name, array.data);
  return outputs;
}

} // namespace flashc::tool
