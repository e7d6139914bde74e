//===- DriverTest.cpp - opening the driver, its devices and errors -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Status.h"
#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Resources.h"
#include "test/Unit/CUDA/FakeDriver.h"

#include <cstdlib>
#include <thread>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

class NoDriver : public testing::Test {
protected:
  /// What a failed look for the driver says.
  static std::string messageOf(const char *library) {
    setenv("FLASHC_LIBCUDA", library, 1);
    std::string message = "none";
    try {
      Driver::get("target cuda");
    } catch (const StatusError &error) {
      EXPECT_EQ(error.status, FLASHC_ERROR_UNSUPPORTED);
      message = error.what();
    }
    setenv("FLASHC_LIBCUDA", TEST_FAKE_CUDA, 1);
    return message;
  }
};

// The first tests of this program: afterwards the driver is open for good.
TEST_F(NoDriver, IsToldAndNotKept) {
  EXPECT_THAT(messageOf("/nowhere/libcuda.so.1"),
              testing::AllOf(testing::StartsWith("expected an NVIDIA driver for target cuda, got "
                                                 "none (/nowhere/libcuda.so.1: "),
                             testing::HasSubstr("run on a machine with an NVIDIA GPU")));
  EXPECT_THAT(messageOf("libm.so.6"), testing::HasSubstr("libm.so.6: it has no cuInit"));
}

TEST_F(NoDriver, NorIsADriverWithoutADevice) {
  fakeCUDA().failNext("cuInit", CUDA_ERROR_NO_DEVICE);
  EXPECT_THAT(messageOf(TEST_FAKE_CUDA),
              testing::HasSubstr("got none (cuInit: CUDA_ERROR_NO_DEVICE)"));
  EXPECT_EQ(&Driver::get("a test"), &Driver::get("another"));
}

class DriverTest : public FakeCUDATest {};

TEST_F(DriverTest, TellsFactsOfEveryDevice) {
  const std::vector<DeviceFacts> devices = listDevices(fakeDriver());
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].ordinal, 1);
  EXPECT_EQ(devices[1].name, "Fake GPU 1");
  EXPECT_EQ(devices[0].capability, (Capability{9, 0}));
  EXPECT_EQ(devices[1].capability, (Capability{8, 0}));
  EXPECT_EQ(devices[0].multiprocessors, 132);
  EXPECT_EQ(devices[0].memoryBytes, size_t(140) << 30);
  EXPECT_EQ(devices[0].sharedBytesPerBlock, 227 * 1024);
  EXPECT_EQ(devices[0].l2Bytes, 50 << 20);
  EXPECT_DOUBLE_EQ(devices[0].clockGHz, 1.98);
  EXPECT_NEAR(devices[0].memoryGBPerSecond, 4916.7, 0.1);
  EXPECT_EQ(fakeDriver().version(), "12.4");
  EXPECT_ERROR(fakeDriver().device(2), "expected a CUDA device from 0 to 1, got 2");
  EXPECT_ERROR(fakeDriver().device(-1), "got -1");
}

TEST_F(DriverTest, ErrorsNameTheCallAndItsContext) {
  fakeCUDA().failNext("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  try {
    const DeviceBuffer buffer(fakeDriver(), 1, 4096, "q");
    FAIL() << "allocated";
  } catch (const StatusError &error) {
    EXPECT_EQ(error.status, FLASHC_ERROR_MEMORY);
    EXPECT_STREQ(error.what(),
                 "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY for 4096 bytes of q on device 1");
  }
  const Stream stream(fakeDriver(), 0);
  fakeCUDA().failNext("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
  try {
    stream.synchronize();
    FAIL() << "succeeded";
  } catch (const StatusError &error) {
    EXPECT_EQ(error.status, FLASHC_ERROR_DEVICE);
    EXPECT_STREQ(error.what(), "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS on device 0; it "
                               "may come from an earlier launch");
  }
  EXPECT_EQ(fakeDriver().nameOf(12345), "CUDA error 12345");
}

TEST_F(DriverTest, ContextsAreRetainedOnceAndRestored) {
  const Driver &driver = fakeDriver();
  const auto current = [&] {
    CUcontext context = nullptr;
    driver.cuCtxGetCurrent(&context);
    return context;
  };
  EXPECT_EQ(current(), nullptr);
  {
    const ContextScope outer(driver, 1);
    EXPECT_EQ(current(), fakeCUDA().context(1));
    {
      const ContextScope inner(driver, 0);
      EXPECT_EQ(current(), fakeCUDA().context(0));
      const ContextScope again(driver, 0);
    }
    EXPECT_EQ(current(), fakeCUDA().context(1));
  }
  EXPECT_EQ(current(), nullptr);
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&] { const ContextScope scope(driver, 1); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeCUDA().numRetained(1), 1);
}

TEST_F(DriverTest, BuffersCopyAndFill) {
  std::vector<std::byte> host(100, std::byte{7}), back(100);
  DeviceBuffer buffer(fakeDriver(), 1, 100, "q");
  buffer.copyFrom(host);
  buffer.copyTo(back);
  EXPECT_EQ(back, host);
  buffer.fill(std::byte{0xff});
  buffer.copyTo(back);
  EXPECT_EQ(back[99], std::byte{0xff});
  EXPECT_ERROR(buffer.copyFrom(std::span(host).first(99)), "expected 100 bytes");
  DeviceBuffer nothing(fakeDriver(), 0, 0, "q");
  EXPECT_EQ(nothing.data(), nullptr);
  nothing.copyFrom({});
  nothing.fill(std::byte{1});
}

TEST_F(DriverTest, AGateHoldsUpAndLetsGo) {
  const ContextScope context(fakeDriver(), 0);
  const Stream stream(fakeDriver(), 0);
  {
    Gate gate(fakeDriver(), stream);
    gate.open();
    stream.synchronize();
  }
  // Left closed, as by an exception, it opens at the end of its scope.
  {
    Gate gate(fakeDriver(), stream);
  }
  fakeCUDA().failNext("cuLaunchHostFunc", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR(Gate(fakeDriver(), stream), "cuLaunchHostFunc: CUDA_ERROR_INVALID_VALUE");
}

TEST(Target, SaysWhatADeviceMustHave) {
  ASSERT_TRUE(parseTarget("sm_75"));
  EXPECT_EQ(parseTarget("sm_75")->least, (Capability{7, 5}));
  EXPECT_EQ(parseTarget("sm_120")->least, (Capability{12, 0}));
  EXPECT_EQ(parseTarget("sm_90a")->suffix, 'a');
  for (const char *name : {"", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_-90", "x86-64-v3", "cuda"})
    EXPECT_FALSE(parseTarget(name)) << name;
  EXPECT_TRUE(canRun({8, 6}, "sm_80"));
  EXPECT_TRUE(canRun({9, 0}, "sm_80"));
  EXPECT_FALSE(canRun({7, 5}, "sm_80"));
  EXPECT_TRUE(canRun({9, 0}, "sm_90a"));
  EXPECT_FALSE(canRun({10, 0}, "sm_90a"));
  EXPECT_TRUE(canRun({10, 3}, "sm_100f"));
  EXPECT_FALSE(canRun({12, 0}, "sm_100f"));
  EXPECT_FALSE(canRun({9, 0}, "x86-64-v3"));
  for (const TargetInfo &target : allTargets())
    EXPECT_EQ(parseTarget(target.name).has_value(), target.kind == TargetKind::GPU) << target.name;
}

TEST(Target, TheBestIsTheLastThatRuns) {
  std::vector<TargetInfo> targets(allTargets().begin(), allTargets().end());
  const auto best = [&](int major, int minor) {
    const TargetInfo *target = bestTarget({major, minor}, targets);
    return target ? std::string(target->name) : "none";
  };
  EXPECT_EQ(best(7, 0), "none");
  EXPECT_EQ(best(7, 5), "sm_75");
  EXPECT_EQ(best(8, 0), "sm_80");
  EXPECT_EQ(best(8, 6), "sm_86");
  EXPECT_EQ(best(8, 7), "sm_86");
  EXPECT_EQ(best(9, 0), "sm_90a");
  EXPECT_EQ(best(10, 3), "sm_100");
  EXPECT_EQ(best(12, 1), "sm_120");
  std::erase_if(targets, [](const TargetInfo &target) { return target.name == "sm_90a"; });
  EXPECT_EQ(best(9, 0), "sm_90");
}

TEST_F(DriverTest, TargetsAreCheckedAgainstTheDevicesHere) {
  EXPECT_NO_THROW(checkRunsHere("sm_90"));
  EXPECT_NO_THROW(checkRunsHere("sm_80", 1));
  EXPECT_ERROR(checkRunsHere("sm_90", 1),
               "expected a GPU of compute capability 9.0 or later for target sm_90, got Fake GPU 1 "
               "(device 1, compute capability 8.0)");
  EXPECT_ERROR(checkRunsHere("sm_100a"), "of compute capability 10.0 for target sm_100a, got Fake "
                                         "GPU 0 (device 0, compute capability 9.0), Fake GPU 1");
  EXPECT_ERROR(checkRunsHere("sm_80", 7), "expected a CUDA device from 0 to 1, got 7");
}

} // namespace
