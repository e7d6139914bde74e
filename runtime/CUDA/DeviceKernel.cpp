//===- DeviceKernel.cpp - a kernel that runs on GPUs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/DeviceKernel.h"
#include "runtime/API/Status.h"
#include "runtime/CUDA/PointerCheck.h"

#include <mutex>

namespace flashc::cuda {
namespace {

constexpr std::string_view infoPrefix = "// flashc_kernel_info ";
constexpr int64_t maxGrid = (int64_t(1) << 31) - 1;
constexpr int64_t maxExtent = maxGrid;

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::vector<std::span<const int64_t>> shapesOf(std::span<const DeviceArgument> arguments) {
  std::vector<std::span<const int64_t>> shapes;
  for (const DeviceArgument &argument : arguments)
    shapes.push_back(argument.shape);
  return shapes;
}

/// The values of all parameters: of every argument and the workspace its address, its extents and
/// its strides.
std::vector<int64_t> packParameters(std::span<const DeviceArgument> arguments,
                                    const void *workspace, int64_t workspaceBytes) {
  const auto address = [](const void *data) {
    return static_cast<int64_t>(reinterpret_cast<intptr_t>(data));
  };
  std::vector<int64_t> values;
  for (const DeviceArgument &argument : arguments) {
    values.push_back(address(argument.data));
    values.insert(values.end(), argument.shape.begin(), argument.shape.end());
    values.insert(values.end(), argument.strides.begin(), argument.strides.end());
  }
  values.insert(values.end(), {address(workspace), workspaceBytes, 1});
  return values;
}

} // namespace

bool DeviceKernel::recognizes(std::span<const std::byte> object) {
  return textOf(object).starts_with(infoPrefix);
}

std::string DeviceKernel::readInfo(std::span<const std::byte> object) {
  const std::string_view text = textOf(object);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || text.find('\0') != std::string_view::npos)
    fail("kernel object: expected a description and PTX text after it, got ",
         end == std::string_view::npos ? "one line" : "bytes of 0", "; is the file whole?");
  return std::string(text.substr(infoPrefix.size(), end - infoPrefix.size()));
}

DeviceKernel::DeviceKernel(std::span<const std::byte> object, std::string name, std::string target,
                           LaunchPlan plan, std::span<const std::byte> cubin)
    : code{std::string(textOf(object)),
           std::move(name),
           std::move(target),
           std::move(plan.launches),
           {cubin.begin(), cubin.end()}},
      workspaceBytes(std::move(plan.workspace)) {}

size_t DeviceKernel::workspaceSize(ArgumentShapes shapes) const {
  const int64_t bytes = workspaceBytes.evaluate(shapes);
  if (bytes < 0)
    throw StatusError(FLASHC_ERROR_INTERNAL,
                      concat("expected a workspace size from the kernel, got ", bytes));
  return static_cast<size_t>(bytes);
}

const Entries *DeviceKernel::findEntries(int ordinal) const {
  const std::shared_lock lock(mutex);
  const auto found = entriesByDevice.find(ordinal);
  return found == entriesByDevice.end() ? nullptr : found->second;
}

LoadFacts DeviceKernel::prepare(int ordinal) const {
  if (const Entries *there = findEntries(ordinal))
    return there->facts;
  const Entries &entries = loadEntries(Driver::get(concat("target ", code.target)), ordinal, code);
  const std::lock_guard lock(mutex);
  entriesByDevice[ordinal] = &entries;
  return entries.facts;
}

const Entries &DeviceKernel::getEntries(const Driver &driver, int ordinal, CUstream stream) const {
  if (const Entries *entries = findEntries(ordinal))
    return *entries;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.cuStreamIsCapturing(stream, &status);
  // The legacy stream is never captured itself; it says so where another stream is.
  if (result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    driver.check(result, "cuStreamIsCapturing", " for ", code.name);
  if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE)
    fail("expected ", code.name, " to be loaded on device ", ordinal,
         " before a graph captures it, got its first run there; prepare the kernel for the device, "
         "or run it once, before the capture begins");
  prepare(ordinal);
  return *findEntries(ordinal);
}

void DeviceKernel::run(int ordinal, std::span<const DeviceArgument> arguments, void *workspace,
                       CUstream stream) const {
  const std::vector<std::span<const int64_t>> shapes = shapesOf(arguments);
  const int64_t bytes = static_cast<int64_t>(workspaceSize(shapes));
  std::vector<int64_t> grids;
  std::vector<std::vector<int64_t>> facts;
  for (const Launch &launch : code.launches) {
    const int64_t grid = grids.emplace_back(launch.grid.evaluate(shapes));
    if (grid < 0 || grid > maxGrid)
      fail("expected 0 to 2^31 - 1 blocks for ", launch.entry, ", got ", grid,
           "; use smaller tensors");
    facts.push_back(grid ? launch.facts.evaluateAll(shapes) : std::vector<int64_t>());
  }
  // Kernels compare positions in 32 bits.
  for (size_t n = 0; n < arguments.size(); ++n)
    for (const int64_t extent : shapes[n])
      if (extent > maxExtent)
        fail(arguments[n].name, ": expected extents up to 2^31 - 1 on a GPU, got ", extent);
  const Driver &driver = Driver::get(concat("target ", code.target));
  const ContextScope context(driver, ordinal);
  for (const DeviceArgument &argument : arguments)
    checkPointer(driver, ordinal, argument.memory, argument.data, argument.name);
  if (bytes)
    checkPointer(driver, ordinal, MemoryKind::Device, workspace, "workspace");
  const Entries &entries = getEntries(driver, ordinal, stream);

  std::vector<int64_t> values = packParameters(arguments, bytes ? workspace : nullptr, bytes);
  std::vector<void *> parameters;
  for (int64_t &value : values)
    parameters.push_back(&value);
  for (size_t n = 0; n < code.launches.size(); ++n) {
    if (!grids[n])
      continue;
    parameters.resize(values.size());
    for (int64_t &fact : facts[n])
      parameters.push_back(&fact);
    launch(driver, code.launches[n], entries.functions[n], grids[n], parameters.data(), stream,
           n > 0 && grids[n - 1]);
  }
}

void DeviceKernel::launch(const Driver &driver, const Launch &launch, CUfunction entry,
                          int64_t grid, void **parameters, CUstream stream,
                          bool followsPhase) const {
  const auto blocks = static_cast<unsigned>(grid);
  const auto check = [&](CUresult result, const char *call) {
    driver.check(result, call, " for ", launch.entry, " with grid ", grid, ", ", launch.threads,
                 " threads, ", launch.sharedBytes, " bytes of shared memory");
  };
  // What another's launch before leaves to be waited for, is not known.
  if (!launch.isDependent || !followsPhase || !driver.hasDependentLaunch())
    return check(driver.cuLaunchKernel(entry, blocks, 1, 1, launch.threads, 1, 1,
                                       launch.sharedBytes, stream, parameters, nullptr),
                 "cuLaunchKernel");
  CUlaunchAttribute early = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, {}, 1, {}};
  const CUlaunchConfig config = {blocks, 1,      1, launch.threads, 1, 1, launch.sharedBytes,
                                 stream, &early, 1};
  check(driver.cuLaunchKernelEx(&config, entry, parameters, nullptr), "cuLaunchKernelEx");
}

} // namespace flashc::cuda
