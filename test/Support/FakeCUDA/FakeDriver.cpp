//===- FakeDriver.cpp - the stand-in's devices, code and launches -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/FakeCUDA/FakeState.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace flashc::test;

State &flashc::test::state() {
  static State &state = *new State;
  return state;
}

bool flashc::test::anyCapture() {
  return std::any_of(state().streams.begin(), state().streams.end(),
                     [](CUstream stream) { return stream->isCapturing; });
}

void flashc::test::execute(const FakeLaunch &launch) {
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

namespace {

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
  const char *named = std::getenv("FAKE_CUDA_VERSION");
  *version = named ? std::atoi(named) : 12040;
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

// Linking puts "linked" and each part with its registers one after another.

EXPORT CUresult cuLinkCreate_v2(unsigned, CUjit_option *, void **, CUlinkState *link) {
  Call call("cuLinkCreate");
  if (!call.isUnsafe().result)
    *link = new CUlinkState_st{"linked\n"};
  return call.result;
}

EXPORT CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t size,
                                 const char *, unsigned count, CUjit_option *options,
                                 void **values) {
  Call call("cuLinkAddData");
  if (call.result)
    return call.result;
  const std::string text(static_cast<const char *>(data), size);
  if (type != CU_JIT_INPUT_PTX || text.back() != '\0' ||
      text.find("refused by the linker") != std::string::npos)
    return CUDA_ERROR_INVALID_PTX;
  for (unsigned n = 0; n < count; ++n)
    if (options[n] == CU_JIT_MAX_REGISTERS)
      link->image += "registers " + std::to_string(reinterpret_cast<size_t>(values[n])) + "\n";
  link->image += text.c_str();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkComplete(CUlinkState link, void **cubin, size_t *size) {
  Call call("cuLinkComplete");
  *cubin = link->image.data();
  *size = link->image.size();
  return call.result;
}

EXPORT CUresult cuLinkDestroy(CUlinkState link) {
  delete link;
  return Call("cuLinkDestroy").result;
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

namespace {

CUresult record(const char *name, CUfunction function, const CUlaunchConfig &config,
                void **parameters, void **extra) {
  const auto [gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, attributes, count] =
      config;
  Call call(name);
  if (call.needsContext().result)
    return call.result;
  if (function->module->context != current() || (stream && stream->context != current()))
    return invalidHandle;
  if (!gridX || gridX > 0x7fffffffu || gridY != 1 || gridZ != 1 || !blockX || blockX > 1024 ||
      blockY != 1 || blockZ != 1 || static_cast<int>(sharedBytes) > function->sharedLimit || extra)
    return CUDA_ERROR_INVALID_VALUE;
  FakeLaunch &launch = state().launches.emplace_back(
      FakeLaunch{current()->device, function->name, gridX, blockX, sharedBytes, stream, {}});
  for (unsigned n = 0; n < count; ++n)
    launch.isEarly |= attributes[n].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                      attributes[n].value;
  for (size_t n = 0; n < function->numParameters; ++n)
    launch.parameters.push_back(*static_cast<const uint64_t *>(parameters[n]));
  if (stream && stream->isCapturing)
    stream->captured.push_back(launch);
  else
    execute(launch);
  return CUDA_SUCCESS;
}

} // namespace

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                               unsigned blockX, unsigned blockY, unsigned blockZ,
                               unsigned sharedBytes, CUstream stream, void **parameters,
                               void **extra) {
  return record("cuLaunchKernel", function,
                {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, nullptr, 0},
                parameters, extra);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                 void **parameters, void **extra) {
  return record("cuLaunchKernelEx", function, *config, parameters, extra);
}
