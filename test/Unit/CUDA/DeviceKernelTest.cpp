//===- DeviceKernelTest.cpp - loading and launching device code -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/DeviceKernel.h"
#include "runtime/API/Status.h"
#include "runtime/CUDA/PointerCheck.h"
#include "runtime/CUDA/Resources.h"
#include "test/Unit/CUDA/FakeDriver.h"

#include <nlohmann/json.hpp>
#include <thread>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

/// Code that no other test has: what is loaded stays so for the whole program.
std::string uniqueText() {
  static int count = 0;
  return concat("// flashc_kernel_info {}\n// ", ++count, "\n");
}

std::string entry(const std::string &name, int numParameters) {
  std::string text = ".visible .entry " + name + "(";
  for (int n = 0; n < numParameters; ++n)
    text += concat(n ? ", " : "", ".param .u64 p", n);
  return text + ") { ret; }\n";
}

LaunchPlan plan(const std::string &json) {
  const std::vector<int64_t> ranks = {2, 1};
  return LaunchPlan::parse(nlohmann::json::parse(json), ranks);
}

constexpr const char *twoPhases = R"({"kernels": [
    {"entry": "f_phase0", "threads": 128, "shared_bytes": 50000, "facts": [], "dependent": false, "grid": ["dim", 0, 0]},
    {"entry": "f_phase1", "threads": 64, "shared_bytes": 16, "facts": [], "dependent": false, "grid": ["dim", 1, 0]}],
    "workspace": ["mul", ["dim", 0, 0], 100]})";

constexpr const char *onePhase = R"({"kernels": [
    {"entry": "f_phase0", "threads": 128, "shared_bytes": 0, "facts": [], "dependent": false, "grid": ["dim", 0, 0]}],
    "workspace": 0})";

DeviceKernel makeKernel(const std::string &text, const char *json, const char *target = "sm_80") {
  return {std::as_bytes(std::span(text)), "f", target, plan(json)};
}

/// Arguments of shapes [3, 5] and [2] on a device, and their workspace.
struct Call {
  DeviceBuffer a, b, workspace;
  std::vector<int64_t> shapeA = {3, 5}, stridesA = {8, -1}, shapeB = {2}, stridesB = {1};
  int device;

  explicit Call(int device)
      : a(fakeDriver(), device, 96, "a"), b(fakeDriver(), device, 8, "b"),
        workspace(fakeDriver(), device, 300, "workspace"), device(device) {}

  std::vector<DeviceArgument> arguments() const {
    return {{"a", MemoryKind::Device, a.data(), shapeA, stridesA},
            {"b", MemoryKind::Device, b.data(), shapeB, stridesB}};
  }
  void run(const DeviceKernel &kernel, CUstream stream = nullptr) const {
    kernel.run(device, arguments(), workspace.data(), stream);
  }
};

uint64_t address(const void *data) { return reinterpret_cast<uintptr_t>(data); }

class DeviceKernelTest : public FakeCUDATest {
protected:
  const std::string text = uniqueText() + entry("f_phase0", 11) + entry("f_phase1", 11);
};

TEST_F(DeviceKernelTest, LaunchesEveryPhaseWithAllParameters) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  const Call call(1);
  const Stream stream(fakeDriver(), 1);
  call.run(kernel, stream.get());
  const std::vector<FakeLaunch> launches = fakeCUDA().launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].device, 1);
  EXPECT_EQ(launches[0].entry, "f_phase0");
  EXPECT_EQ(launches[0].grid, 3u);
  EXPECT_EQ(launches[0].threads, 128u);
  EXPECT_EQ(launches[0].sharedBytes, 50000u) << "beyond 48 KiB, which must be asked for";
  EXPECT_EQ(launches[0].stream, stream.get());
  EXPECT_EQ(launches[1].entry, "f_phase1");
  EXPECT_EQ(launches[1].grid, 2u);
  EXPECT_EQ(launches[1].threads, 64u);
  EXPECT_EQ(launches[1].sharedBytes, 16u);
  const std::vector<uint64_t> expected = {
      address(call.a.data()),         3,   5, 8, uint64_t(-1), address(call.b.data()), 2, 1,
      address(call.workspace.data()), 300, 1};
  EXPECT_EQ(launches[0].parameters, expected);
  EXPECT_EQ(launches[1].parameters, expected);
}

TEST_F(DeviceKernelTest, FactsComeAfterTheWorkspaceAndLaunchesThatWaitBeginEarly) {
  const std::string more = uniqueText() + entry("f_phase0", 12) + entry("f_phase1", 13);
  const DeviceKernel kernel = makeKernel(more, R"({"kernels": [
      {"entry": "f_phase0", "threads": 128, "shared_bytes": 0, "dependent": false, "grid": ["dim", 0, 0],
       "facts": [["mul", ["dim", 0, 1], 7]]},
      {"entry": "f_phase1", "threads": 64, "shared_bytes": 0, "dependent": true, "grid": ["dim", 1, 0],
       "facts": [["dim", 1, 0], -4]}],
      "workspace": 0})");
  Call call(0);
  call.run(kernel);
  const std::vector<FakeLaunch> launches = fakeCUDA().launches();
  ASSERT_EQ(launches.size(), 2u);
  const auto last = [&](size_t n, size_t count) {
    return std::vector<uint64_t>(launches[n].parameters.end() - static_cast<ptrdiff_t>(count),
                                 launches[n].parameters.end());
  };
  EXPECT_EQ(last(0, 2), (std::vector<uint64_t>{1, 35}));
  EXPECT_EQ(last(1, 3), (std::vector<uint64_t>{1, 2, uint64_t(-4)}));
  // Drivers before CUDA 12.3 launch one after the other.
  const bool isOld = fakeDriver().versionNumber() < 12030;
  EXPECT_FALSE(launches[0].isEarly);
  EXPECT_EQ(launches[1].isEarly, !isOld);
  // Without blocks of the phase before, the launch before is another's.
  fakeCUDA().reset();
  call.shapeA = {0, 5};
  call.run(kernel);
  ASSERT_EQ(fakeCUDA().launches().size(), 1u);
  EXPECT_FALSE(fakeCUDA().launches()[0].isEarly);
  if (isOld)
    return;
  fakeCUDA().failNext("cuLaunchKernelEx", CUDA_ERROR_INVALID_VALUE);
  call.shapeA = {3, 5};
  EXPECT_ERROR(call.run(kernel),
               "cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE for f_phase1 with grid 2, 64 threads");
}

TEST_F(DeviceKernelTest, AnEmptyGridLaunchesNothing) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  Call call(0);
  call.shapeB = {0};
  call.run(kernel);
  EXPECT_EQ(fakeCUDA().launches().size(), 1u);
  call.shapeA = {0, 5};
  kernel.run(
      0,
      std::vector<DeviceArgument>{{"a", MemoryKind::Device, nullptr, call.shapeA, call.stridesA},
                                  {"b", MemoryKind::Device, nullptr, call.shapeB, call.stridesB}},
      nullptr, nullptr);
  EXPECT_EQ(fakeCUDA().launches().size(), 1u);
}

TEST_F(DeviceKernelTest, GridsBeyondTheLimitAreRefusedBeforeAnyLaunch) {
  const DeviceKernel kernel = makeKernel(text, R"({"kernels": [
      {"entry": "f_phase0", "threads": 128, "shared_bytes": 0, "facts": [], "dependent": false, "grid": 1},
      {"entry": "f_phase1", "threads": 128, "shared_bytes": 0, "facts": [], "dependent": false, "grid": ["dim", 1, 0]}],
      "workspace": 0})");
  Call call(0);
  call.shapeB = {int64_t(1) << 31};
  EXPECT_ERROR(call.run(kernel), "expected 0 to 2^31 - 1 blocks for f_phase1, got 2147483648");
  EXPECT_TRUE(fakeCUDA().launches().empty());
  call.shapeB = {(int64_t(1) << 31) - 1};
  EXPECT_NO_THROW(call.run(kernel));
  const DeviceKernel negative = makeKernel(text, R"({"kernels": [
      {"entry": "f_phase0", "threads": 128, "shared_bytes": 0, "facts": [], "dependent": false, "grid": -1}], "workspace": -8})");
  EXPECT_ERROR(call.run(negative), "expected a workspace size from the kernel, got -8");
}

TEST_F(DeviceKernelTest, CodeIsLoadedOncePerDevice) {
  const DeviceKernel kernel = makeKernel(text, twoPhases), equal = makeKernel(text, twoPhases);
  const Call first(0), second(1);
  for (int n = 0; n < 3; ++n) {
    first.run(kernel);
    first.run(equal);
  }
  EXPECT_EQ(fakeCUDA().numLoads(), 1);
  second.run(kernel);
  kernel.prepare(1);
  EXPECT_EQ(fakeCUDA().numLoads(), 2);
  EXPECT_EQ(fakeCUDA().launches().back().device, 1);
}

TEST_F(DeviceKernelTest, ManyThreadsOnSeveralDevicesLoadItOnceEach) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&kernel, t] {
      const Call call(t % 2);
      const Stream stream(fakeDriver(), t % 2);
      for (int n = 0; n < 50; ++n)
        call.run(kernel, stream.get());
      CUcontext current = nullptr;
      fakeDriver().cuCtxGetCurrent(&current);
      EXPECT_EQ(current, nullptr) << "a run left its context behind";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeCUDA().numLoads(), 2);
  EXPECT_EQ(fakeCUDA().launches().size(), 16u * 50 * 2);
}

TEST_F(DeviceKernelTest, TheCallersContextIsRestoredAfterErrorsToo) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  const ContextScope callers(fakeDriver(), 1);
  const Call call(0);
  call.run(kernel);
  fakeCUDA().failNext("cuLaunchKernel", CUDA_ERROR_INVALID_VALUE);
  EXPECT_THROW(call.run(kernel), StatusError);
  CUcontext current = nullptr;
  fakeDriver().cuCtxGetCurrent(&current);
  EXPECT_EQ(current, fakeCUDA().context(1));
}

TEST_F(DeviceKernelTest, AFailedLaunchSaysWhatWasLaunched) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  const Call call(0);
  fakeCUDA().failNext("cuLaunchKernel", CUDA_ERROR_INVALID_VALUE);
  try {
    call.run(kernel);
    FAIL() << "launched";
  } catch (const StatusError &error) {
    EXPECT_EQ(error.status, FLASHC_ERROR_DEVICE);
    EXPECT_STREQ(error.what(), "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE for f_phase0 with grid 3, "
                               "128 threads, 50000 bytes of shared memory");
  }
  EXPECT_NO_THROW(call.run(kernel));
}

TEST_F(DeviceKernelTest, AGraphCapturesPreparedKernelsOnly) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  const Call call(0);
  const Stream stream(fakeDriver(), 0), other(fakeDriver(), 0);
  fakeCUDA().capture(stream.get(), true);
  EXPECT_ERROR(call.run(kernel, stream.get()),
               "expected f to be loaded on device 0 before a graph captures it, got its first run "
               "there; prepare the kernel");
  EXPECT_ERROR(call.run(kernel, nullptr), "before a graph captures it");
  EXPECT_EQ(fakeCUDA().numLoads(), 0);
  // Loading neither minds nor breaks a capture elsewhere.
  EXPECT_NO_THROW(kernel.prepare(0));
  EXPECT_NO_THROW(call.run(kernel, stream.get()));
  EXPECT_NO_THROW(call.run(kernel, other.get()));
  EXPECT_EQ(fakeCUDA().launches().size(), 4u);
}

TEST_F(DeviceKernelTest, AGraphRunsWhatItCaptured) {
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  kernel.prepare(1);
  const Call call(1);
  const Stream stream(fakeDriver(), 1);
  // The stand-in refuses whatever allocates, waits or loads meanwhile.
  const Graph graph(fakeDriver(), 1, stream,
                    [&](CUstream captured) { call.run(kernel, captured); });
  fakeCUDA().reset();
  for (int n = 0; n < 3; ++n)
    graph.launch(stream);
  EXPECT_EQ(fakeCUDA().launches().size(), 6u);
  EXPECT_EQ(fakeCUDA().launches()[5].entry, "f_phase1");
  // A failure inside ends the capture.
  EXPECT_ERROR(Graph(fakeDriver(), 1, stream, [](CUstream) { fail("inside"); }), "inside");
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(DeviceKernelTest, TheDeviceMustHaveWhatTheCodeNeeds) {
  EXPECT_ERROR(makeKernel(text, twoPhases, "sm_90").prepare(1),
               "of compute capability 9.0 or later for target sm_90, got Fake GPU 1");
  EXPECT_ERROR(makeKernel(text, twoPhases).prepare(2), "expected a CUDA device from 0 to 1, got 2");
  EXPECT_ERROR(makeKernel(text, R"({"workspace": 0, "kernels": [
                   {"entry": "f_phase0", "threads": 128, "shared_bytes": 240000, "facts": [], "dependent": false, "grid": 1}]})")
                   .prepare(0),
               "expected a GPU with 240000 bytes of shared memory per block for f_phase0, got Fake "
               "GPU 0 with 232448");
  EXPECT_EQ(fakeCUDA().numLoads(), 0);
}

TEST_F(DeviceKernelTest, RefusedCodeIsToldWithTheLogAndTriedAgain) {
  const DeviceKernel broken = makeKernel(uniqueText(), twoPhases);
  EXPECT_ERROR(broken.prepare(0), "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX for f (sm_80) on "
                                  "Fake GPU 0: ptxas: no entry");
  const DeviceKernel kernel = makeKernel(text, twoPhases);
  fakeCUDA().failNext("cuModuleLoadDataEx", CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_ERROR(kernel.prepare(0), "this driver takes the PTX of CUDA 12.4 and before");
  EXPECT_NO_THROW(kernel.prepare(0));
  const DeviceKernel wrong = makeKernel(uniqueText() + entry("g", 11), twoPhases);
  EXPECT_ERROR(wrong.prepare(0), "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND for f_phase0");
}

TEST_F(DeviceKernelTest, MemoryMustBeWhatItSays) {
  const DeviceKernel kernel = makeKernel(text, onePhase);
  const Call call(0), elsewhere(1);
  float host[16];
  void *pinned = fakeCUDA().allocatePinned(64), *managed = fakeCUDA().allocateManaged(64);
  const auto runWith = [&](MemoryKind kind, const void *data) {
    std::vector<DeviceArgument> arguments = call.arguments();
    arguments[1].memory = kind;
    arguments[1].data = data;
    kernel.run(0, arguments, nullptr, nullptr);
  };
  EXPECT_NO_THROW(runWith(MemoryKind::Device, call.b.data()));
  EXPECT_NO_THROW(runWith(MemoryKind::Device, managed));
  EXPECT_NO_THROW(runWith(MemoryKind::Managed, managed));
  EXPECT_NO_THROW(runWith(MemoryKind::PinnedHost, pinned));
  const size_t launched = fakeCUDA().launches().size();
  EXPECT_ERROR(runWith(MemoryKind::Device, host),
               "b: expected memory of device 0, got memory that the driver does not know");
  EXPECT_ERROR(runWith(MemoryKind::Device, pinned), "got pinned host memory");
  EXPECT_ERROR(runWith(MemoryKind::Device, elsewhere.b.data()), "got memory of device 1");
  EXPECT_ERROR(runWith(MemoryKind::Managed, call.b.data()), "expected managed memory");
  EXPECT_ERROR(runWith(MemoryKind::PinnedHost, call.b.data()), "expected pinned host memory");
  for (const CUresult result : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_CONTEXT}) {
    fakeCUDA().failNext("cuPointerGetAttributes", result);
    EXPECT_ERROR(runWith(MemoryKind::Device, call.b.data()), "that the driver does not know");
  }
  const DeviceKernel other = makeKernel(text, twoPhases);
  EXPECT_ERROR(other.run(0, call.arguments(), host, nullptr), "workspace: expected memory of");
  EXPECT_EQ(fakeCUDA().launches().size(), launched);
}

TEST(DeviceObject, IsRecognizedByItsFirstLine) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const std::string_view good = "// flashc_kernel_info {\"abi\":2}\n.version 8.0\n";
  EXPECT_TRUE(DeviceKernel::recognizes(bytes(good)));
  EXPECT_EQ(DeviceKernel::readInfo(bytes(good)), "{\"abi\":2}");
  EXPECT_FALSE(DeviceKernel::recognizes(bytes("\x7f"
                                              "ELF")));
  EXPECT_FALSE(DeviceKernel::recognizes({}));
  EXPECT_ERROR(DeviceKernel::readInfo(bytes("// flashc_kernel_info {}")), "got one line");
  EXPECT_ERROR(DeviceKernel::readInfo(bytes({"// flashc_kernel_info {}\n\0x", 27})), "bytes of 0");
}

} // namespace
