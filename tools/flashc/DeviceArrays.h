//===- DeviceArrays.h - a run's arrays on a GPU -----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Copies of the user's arrays in a GPU's memory, with the stream that kernels on them run on.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_DEVICEARRAYS_H
#define FLASHC_TOOLS_FLASHC_DEVICEARRAYS_H

#include "runtime/CUDA/Resources.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashc::tool {

class DeviceArrays {
public:
  /// On GPU `ordinal`, for a kernel of this target. Throws Error where there is none.
  DeviceArrays(int ordinal, const std::string &target);

  /// Copies the bytes of the array `name` to the device, and gives their address there.
  void *upload(const std::string &name, std::span<const std::byte> bytes);

  /// Memory that nothing is known of: all bits set, which makes every float a NaN.
  void *allocate(const std::string &name, size_t bytes);

  /// Copies the array `name` back.
  void download(const std::string &name, std::span<std::byte> bytes) const;

  /// Calls `launch` so many times with the stream, and waits; returns the seconds of each between events
  /// around it. They begin when all are queued, so that the host's own time does not count.
  /// With `asGraph` a CUDA graph captures `launch` once, and its launches are measured.
  std::vector<double> measure(int64_t repetitions, const std::function<void(void *)> &launch,
                              bool asGraph);

  /// The stream, a CUstream; and waiting for all that is queued there.
  void *queue() const { return stream.get(); }
  void finish() const { stream.synchronize(); }

  int ordinal() const { return device; }

private:
  cuda::DeviceBuffer &add(const std::string &name, size_t bytes);

  const cuda::Driver &driver;
  int device;
  cuda::Stream stream;
  std::map<std::string, cuda::DeviceBuffer> buffers;
};

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_DEVICEARRAYS_H
