//===- Resources.h - memory, streams and events of a GPU -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What a program needs around a kernel's run; kernels themselves take what the
// caller has. Each belongs to a device's primary context and is freed at the end
// of its scope.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_RESOURCES_H
#define FLASHC_RUNTIME_CUDA_RESOURCES_H

#include "runtime/CUDA/Driver.h"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

namespace flashc::cuda {

/// Memory of a device. `what` it is for stands in messages.
class DeviceBuffer {
public:
  /// Uninitialised; 0 bytes have no address.
  DeviceBuffer(const Driver &driver, int ordinal, size_t bytes, std::string_view what);
  DeviceBuffer(DeviceBuffer &&other) noexcept
      : driver(other.driver), ordinal(other.ordinal), bytes(other.bytes),
        address(std::exchange(other.address, 0)) {}
  DeviceBuffer &operator=(DeviceBuffer &&) = delete;
  ~DeviceBuffer();

  void *data() const { return reinterpret_cast<void *>(address); }
  size_t size() const { return bytes; }

  /// Copies as many bytes as the buffer has, and waits for it.
  void copyFrom(std::span<const std::byte> host);
  void copyTo(std::span<std::byte> host) const;

  /// Sets every byte.
  void fill(std::byte value);

private:
  const Driver &driver;
  int ordinal;
  size_t bytes;
  CUdeviceptr address = 0;
};

/// A stream that does not wait for the legacy default stream.
class Stream {
public:
  Stream(const Driver &driver, int ordinal);
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream();

  CUstream get() const { return stream; }
  void synchronize() const;

private:
  const Driver &driver;
  int ordinal;
  CUstream stream = nullptr;
};

/// Holds up what is queued on a stream after it until it is opened, so that work that was queued
/// slowly runs without gaps. At the end of its scope it is open, and the stream's work is done.
class Gate {
public:
  /// In the context of the stream's device, which is current.
  Gate(const Driver &driver, const Stream &stream);
  Gate(const Gate &) = delete;
  Gate &operator=(const Gate &) = delete;
  ~Gate();

  void open();

private:
  static void wait(void *gate);

  const Stream &stream;
  std::mutex mutex;
  std::condition_variable opened;
  bool isOpen = false; ///< guarded by mutex
  bool isQueued = false;
};

/// Work of a stream, captured once and launched as often as needed.
class Graph {
public:
  /// Captures what `work` queues on the stream. Whatever allocates, waits or loads code is refused
  /// meanwhile, in all threads.
  Graph(const Driver &driver, int ordinal, const Stream &stream,
        const std::function<void(CUstream)> &work);
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  ~Graph();

  void launch(const Stream &stream) const;

private:
  const Driver &driver;
  int ordinal;
  CUgraphExec executable = nullptr;
};

/// A point in a stream's work whose time is taken.
class Event {
public:
  Event(const Driver &driver, int ordinal);
  Event(Event &&other) noexcept
      : driver(other.driver), ordinal(other.ordinal), event(std::exchange(other.event, nullptr)) {}
  Event &operator=(Event &&) = delete;
  ~Event();

  void record(const Stream &stream);

  /// Seconds from `begin` to this; waits for both.
  double secondsSince(const Event &begin) const;

private:
  const Driver &driver;
  int ordinal;
  CUevent event = nullptr;
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_RESOURCES_H
