//===- Driver.cpp - the NVIDIA driver, opened at run time -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Driver.h"
#include "runtime/API/Status.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace flashc::cuda {
namespace {

std::mutex openMutex;
std::atomic<const Driver *> opened; ///< set once, under openMutex

/// The library's path, and whether it was named.
std::string libraryPath() {
  // Not for programs with more rights than their caller.
  const char *named = secure_getenv("FLASHC_LIBCUDA");
  return named && *named ? named : "libcuda.so.1";
}

/// Errors of work that the device was given earlier, which any later call may tell of.
bool isLate(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
         (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
}

} // namespace

const Driver *Driver::open(const char *path, std::string &reason) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *message = dlerror();
    reason = message ? message : concat(path, ": cannot be opened");
    return nullptr;
  }
  std::unique_ptr<Driver> driver(new Driver);
#define FLASHC_CUDA_FUNCTION(name, symbol, parameters)                                             \
  if (reason.empty() &&                                                                            \
      !(driver->name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol))))          \
    reason = concat(path, ": it has no ", symbol, "; is the driver older than CUDA 11.4?");
  FLASHC_CUDA_FUNCTIONS(FLASHC_CUDA_FUNCTION)
#undef FLASHC_CUDA_FUNCTION
#define FLASHC_CUDA_FUNCTION(name, symbol, parameters)                                             \
  driver->name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));
  FLASHC_CUDA_NEWER_FUNCTIONS(FLASHC_CUDA_FUNCTION)
#undef FLASHC_CUDA_FUNCTION
  if (!reason.empty()) {
    dlclose(library);
    return nullptr;
  }
  // From here on the library stays open whatever happens: it may have started threads.
  reason = driver->initialize();
  return reason.empty() ? driver.release() : nullptr; // never destroyed: kernels outlive main's end
}

/// Returns why the driver cannot be used, or "".
std::string Driver::initialize() {
  if (const CUresult result = cuInit(0))
    return "cuInit: " + nameOf(result);
  if (const CUresult result = cuDeviceGetCount(&numDevices))
    return "cuDeviceGetCount: " + nameOf(result);
  int version = 0;
  if (const CUresult result = cuDriverGetVersion(&version))
    return "cuDriverGetVersion: " + nameOf(result);
  canLaunchDependents = cuLaunchKernelEx && version >= 12030;
  return numDevices > 0 ? "" : "it has no device";
}

const Driver *Driver::find(std::string &reason) {
  if (const Driver *driver = opened.load(std::memory_order_acquire))
    return driver;
  const std::lock_guard lock(openMutex);
  if (const Driver *driver = opened.load(std::memory_order_relaxed))
    return driver;
  // A failure is not kept: the next call looks again.
  reason.clear();
  const Driver *driver = open(libraryPath().c_str(), reason);
  opened.store(driver, std::memory_order_release);
  return driver;
}

const Driver &Driver::get(std::string_view purpose) {
  std::string reason;
  if (const Driver *driver = find(reason))
    return *driver;
  throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                    concat("expected an NVIDIA driver for ", purpose, ", got none (", reason,
                           "); run on a machine with an NVIDIA GPU, or use a CPU target"));
}

std::string Driver::nameOf(CUresult result) const {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
    return name;
  return concat("CUDA error ", result);
}

void Driver::failed(CUresult result, std::string_view call, const std::string &context) const {
  const flashc_status status =
      result == CUDA_ERROR_OUT_OF_MEMORY ? FLASHC_ERROR_MEMORY : FLASHC_ERROR_DEVICE;
  const char *late = isLate(result) ? "; it may come from an earlier launch" : "";
  throw StatusError(status, concat(call, ": ", nameOf(result), context, late));
}

int Driver::versionNumber() const {
  int version = 0;
  check(cuDriverGetVersion(&version), "cuDriverGetVersion");
  return version;
}

std::string Driver::version() const {
  const int version = versionNumber();
  return concat(version / 1000, '.', version % 1000 / 10);
}

CUdevice Driver::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= numDevices)
    fail("expected a CUDA device from 0 to ", numDevices - 1, ", got ", ordinal);
  CUdevice device = 0;
  check(cuDeviceGet(&device, ordinal), "cuDeviceGet", " for device ", ordinal);
  return device;
}

CUcontext Driver::primaryContext(int ordinal) const {
  static std::mutex mutex;
  static std::map<int, CUcontext> &contexts = *new std::map<int, CUcontext>;
  const std::lock_guard lock(mutex);
  if (const auto found = contexts.find(ordinal); found != contexts.end())
    return found->second;
  CUcontext context = nullptr;
  check(cuDevicePrimaryCtxRetain(&context, device(ordinal)), "cuDevicePrimaryCtxRetain",
        " for device ", ordinal);
  return contexts[ordinal] = context;
}

ContextScope::ContextScope(const Driver &driver, int ordinal) : driver(driver) {
  const CUcontext wanted = driver.primaryContext(ordinal);
  CUcontext current = nullptr;
  driver.check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == wanted)
    return;
  driver.check(driver.cuCtxPushCurrent(wanted), "cuCtxPushCurrent", " for device ", ordinal);
  isPushed = true;
}

ContextScope::~ContextScope() {
  CUcontext popped;
  if (isPushed)
    driver.cuCtxPopCurrent(&popped);
}

} // namespace flashc::cuda
