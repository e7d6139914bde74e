//===- Driver.h - the NVIDIA driver, opened at run time -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// libcuda.so.1 comes with the driver, so a program that runs without one must
// not be linked to it: it is opened when a GPU is first asked for. This is the
// table of its functions, its failures as exceptions, and the context that a
// device's work happens in.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_DRIVER_H
#define FLASHC_RUNTIME_CUDA_DRIVER_H

#include "runtime/CUDA/DriverTypes.h"
#include "runtime/Support/Error.h"

#include <string>
#include <string_view>

namespace flashc::cuda {

/// The process's driver. It stays open for good; safe from any thread.
class Driver {
public:
  /// Opens and initialises libcuda.so.1, or the library that FLASHC_LIBCUDA names. Throws
  /// StatusError (FLASHC_ERROR_UNSUPPORTED) where there is none; `purpose` says in the message
  /// what it is needed for: "target cuda".
  static const Driver &get(std::string_view purpose);

  /// The driver, or nullptr with the reason.
  static const Driver *find(std::string &reason);

#define FLASHC_CUDA_FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  FLASHC_CUDA_FUNCTIONS(FLASHC_CUDA_FUNCTION)
  FLASHC_CUDA_NEWER_FUNCTIONS(FLASHC_CUDA_FUNCTION)
#undef FLASHC_CUDA_FUNCTION

  /// Throws StatusError unless `result` is success. `call` is the function's name, `context` what
  /// it was called for: " for attention_phase0 with grid 5".
  template <typename... Context>
  void check(CUresult result, std::string_view call, const Context &...context) const {
    if (result != CUDA_SUCCESS)
      failed(result, call, concat("", context...));
  }

  /// "CUDA_ERROR_INVALID_VALUE", or the number where the driver knows no name.
  std::string nameOf(CUresult result) const;

  int deviceCount() const { return numDevices; }

  /// Whether a launch may begin before the one before it ends, in graphs too: from CUDA 12.3 on.
  bool hasDependentLaunch() const { return canLaunchDependents; }

  /// The newest CUDA version that the driver supports: 12040, and as "12.4".
  int versionNumber() const;
  std::string version() const;

  /// The handle of device `ordinal`. Throws Error where there is none such.
  CUdevice device(int ordinal) const;

  /// The device's primary context, the one that the CUDA runtime and frameworks use; retained on
  /// first use, for good.
  CUcontext primaryContext(int ordinal) const;

private:
  Driver() = default;
  static const Driver *open(const char *path, std::string &reason);
  std::string initialize();
  [[noreturn]] void failed(CUresult result, std::string_view call,
                           const std::string &context) const;

  int numDevices = 0;
  bool canLaunchDependents = false;
};

/// Makes a device's primary context current in this thread, and the former one again at the end.
class ContextScope {
public:
  ContextScope(const Driver &driver, int ordinal);
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope();

private:
  const Driver &driver;
  bool isPushed = false;
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_DRIVER_H
