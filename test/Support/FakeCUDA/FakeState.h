//===- FakeState.h - what the stand-in for the driver knows -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_SUPPORT_FAKECUDA_FAKESTATE_H
#define FLASHC_TEST_SUPPORT_FAKECUDA_FAKESTATE_H

#include "test/Support/FakeCUDA/FakeCUDA.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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
/// What a link was given, one text after another.
struct CUlinkState_st {
  std::string image;
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

namespace flashc::test {

using namespace flashc::cuda;

inline constexpr CUresult notInitialized = 3, invalidContext = 201, invalidHandle = 400,
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

State &state();

inline thread_local std::vector<CUcontext> contexts;
inline thread_local CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

inline CUcontext current() { return contexts.empty() ? nullptr : contexts.back(); }

/// Whether some stream is being captured.
bool anyCapture();

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

/// What an entry called zeroN_at_P does; others do nothing.
void execute(const FakeLaunch &launch);

} // namespace flashc::test

#define EXPORT extern "C" __attribute__((visibility("default")))

#endif // FLASHC_TEST_SUPPORT_FAKECUDA_FAKESTATE_H
