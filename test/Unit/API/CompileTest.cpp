//===- CompileTest.cpp - compiling through a provider -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A fake compiler stands in: it gives TestKernel.c's object, or refuses.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelCache.h"
#include "runtime/API/Provider.h"
#include "runtime/API/Status.h"
#include "test/Unit/API/TestSupport.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {

std::atomic<int> compilations, unfreed;
std::mutex lastMutex;
std::string lastRequest;

void fill(flashc_buffer *buffer, const void *data, size_t size) {
  *buffer = {std::malloc(size), size};
  std::memcpy(buffer->data, data, size);
  ++unfreed;
}

int32_t fakeCompile(const char *json, size_t size, flashc_buffer *object, flashc_buffer *error) {
  ++compilations;
  const std::string request(json, size);
  {
    const std::lock_guard lock(lastMutex);
    lastRequest = request;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (AttentionDesc::fromJson(request).headDim == 13) {
    fill(error, "13 is unlucky", 13);
    return 1;
  }
  const std::vector<std::byte> bytes = readBytes(TEST_KERNEL_OBJECT);
  fill(object, bytes.data(), bytes.size());
  return 0;
}

void fakeFree(flashc_buffer *buffer) {
  unfreed -= buffer->data != nullptr;
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

const char *fakeVersion() { return "fake"; }

// The outcome must not depend on the machine's GPUs.
const bool hasNoDriver = setenv("FLASHC_LIBCUDA", "libcuda-none.so.1", 1) == 0;

class Compile : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(hasNoDriver);
    registerCompilerProvider({fakeVersion, fakeCompile, fakeFree});
    compilations = 0;
  }
  void TearDown() override { EXPECT_EQ(unfreed, 0) << "a compiler's buffer was not freed"; }

  static AttentionDesc describe(int64_t headDim) {
    AttentionDesc desc;
    desc.headDim = headDim;
    return desc;
  }

  static flashc_status statusOf(const AttentionDesc &desc) {
    try {
      compileKernel(desc);
    } catch (const StatusError &error) {
      return error.status;
    } catch (const Error &) {
      return FLASHC_ERROR_INVALID;
    }
    return FLASHC_OK;
  }
};

TEST_F(Compile, EqualDescriptionsShareOneKernel) {
  const auto first = compileKernel(describe(16));
  EXPECT_EQ(compilations, 1);
  AttentionDesc cpu = describe(16);
  cpu.target = "cpu";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(compileKernel(describe(16)), first);
  EXPECT_EQ(compileKernel(cpu), first);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10));
  EXPECT_EQ(compilations, 1);
  EXPECT_NE(compileKernel(describe(17)), first);
  EXPECT_EQ(compilations, 2);
}

TEST_F(Compile, ThreadsThatAskTogetherShareOneCompilation) {
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Kernel>> kernels(8);
  for (auto &kernel : kernels)
    threads.emplace_back([&kernel] { kernel = compileKernel(describe(18)); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compilations, 1);
  for (const auto &kernel : kernels)
    EXPECT_EQ(kernel, kernels[0]);
}

TEST_F(Compile, TheRequestNamesTheTarget) {
  compileKernel(describe(19));
  const AttentionDesc request = AttentionDesc::fromJson(lastRequest);
  EXPECT_THAT(request.target, testing::StartsWith("x86-64-"));
  EXPECT_EQ(request.headDim, 19);
}

TEST_F(Compile, FailuresAreToldAndNotKept) {
  EXPECT_EQ(statusOf(describe(13)), FLASHC_ERROR_COMPILE);
  EXPECT_ERROR(compileKernel(describe(13)), "13 is unlucky");
  EXPECT_EQ(compilations, 2);
}

TEST_F(Compile, BadDescriptionsNeverReachTheCompiler) {
  EXPECT_EQ(statusOf(describe(0)), FLASHC_ERROR_INVALID);
  AttentionDesc desc = describe(20);
  desc.target = "pdp-11";
  EXPECT_EQ(statusOf(desc), FLASHC_ERROR_INVALID);
  EXPECT_ERROR(compileKernel(desc), "x86-64-v3");
  desc.target = "sm_90a";
  EXPECT_EQ(statusOf(desc), FLASHC_ERROR_UNSUPPORTED);
  EXPECT_EQ(compilations, 0);
}

TEST_F(Compile, TheCacheIsBounded) {
  const std::weak_ptr<const Kernel> old = compileKernel(describe(21));
  EXPECT_FALSE(old.expired());
  // The sleep of the fake makes this loop's 256 compilations worth spreading.
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([t] {
      for (int n = 0; n < 8; ++n)
        compileKernel(describe(100 + t * 8 + n));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(old.expired());
}

} // namespace
