//===- KernelTest.cpp - loading and running a kernel object -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The object is TestKernel.c, so that no compiler is needed.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Kernel.h"
#include "runtime/API/Status.h"
#include "test/Unit/API/TestSupport.h"

#include <cstring>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {

/// Tensors for TestKernel.c, with o and lse filled with -1 and q with 0, 1, 2, ... .
struct Call {
  Owned<> q, k, v, o, lse;
  std::vector<std::byte> memory;

  Call(int64_t b, int64_t s, int64_t h)
      : q({b, s, h, 3}, f32), k({b, 2, 1, 3}, f32), v({b, 2, 1, 3}, f32), o({b, s, h, 3}, f32),
        lse({b, h, s}, f32) {
    for (size_t n = 0; n < q.values.size(); ++n)
      q.values[n] = static_cast<float>(n);
    o.values.assign(o.values.size(), -1);
    lse.values.assign(lse.values.size(), -1);
  }

  std::vector<const DLTensor *> tensors() {
    return {q.get(), k.get(), v.get(), o.get(), lse.get()};
  }

  void run(const Kernel &kernel, int threads = 0) {
    const size_t bytes = kernel.workspaceSize(tensors());
    memory.resize(bytes + 64);
    kernel.run(tensors(), workspace(), bytes, threads);
  }

  void *workspace() {
    void *start = memory.data();
    size_t space = memory.size();
    return std::align(64, 1, start, space);
  }
};

const Kernel &testKernel() {
  static const Kernel kernel(readBytes(TEST_KERNEL_OBJECT));
  return kernel;
}

TEST(Kernel, DescribesItself) {
  const KernelInfo &info = testKernel().info();
  EXPECT_EQ(info.name, "test");
  EXPECT_EQ(info.phases, 2);
  EXPECT_EQ(info.scratchBytes, 128u);
  EXPECT_EQ(info.arguments.size(), 5u);
  EXPECT_EQ(info.find("lse"), 4);
  EXPECT_EQ(info.find("bias"), -1);
  EXPECT_TRUE(info.arguments[3].isOutput);
  const std::vector<std::byte> object = readBytes(TEST_KERNEL_OBJECT);
  EXPECT_TRUE(std::equal(object.begin(), object.end(), testKernel().object().begin(),
                         testKernel().object().end()));
}

TEST(Kernel, RunsEveryPointOfEveryPhase) {
  for (int threads : {0, 1, 3}) {
    Call call(2, 50, 4);
    call.run(testKernel(), threads);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t i = 0; i < 50; ++i) {
          const int64_t point = (b * 4 + h) * 50 + i, row = (b * 50 + i) * 4 + h;
          ASSERT_EQ(call.lse.values[point], point);
          for (int64_t d = 0; d < 3; ++d)
            ASSERT_EQ(call.o.values[row * 3 + d], call.q.values[row * 3 + d] + point);
        }
  }
}

TEST(Kernel, HonoursStridesAndOffsets) {
  // q broadcast over the batch and reversed over heads; o as [B, H, S, D].
  Call call(2, 5, 4);
  call.q.strides = {0, 12, -3, 1};
  call.q.byteOffset = 9 * sizeof(float);
  call.o.strides = {60, 3, 15, 1};
  call.run(testKernel());
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t i = 0; i < 5; ++i)
        ASSERT_EQ(call.o.values[b * 60 + h * 15 + i * 3],
                  i * 12 + (3 - h) * 3 + (b * 4 + h) * 5 + i);
}

TEST(Kernel, RunsFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<Call> calls(8, Call(1, 200, 2));
  for (Call &call : calls)
    threads.emplace_back([&call] {
      for (int n = 0; n < 20; ++n)
        call.run(testKernel(), 4);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Call &call : calls)
    for (size_t point = 0; point < call.lse.values.size(); ++point)
      ASSERT_EQ(call.o.values[(point % 200 * 2 + point / 200) * 3],
                call.q.values[(point % 200 * 2 + point / 200) * 3] + float(point));
}

TEST(Kernel, NothingToDoIsDone) {
  for (const auto &[b, s, h] : {std::array{0, 5, 2}, {2, 0, 2}, {2, 5, 0}}) {
    Call call(b, s, h);
    EXPECT_NO_THROW(call.run(testKernel()));
  }
}

TEST(Kernel, ChecksTheWorkspace) {
  Call call(1, 5, 2);
  const size_t bytes = testKernel().workspaceSize(call.tensors());
  EXPECT_EQ(bytes, 80u);
  call.memory.resize(256);
  EXPECT_ERROR(testKernel().run(call.tensors(), nullptr, 0), "a workspace of 80 bytes, got 0");
  EXPECT_ERROR(testKernel().run(call.tensors(), nullptr, 80), "a workspace of 80 bytes, got 0");
  EXPECT_ERROR(testKernel().run(call.tensors(), call.workspace(), 79), "of 80 bytes, got 79");
  void *crooked = static_cast<std::byte *>(call.workspace()) + 8;
  EXPECT_ERROR(testKernel().run(call.tensors(), crooked, 80), "at a multiple of 64");
  EXPECT_ERROR(testKernel().run(call.tensors(), call.workspace(), 80, -1), "number of threads");
  EXPECT_EQ(call.o.values[0], -1) << "a refused run must write nothing";
}

TEST(Kernel, RefusesWhatThisHostCannotRun) {
  try {
    const Kernel kernel(readBytes(TEST_ALIEN_OBJECT));
    FAIL() << "loaded";
  } catch (const StatusError &error) {
    EXPECT_EQ(error.status, FLASHC_ERROR_UNSUPPORTED);
    EXPECT_THAT(error.what(), testing::HasSubstr("without warp-drive"));
  }
}

TEST(Kernel, RefusesDamagedObjects) {
  const std::vector<std::byte> object = readBytes(TEST_KERNEL_OBJECT);
  EXPECT_THROW(Kernel(std::span<const std::byte>()), Error);
  EXPECT_THROW(Kernel(std::span(object).first(object.size() / 2)), Error);
}

TEST(KernelInfo, RefusesWhatItDoesNotUnderstand) {
  const std::string good = testKernel().json();
  const auto replaced = [&](const char *from, const char *to) {
    std::string text = good;
    text.replace(text.find(from), std::strlen(from), to);
    return text;
  };
  EXPECT_NO_THROW(KernelInfo::parse(good));
  EXPECT_ERROR(KernelInfo::parse("{}"), "kernel object: expected a description");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"abi\":2", "\"abi\":1")), "expected version 2");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"phases\":2", "\"phases\":0")), "expected phases");
  EXPECT_ERROR(KernelInfo::parse(replaced(":128", ":-128")), "expected scratch_bytes");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"f32\"", "\"f33\"")), "expected an element type");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"k\"", "\"K\"")), "expected an argument k");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"k\"", "\"q\"")), "expected an argument k");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"lse\"", "\"alibi\"")), "expected rank 1 for alibi");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"rank\":4", "\"rank\":5")), "as many extents");
  EXPECT_ERROR(KernelInfo::parse(replaced("output", "outlet")), "role input or output");
  // Numbers that no 64-bit integer is.
  EXPECT_ERROR(KernelInfo::parse(replaced("\"abi\":2", "\"abi\":1e82")),
               "expected a 64-bit integer for abi");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"phases\":2", "\"phases\":2.5")), "integer for phases");
  EXPECT_ERROR(KernelInfo::parse(replaced("\"rank\":4", "\"rank\":4.5")),
               "integer for the rank of q");
  EXPECT_ERROR(KernelInfo::parse(replaced("[-1,", "[-16666666666666666666666,")),
               "integer for each extent of q");
  EXPECT_ERROR(KernelInfo::parse(replaced("[-1,", "[18446744073709551615,")), "another number");
}

} // namespace
