//===- TemplateLaunchTest.cpp - templates loaded and launched -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// With the stand-in for the driver, and NVRTC for its devices.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/TemplateLaunch.h"
#include "runtime/CUDA/Resources.h"
#include "test/Unit/CUDA/FakeDriver.h"
#include "test/Unit/CUDA/ToolkitSupport.h"

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

const bool cacheIsOff = ::setenv("FLASHC_CACHE_SIZE", "0", 1) == 0;

class TemplateLaunchTest : public FakeCUDATest {};

TEST_F(TemplateLaunchTest, LaunchesAsTheTemplateSays) {
  FLASHC_NEED_TOOLKIT();
  const Stream stream(fakeDriver(), 1);
  for (int round = 0; round < 2; ++round) { // loaded once
    const DeviceTemplate fill(fakeDriver(), 1, instantiateTemplate("Fill", {"bf16"}));
    templates::Fill arguments = {};
    arguments.data = &arguments;
    fill.launch("fill_uniform", 77, arguments, stream.get());
    fill.launch("fill_normal", 0, arguments, stream.get()); // nothing to do
  }
  EXPECT_EQ(fakeCUDA().numLoads(), 1);
  EXPECT_THAT(fakeCUDA().lastImage(), testing::HasSubstr(".target sm_80")); // device 1's
  const std::vector<FakeLaunch> launches = fakeCUDA().launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].entry, "flashc_fill_uniform_bf16");
  EXPECT_EQ(launches[0].device, 1);
  EXPECT_EQ(launches[0].grid, 77u);
  EXPECT_EQ(launches[0].threads, 256u);
  EXPECT_EQ(launches[0].sharedBytes, 0u);
  EXPECT_EQ(launches[0].stream, stream.get());
  EXPECT_EQ(launches[0].parameters.size(), 1u); // one structure by value
}

TEST_F(TemplateLaunchTest, FailuresSayWhich) {
  FLASHC_NEED_TOOLKIT();
  const DeviceTemplate lists(fakeDriver(), 0, instantiateTemplate("BlockLists", {}));
  const templates::BlockLists arguments = {};
  EXPECT_ERROR(lists.launch("fill_normal", 1, arguments, nullptr), "got 'fill_normal'");
  EXPECT_ERROR(lists.launch("block_lists", int64_t(1) << 31, arguments, nullptr),
               "blocks for flashc_block_lists_all, got 2147483648; use smaller tensors");
  fakeCUDA().failNext("cuLaunchKernel", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR(lists.launch("block_lists", 5, arguments, nullptr),
               "flashc_block_lists_all with grid 5");
  EXPECT_ERROR(DeviceTemplate(fakeDriver(), 7, instantiateTemplate("BlockLists", {})), "7");
}

} // namespace
