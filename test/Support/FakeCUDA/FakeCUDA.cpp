//===- FakeCUDA.cpp - a stand-in for the NVIDIA driver -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/FakeCUDA/FakeCUDA.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace flashc::cuda {
struct CUctx_st {
  int device;
};
struct CUfunc_st {
  CUmodule module;
  std::string name;
  size_t numParameters;
  int sharedLimit = 48 * 1024;
};
struct CUmod_st {
  CUcontext context;
  std::map<std::string, CUfunc_st> functions;
};
struct CUstream_st {
  CUcontext context;
  bool isCapturing = false;
  std::vector<flashc::test::FakeLaunch> captured = {};
  std::vector<std::thread> hostFunctions = {};
};
struct CUgraph_st {
  std::vector<flashc::test::FakeLaunch> launches;
};
struct CUgraphExec_st {
  std::vector<flashc::test::FakeLaunch> launches;
};
struct CUevent_st {
  CUcontext context;
  size_t launchesBefore = 0;
  bool isRecorded = false;
};
} // namespace flashc::cuda

using namespace flashc::cuda;
using flashc::test::FakeLaunch;

namespace {

constexpr CUresult notInitialized = 3, invalidContext = 201, invalidHandle = 400,
                   captureUnsupported = 900;

struct Device {
  int major, minor;
  CUctx_st context;
  int numRetained = 0;

  /// Shared memory of a block, as the CUDA Programming Guide has it.
  int sharedOptIn() const {
    const int kib = major >= 9 && major != 12 ? 227 : major == 8 && minor == 0 ? 163 : 99;
    return 1024 * (major == 7 ? 64 : kib);
  }
};

struct Memory {
  size_t bytes;
  unsigned type;
  bool isManaged;
  int device;
};

struct State {
  std::mutex mutex;
  bool isInitialized = false;
  std::deque<Device> devices;
  std::map<uintptr_t, Memory> memory; ///< by first address
  std::set<CUstream> streams;
  std::vector<std::unique_ptr<CUmod_st>> modules;
  std::vector<FakeLaunch> launches;
  std::map<std::string, CUresult> failures;
  int numLoads = 0;
  std::string lastImage;
};

State &state() {
  static State &state = *new State;
  return state;
}

thread_local std::vector<CUcontext> contexts;
thread_local CUstreamCaptureMode captureMode = CUstreamCaptureMode(0);

CUcontext current() { return contexts.empty() ? nullptr : contexts.back(); }

bool anyCapture() {
  return std::any_of(state().streams.begin(), state().streams.end(),
                     [](CUstream stream) { return stream->isCapturing; });
}

/// Takes the lock, and the failure that a test has ordered for `function`.
struct Call {
  std::unique_lock<std::mutex> lock{state().mutex};
  CUresult result = CUDA_SUCCESS;

  explicit Call(const char *function) {
    if (const auto found = state().failures.find(function); found != state().failures.end()) {
      result = found->second;
      state().failures.erase(found);
    } else if (!state().isInitialized) {
      result = notInitialized;
    }
  }
  /// Also wants a context.
  Call &needsContext() {
    if (!result && !current())
      result = invalidContext;
    return *this;
  }
  /// Also breaks a capture in the global mode.
  Call &isUnsafe() {
    if (!needsContext().result && anyCapture() && captureMode != CU_STREAM_CAPTURE_MODE_RELAXED)
      result = captureUnsupported;
    return *this;
  }
};

/// Reads `.entry NAME(...)` of PTX.
bool readEntries(const std::string &ptx, CUmodule module) {
  const std::string mark = ".entry ";
  for (size_t at = ptx.find(mark); at != std::string::npos; at = ptx.find(mark, at + 1)) {
    const size_t name = at + mark.size(), open = ptx.find('(', name), close = ptx.find(')', name);
    if (open == std::string::npos || close == std::string::npos)
      return false;
    CUfunc_st function{module, ptx.substr(name, open - name), 0};
    for (size_t p = ptx.find(".param", open); p < close; p = ptx.find(".param", p + 1))
      ++function.numParameters;
    module->functions.emplace(function.name, function);
  }
  return !module->functions.empty();
}

/// What an entry called zeroN_at_P does.
void execute(const FakeLaunch &launch) {
  unsigned bytes = 0, first = 0;
  if (std::sscanf(launch.entry.c_str(), "zero%u_at_%u", &bytes, &first) != 2)
    return;
  const uint64_t *p = &launch.parameters.at(first + 8) - 8;
  for (uint64_t a = 0; a < p[1]; ++a)
    for (uint64_t b = 0; b < p[2]; ++b)
      for (uint64_t c = 0; c < p[3]; ++c)
        for (uint64_t d = 0; d < p[4]; ++d)
          std::memset(reinterpret_cast<char *>(p[0]) +
                          (a * p[5] + b * p[6] + c * p[7] + d * p[8]) * bytes,
                      0, bytes);
}

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

void makeDevices() {
  const char *list = std::getenv("FAKE_CUDA_DEVICES");
  std::istringstream in(list ? list : "9.0,8.0");
  for (std::string text; std::getline(in, text, ',');) {
    Device &device = state().devices.emplace_back();
    std::sscanf(text.c_str(), "%d.%d", &device.major, &device.minor);
    device.context.device = static_cast<int>(state().devices.size()) - 1;
  }
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT CUresult cuInit(unsigned) {
  Call call("cuInit");
  if (call.result != notInitialized)
    return call.result;
  if (state().devices.empty())
    makeDevices();
  if (state().devices.empty())
    return CUDA_ERROR_NO_DEVICE;
  state().isInitialized = true;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorName(CUresult result, const char **name) {
  static const std::map<CUresult, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}};
  const auto found = names.find(result);
  if (found == names.end())
    return CUDA_ERROR_INVALID_VALUE;
  *name = found->second;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  *count = static_cast<int>(state().devices.size());
  return call.result;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  Call call("cuDeviceGet");
  if (ordinal < 0 || ordinal >= static_cast<int>(state().devices.size()))
    return 101;
  *device = ordinal + 1000; // a handle is no ordinal
  return call.result;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  Call call("cuDeviceGetName");
  std::snprintf(name, size, "Fake GPU %d", device - 1000);
  return call.result;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  Call call("cuDeviceGetAttribute");
  const Device &found = state().devices.at(device - 1000);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1980000;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 3201000;
    break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = 6144;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 50 << 20;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = found.major;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = found.minor;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = found.sharedOptIn();
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return call.result;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  Call call("cuDeviceTotalMem");
  *bytes = size_t(140) << 30;
  return call.result;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.result)
    return call.result;
  Device &found = state().devices.at(device - 1000);
  ++found.numRetained;
  *context = &found.context;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
  Call call("cuCtxGetCurrent");
  *context = current();
  return call.result;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  Call call("cuCtxPushCurrent");
  if (!call.result)
    contexts.push_back(context);
  return call.result;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  Call call("cuCtxPopCurrent");
  if (call.needsContext().result)
    return call.result;
  *context = current();
  contexts.pop_back();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize() { return Call("cuCtxSynchronize").isUnsafe().result; }

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                   CUjit_option *options, void **values) {
  Call call("cuModuleLoadDataEx");
  if (call.isUnsafe().result)
    return call.result;
  auto loaded = std::make_unique<CUmod_st>(CUmod_st{current(), {}});
  if (!readEntries(static_cast<const char *>(image), loaded.get())) {
    for (unsigned n = 0; n < count; ++n)
      if (options[n] == CU_JIT_ERROR_LOG_BUFFER)
        std::strcpy(static_cast<char *>(values[n]), "ptxas: no entry\n");
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = loaded.get();
  state().modules.push_back(std::move(loaded));
  ++state().numLoads;
  state().lastImage = static_cast<const char *>(image);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module) {
  Call call("cuModuleUnload");
  auto &modules = state().modules;
  const auto found = std::find_if(modules.begin(), modules.end(),
                                  [&](const auto &loaded) { return loaded.get() == module; });
  if (found == modules.end())
    return invalidHandle;
  modules.erase(found);
  return call.result;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  Call call("cuModuleGetFunction");
  if (call.result)
    return call.result;
  const auto found = module->functions.find(name);
  if (found == module->functions.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = &found->second;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  Call call("cuFuncSetAttribute");
  if (call.result)
    return call.result;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value > state().devices.at(function->module->context->device).sharedOptIn())
    return CUDA_ERROR_INVALID_VALUE;
  function->sharedLimit = value;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                               unsigned blockX, unsigned blockY, unsigned blockZ,
                               unsigned sharedBytes, CUstream stream, void **parameters,
                               void **extra) {
  Call call("cuLaunchKernel");
  if (call.needsContext().result)
    return call.result;
  if (function->module->context != current() || (stream && stream->context != current()))
    return invalidHandle;
  if (!gridX || gridX > 0x7fffffffu || gridY != 1 || gridZ != 1 || !blockX || blockX > 1024 ||
      blockY != 1 || blockZ != 1 || static_cast<int>(sharedBytes) > function->sharedLimit || extra)
    return CUDA_ERROR_INVALID_VALUE;
  FakeLaunch &launch = state().launches.emplace_back(
      FakeLaunch{current()->device, function->name, gridX, blockX, sharedBytes, stream, {}});
  for (size_t n = 0; n < function->numParameters; ++n)
    launch.parameters.push_back(*static_cast<const uint64_t *>(parameters[n]));
  if (stream && stream->isCapturing)
    stream->captured.push_back(launch);
  else
    execute(launch);
  return CUDA_SUCCESS;
}

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
