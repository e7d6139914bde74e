//===- Resources.cpp - memory, streams and events of a GPU -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Destructors drop errors: what failed before is told already, and at the end of
// the process the driver may be gone.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Resources.h"

#include <chrono>

namespace flashc::cuda {
namespace {

/// Runs `body` in the device's context, whatever happens.
template <typename Body> void atTheEnd(const Driver &driver, int ordinal, Body body) noexcept {
  try {
    const ContextScope context(driver, ordinal);
    body();
  } catch (...) {
  }
}

} // namespace

DeviceBuffer::DeviceBuffer(const Driver &driver, int ordinal, size_t bytes, std::string_view what)
    : driver(driver), ordinal(ordinal), bytes(bytes) {
  const ContextScope context(driver, ordinal);
  if (bytes)
    driver.check(driver.cuMemAlloc(&address, bytes), "cuMemAlloc", " for ", bytes, " bytes of ",
                 what, " on device ", ordinal);
}

DeviceBuffer::~DeviceBuffer() {
  if (address)
    atTheEnd(driver, ordinal, [&] { driver.cuMemFree(address); });
}

void DeviceBuffer::copyFrom(std::span<const std::byte> host) {
  if (host.size() != bytes)
    fail("expected ", bytes, " bytes to copy to the device, got ", host.size());
  const ContextScope context(driver, ordinal);
  if (!bytes)
    return;
  driver.check(driver.cuMemcpyHtoD(address, host.data(), bytes), "cuMemcpyHtoD", " for ", bytes,
               " bytes");
  // It returns when the host's bytes have been read; they may still be on their way.
  driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
}

void DeviceBuffer::copyTo(std::span<std::byte> host) const {
  if (host.size() != bytes)
    fail("expected room for ", bytes, " bytes from the device, got ", host.size());
  const ContextScope context(driver, ordinal);
  if (bytes)
    driver.check(driver.cuMemcpyDtoH(host.data(), address, bytes), "cuMemcpyDtoH", " for ", bytes,
                 " bytes");
}

void DeviceBuffer::fill(std::byte value) {
  const ContextScope context(driver, ordinal);
  if (!bytes)
    return;
  driver.check(driver.cuMemsetD8(address, static_cast<unsigned char>(value), bytes), "cuMemsetD8",
               " for ", bytes, " bytes");
  // The fill is queued on the legacy stream, which other streams need not wait for.
  driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
}

Stream::Stream(const Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

Stream::~Stream() {
  atTheEnd(driver, ordinal, [&] { driver.cuStreamDestroy(stream); });
}

void Stream::synchronize() const {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize", " on device ", ordinal);
}

Gate::Gate(const Driver &driver, const Stream &stream) : stream(stream) {
  driver.check(driver.cuLaunchHostFunc(stream.get(), wait, this), "cuLaunchHostFunc");
  isQueued = true;
}

Gate::~Gate() {
  open();
  if (!isQueued)
    return;
  try {
    stream.synchronize(); // the driver still holds this object
  } catch (...) {
  }
}

void Gate::open() {
  {
    const std::lock_guard lock(mutex);
    isOpen = true;
  }
  opened.notify_all();
}

void Gate::wait(void *gate) {
  Gate &self = *static_cast<Gate *>(gate);
  std::unique_lock lock(self.mutex);
  // Should the queue be full, its owner cannot go on to open the gate.
  self.opened.wait_for(lock, std::chrono::seconds(2), [&] { return self.isOpen; });
}

Graph::Graph(const Driver &driver, int ordinal, const Stream &stream,
             const std::function<void(CUstream)> &work)
    : driver(driver), ordinal(ordinal) {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL),
               "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    work(stream.get());
  } catch (...) {
    // The stream leaves the capture; what was captured is of no use.
    if (driver.cuStreamEndCapture(stream.get(), &graph) == CUDA_SUCCESS && graph)
      driver.cuGraphDestroy(graph);
    throw;
  }
  driver.check(driver.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
  const CUresult result = driver.cuGraphInstantiate(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  driver.check(result, "cuGraphInstantiate");
}

Graph::~Graph() {
  atTheEnd(driver, ordinal, [&] { driver.cuGraphExecDestroy(executable); });
}

void Graph::launch(const Stream &stream) const {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuGraphLaunch(executable, stream.get()), "cuGraphLaunch");
}

Event::Event(const Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate");
}

Event::~Event() {
  if (event)
    atTheEnd(driver, ordinal, [&] { driver.cuEventDestroy(event); });
}

void Event::record(const Stream &stream) {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuEventRecord(event, stream.get()), "cuEventRecord");
}

double Event::secondsSince(const Event &begin) const {
  const ContextScope context(driver, ordinal);
  driver.check(driver.cuEventSynchronize(begin.event), "cuEventSynchronize");
  driver.check(driver.cuEventSynchronize(event), "cuEventSynchronize");
  float milliseconds = 0;
  driver.check(driver.cuEventElapsedTime(&milliseconds, begin.event, event), "cuEventElapsedTime");
  return milliseconds * 1e-3;
}

} // namespace flashc::cuda
