//===- DevicesTest.cpp - several GPUs in one process ------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Kernels run where their tensors are, through the interface of programs: from many threads
// at once, whatever device is current in a thread. With GPUs this is GPUDevicesTest, with the
// stand-in for the driver CUDADevicesTest.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Resources.h"
#include "test/Unit/CUDA/DeviceSamples.h"
// The last: what has the same name there and in the headers above must not meet in them.
#include "runtime/API/flashc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <latch>
#include <optional>
#include <thread>

using namespace flashc::cuda;
using flashc::test::DeviceSample;
using flashc::test::DeviceSamples;

namespace {

size_t bytesOf(const std::vector<int64_t> &shape, DLDataType type) {
  size_t bytes = type.bits / 8;
  for (int64_t extent : shape)
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

/// A sample's tensors and workspace on one device, o full of NaN.
class Call {
public:
  Call(const Driver &driver, const flashc::Kernel &kernel, const DeviceSample &sample, int device)
      : sample(sample), device(device), kernel(kernel) {
    for (const DeviceSample::Input &input : sample.inputs)
      add(driver, input.name, input.shape).copyFrom(input.bytes);
    output = &add(driver, "o", sample.outputShape);
    output->fill(std::byte{0xff});
    const size_t bytes = kernel.workspaceSize(tensors);
    workspace = &buffers.emplace_back(driver, device, bytes, "the workspace");
  }

  void run(const Stream *stream) const { run(tensors, workspace, stream); }

  void run(const flashc::Tensors &mixed, const DeviceBuffer *itsWorkspace,
           const Stream *stream) const {
    flashc::RunOptions options;
    options.workspace = itsWorkspace->data();
    options.workspaceBytes = itsWorkspace->size();
    options.stream = stream ? stream->get() : nullptr;
    kernel.run(mixed, options);
  }

  /// Once the stream's work is done.
  std::vector<std::byte> result() const {
    std::vector<std::byte> bytes(output->size());
    output->copyTo(bytes);
    return bytes;
  }
  void expectRight() const { EXPECT_EQ(sample.judge(result()), "") << "on device " << device; }

  const DeviceSample &sample;
  const int device;
  flashc::Tensors tensors;
  const DeviceBuffer *workspace = nullptr;

private:
  DeviceBuffer &add(const Driver &driver, const std::string &name,
                    const std::vector<int64_t> &shape) {
    DeviceBuffer &buffer =
        buffers.emplace_back(driver, device, bytesOf(shape, sample.type), "a test");
    DLTensor view{};
    view.data = buffer.data();
    view.device = {kDLCUDA, device};
    view.ndim = static_cast<int>(shape.size());
    view.dtype = sample.type;
    view.shape = const_cast<int64_t *>(shape.data());
    tensors.emplace_back(name, flashc::Tensor(view));
    return buffer;
  }

  const flashc::Kernel kernel;
  std::deque<DeviceBuffer> buffers;
  DeviceBuffer *output = nullptr;
};

class DevicesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string reason;
    driver = Driver::find(reason);
    if (!driver || driver->deviceCount() < 2)
      GTEST_SKIP() << "this machine has " << (driver ? driver->deviceCount() : 0)
                   << " GPUs, and two are needed" << (driver ? "" : ": " + reason);
    static const DeviceSamples all = flashc::test::makeDeviceSamples();
    if (!all.missing.empty())
      GTEST_SKIP() << all.missing;
    for (const DeviceFacts &facts : listDevices(*driver))
      if (canRun(facts.capability, all.target))
        devices.push_back(facts.ordinal);
    if (devices.size() < 2)
      GTEST_SKIP() << "this machine has " << devices.size() << " GPUs that run kernels for "
                   << all.target << ", and two are needed";
    samples = all.samples;
    for (const std::string &object : all.objects)
      kernels.push_back(flashc::Kernel::load(object.data(), object.size()));
  }

  /// The device after `n` in a circle.
  int other(size_t n) const { return devices[(n + 1) % devices.size()]; }

  Call makeCall(size_t sample, int device) const {
    const DeviceSample &chosen = samples[sample % samples.size()];
    return Call(*driver, kernels[chosen.kernel], chosen, device);
  }

  CUcontext current() const {
    CUcontext context = nullptr;
    driver->check(driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    return context;
  }

  /// Runs `body` with its number in so many threads, which begin together.
  template <typename Body> static void inThreads(size_t count, Body body) {
    std::latch start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::thread> threads;
    for (size_t n = 0; n < count; ++n)
      threads.emplace_back([&, n] {
        start.arrive_and_wait();
        try {
          body(n);
        } catch (const std::exception &error) {
          ADD_FAILURE() << "thread " << n << ": " << error.what();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// Queues `rounds` calls on every device in turn, without waiting, and then looks at all of them.
  void mixDevices(size_t seed, size_t rounds) const {
    std::deque<Stream> streams;
    for (int device : devices)
      streams.emplace_back(*driver, device);
    std::deque<Call> calls;
    for (size_t round = 0; round < rounds; ++round)
      for (size_t n = 0; n < devices.size(); ++n) {
        const ContextScope wrong(*driver, other(n));
        const CUcontext before = current();
        // Now and then the device's default stream.
        const bool isDefault = (seed + round) % 3 == 2;
        calls.push_back(makeCall(seed + round + n, devices[n]));
        calls.back().run(isDefault ? nullptr : &streams[n]);
        EXPECT_EQ(current(), before) << "a run leaves the thread's context alone";
      }
    for (int device : devices) {
      const ContextScope context(*driver, device);
      driver->check(driver->cuCtxSynchronize(), "cuCtxSynchronize");
    }
    for (const Call &call : calls)
      call.expectRight();
  }

  const Driver *driver = nullptr;
  std::vector<int> devices;
  std::vector<DeviceSample> samples;
  std::vector<flashc::Kernel> kernels; ///< fresh in every test: threads load them together
};

TEST_F(DevicesTest, OneDevicePerThread) {
  constexpr size_t rounds = 8;
  inThreads(4 * devices.size(), [&](size_t thread) {
    const size_t at = thread % devices.size();
    const Stream stream(*driver, devices[at]);
    // Half of the threads have no current device, the others another than their tensors'.
    std::optional<ContextScope> wrong;
    if (thread / devices.size() % 2)
      wrong.emplace(*driver, other(at));
    const CUcontext before = current();
    for (size_t round = 0; round < rounds; ++round) {
      const Call call = makeCall(thread + round, devices[at]);
      call.run(&stream);
      EXPECT_EQ(current(), before) << "a run leaves the thread's context alone";
      stream.synchronize();
      call.expectRight();
    }
  });
}

TEST_F(DevicesTest, AllDevicesInOneThread) { mixDevices(0, 6); }

TEST_F(DevicesTest, AllDevicesInEveryThread) {
  inThreads(8, [&](size_t thread) { mixDevices(thread, 4); });
}

TEST_F(DevicesTest, PreparedDevicesAreIndependent) {
  for (const flashc::Kernel &kernel : kernels)
    kernel.prepare(devices.back());
  for (int device : devices)
    for (size_t n = 0; n < samples.size(); ++n) {
      const Stream stream(*driver, device);
      const Call call = makeCall(n, device);
      call.run(&stream);
      stream.synchronize();
      call.expectRight();
    }
}

TEST_F(DevicesTest, TensorsOfTwoDevicesAreRefused) {
  const auto expectRefused = [](const std::string &message, auto run) {
    try {
      run();
      ADD_FAILURE() << "expected an error like '" << message << "', got none";
    } catch (const flashc::v1::Error &error) {
      EXPECT_EQ(error.status, FLASHC_ERROR_INVALID);
      EXPECT_THAT(error.what(), testing::HasSubstr(message));
    }
  };
  const auto text = [](int device) { return std::to_string(device); };
  const int here = devices[0], there = devices[1];
  for (size_t n = 0; n < samples.size(); ++n) {
    const Call call = makeCall(n, here), away = makeCall(n, there);
    const std::vector<std::byte> untouched = call.result();
    for (size_t argument = 1; argument < call.tensors.size(); ++argument) {
      const std::string name = call.tensors[argument].first;
      flashc::Tensors mixed = call.tensors;
      // A tensor that says that it is elsewhere, and one that is and does not say so.
      mixed[argument] = away.tensors[argument];
      expectRefused(name + ": expected a tensor on device " + text(here) + ", as q, got device " +
                        text(there),
                    [&] { call.run(mixed, call.workspace, nullptr); });
      mixed[argument].second = away.tensors[argument].second.on(kDLCUDA, here);
      expectRefused(name + ": expected memory of device " + text(here) + ", got memory of device " +
                        text(there),
                    [&] { call.run(mixed, call.workspace, nullptr); });
    }
    if (call.workspace->size())
      expectRefused("workspace: expected memory of device " + text(here) +
                        ", got memory of device " + text(there),
                    [&] { call.run(call.tensors, away.workspace, nullptr); });
    EXPECT_EQ(call.result(), untouched);
    EXPECT_EQ(away.result(), untouched);

    const Stream stream(*driver, here);
    call.run(&stream);
    stream.synchronize();
    call.expectRight();
  }
}

} // namespace
