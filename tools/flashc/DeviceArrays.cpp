//===- DeviceArrays.cpp - a run's arrays on a GPU -------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/DeviceArrays.h"

#include <algorithm>
#include <optional>

namespace flashc::tool {
namespace {

/// Runs that are queued before any is waited for: few enough for the driver's queue.
constexpr int64_t queued = 64;

} // namespace

DeviceArrays::DeviceArrays(int ordinal, const std::string &target)
    : driver(cuda::Driver::get(concat("target ", target))), device(ordinal),
      stream(driver, ordinal) {}

cuda::DeviceBuffer &DeviceArrays::add(const std::string &name, size_t bytes) {
  return buffers.try_emplace(name, cuda::DeviceBuffer(driver, device, bytes, name)).first->second;
}

void *DeviceArrays::upload(const std::string &name, std::span<const std::byte> bytes) {
  cuda::DeviceBuffer &buffer = add(name, bytes.size());
  buffer.copyFrom(bytes);
  return buffer.data();
}

void *DeviceArrays::allocate(const std::string &name, size_t bytes) {
  cuda::DeviceBuffer &buffer = add(name, bytes);
  buffer.fill(std::byte{0xff});
  return buffer.data();
}

void DeviceArrays::download(const std::string &name, std::span<std::byte> bytes) const {
  buffers.at(name).copyTo(bytes);
}

std::vector<double> DeviceArrays::measure(int64_t repetitions,
                                          const std::function<void(void *)> &launch, bool asGraph) {
  std::optional<cuda::Graph> graph;
  if (asGraph)
    graph.emplace(driver, device, stream, launch);
  std::vector<double> seconds;
  while (repetitions > 0) {
    const int64_t count = std::min(repetitions, queued);
    std::vector<cuda::Event> begins, ends;
    for (int64_t n = 0; n < count; ++n) {
      begins.emplace_back(driver, device);
      ends.emplace_back(driver, device);
    }
    {
      const cuda::ContextScope context(driver, device);
      cuda::Gate gate(driver, stream);
      for (int64_t n = 0; n < count; ++n) {
        begins[n].record(stream);
        if (graph)
          graph->launch(stream);
        else
          launch(stream.get());
        ends[n].record(stream);
      }
      gate.open();
      stream.synchronize();
    }
    for (int64_t n = 0; n < count; ++n)
      seconds.push_back(ends[n].secondsSince(begins[n]));
    repetitions -= count;
  }
  return seconds;
}

} // namespace flashc::tool
