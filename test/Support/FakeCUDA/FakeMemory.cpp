//===- FakeMemory.cpp - the stand-in's memory, streams, graphs and events -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/FakeCUDA/FakeState.h"

#include <cstdlib>
#include <cstring>

using namespace flashc::test;

namespace {

void *allocate(size_t bytes, unsigned type, bool isManaged, int device) {
  constexpr size_t alignment = 256;
  void *data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data)
    state().memory[reinterpret_cast<uintptr_t>(data)] = {bytes, type, isManaged, device};
  return data;
}

const Memory *findMemory(CUdeviceptr pointer) {
  auto after = state().memory.upper_bound(pointer);
  if (after == state().memory.begin())
    return nullptr;
  const auto &[begin, memory] = *--after;
  return pointer < begin + memory.bytes ? &memory : nullptr;
}

bool isInside(CUdeviceptr pointer, size_t bytes) {
  return bytes == 0 ||
         (findMemory(pointer) && findMemory(pointer) == findMemory(pointer + bytes - 1));
}

} // namespace

EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
                                       void **values, CUdeviceptr pointer) {
  Call call("cuPointerGetAttributes");
  if (call.needsContext().result)
    return call.result;
  const Memory *memory = findMemory(pointer);
  for (unsigned n = 0; n < count; ++n)
    switch (attributes[n]) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned *>(values[n]) = memory ? memory->type : 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr *>(values[n]) = memory ? pointer : 0;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned *>(values[n]) = memory && memory->isManaged;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(values[n]) = memory ? memory->device : -2;
      break;
    }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  Call call("cuMemAlloc");
  if (call.isUnsafe().result)
    return call.result;
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  *pointer = reinterpret_cast<CUdeviceptr>(
      allocate(bytes, CU_MEMORYTYPE_DEVICE, false, current()->device));
  return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Call call("cuMemFree");
  if (state().memory.erase(pointer) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void *>(pointer));
  return call.result;
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  Call call("cuMemcpyHtoD");
  if (!call.isUnsafe().result && !isInside(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!call.result)
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return call.result;
}

EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  Call call("cuMemcpyDtoH");
  if (!call.isUnsafe().result && !isInside(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!call.result)
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return call.result;
}

EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  Call call("cuMemsetD8");
  if (!call.isUnsafe().result && !isInside(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!call.result)
    std::memset(reinterpret_cast<void *>(to), value, bytes);
  return call.result;
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned) {
  Call call("cuStreamCreate");
  if (call.needsContext().result)
    return call.result;
  *stream = new CUstream_st{current()};
  state().streams.insert(*stream);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  Call call("cuStreamDestroy");
  if (state().streams.erase(stream) == 0)
    return invalidHandle;
  delete stream;
  return call.result;
}

EXPORT CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data) {
  Call call("cuLaunchHostFunc");
  if (!call.needsContext().result)
    stream->hostFunctions.emplace_back(function, data);
  return call.result;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  Call call("cuStreamSynchronize");
  if (call.isUnsafe().result || !stream)
    return call.result;
  std::vector<std::thread> functions;
  functions.swap(stream->hostFunctions);
  call.lock.unlock();
  for (std::thread &function : functions)
    function.join();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  Call call("cuStreamIsCapturing");
  if (!stream && anyCapture())
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = stream && stream->isCapturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                          : CU_STREAM_CAPTURE_STATUS_NONE;
  return call.result;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  Call call("cuStreamBeginCapture");
  if (call.needsContext().result)
    return call.result;
  if (!stream || stream->isCapturing || mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
    return CUDA_ERROR_INVALID_VALUE;
  stream->isCapturing = true;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Call call("cuStreamEndCapture");
  if (!stream->isCapturing)
    return CUDA_ERROR_INVALID_VALUE;
  stream->isCapturing = false;
  *graph = new CUgraph_st;
  (*graph)->launches.swap(stream->captured);
  return call.result;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                            unsigned long long) {
  Call call("cuGraphInstantiate");
  if (!call.result)
    *executable = new CUgraphExec_st{graph->launches};
  return call.result;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  Call call("cuGraphLaunch");
  if (call.needsContext().result)
    return call.result;
  for (FakeLaunch launch : executable->launches) {
    launch.stream = stream;
    state().launches.push_back(launch);
    execute(launch);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return Call("cuGraphExecDestroy").result;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return Call("cuGraphDestroy").result;
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  std::swap(*mode, captureMode);
  return Call("cuThreadExchangeStreamCaptureMode").result;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  Call call("cuEventCreate");
  if (!call.needsContext().result)
    *event = new CUevent_st{current()};
  return call.result;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  Call call("cuEventRecord");
  if (stream && stream->context != event->context)
    return invalidHandle;
  event->launchesBefore = state().launches.size();
  event->isRecorded = true;
  return call.result;
}

EXPORT CUresult cuEventSynchronize(CUevent) { return Call("cuEventSynchronize").result; }

/// Every launch takes half a millisecond.
EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  Call call("cuEventElapsedTime");
  if (!begin->isRecorded || !end->isRecorded)
    return invalidHandle;
  *milliseconds = 0.5f * static_cast<float>(end->launchesBefore - begin->launchesBefore);
  return call.result;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return Call("cuEventDestroy").result;
}

extern "C" __attribute__((visibility("default")))
const flashc::test::FakeControls fakeCudaControls = {
    [] {
      const std::lock_guard lock(state().mutex);
      return state().launches;
    },
    [] {
      const std::lock_guard lock(state().mutex);
      state().launches.clear();
      state().failures.clear();
      state().numLoads = 0;
      for (CUstream stream : state().streams) {
        stream->isCapturing = false;
        stream->captured.clear();
      }
    },
    [] {
      const std::lock_guard lock(state().mutex);
      return state().numLoads;
    },
    [] {
      const std::lock_guard lock(state().mutex);
      return state().lastImage;
    },
    [](const std::string &function, CUresult result) {
      const std::lock_guard lock(state().mutex);
      state().failures[function] = result;
    },
    [](CUstream stream, bool begins) {
      const std::lock_guard lock(state().mutex);
      stream->isCapturing = begins;
    },
    [](size_t bytes) {
      const std::lock_guard lock(state().mutex);
      return allocate(bytes, CU_MEMORYTYPE_HOST, false, 0);
    },
    [](size_t bytes) {
      const std::lock_guard lock(state().mutex);
      return allocate(bytes, CU_MEMORYTYPE_DEVICE, true, 0);
    },
    [](int device) { return &state().devices.at(device).context; },
    [](int device) {
      const std::lock_guard lock(state().mutex);
      return state().devices.at(device).numRetained;
    },
};
