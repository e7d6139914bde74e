//===- CubinLoaderTest.cpp - from the compiler's PTX to a cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What a cubin depends on is in its key, and nothing is compiled twice.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/Cache/DiskCache.h"
#include "test/Unit/CUDA/ToolkitSupport.h"

using namespace flashc;
using namespace flashc::test;
using ::testing::HasSubstr;

namespace {

const CudaSource second = {
    "second.cu", "extern \"C\" __global__ void second(int *to) { *to = 1; }", {}, {}};

TEST(CubinLoaderTest, KeepsWhatItMakes) {
  FLASHC_NEED_TOOLKIT();
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), uint64_t(1) << 30);
  const std::string ptx = kernelPTX("sm_80");
  const auto cubin = cubinFor(ptx, "sm_80", 13000, {}, cache);
  EXPECT_THAT(asText(cubin), HasSubstr(".text.attention"));
  EXPECT_EQ(cubinFor(ptx, "sm_80", 13000, {}, cache), cubin);
  auto entries = cache.list(true);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].description, "cubin sm_80 attention");

  // A planted payload shows that the second call reads the file.
  cache.store(entries[0].key, "", asBytes("planted"));
  EXPECT_EQ(asText(cubinFor(ptx, "sm_80", 13000, {}, cache)), "planted");
  // A damaged one is made again.
  scratch.write("c/" + entries[0].key + ".entry", "bad");
  EXPECT_EQ(cubinFor(ptx, "sm_80", 13000, {}, cache), cubin);
}

TEST(CubinLoaderTest, TheKeyCoversEveryInput) {
  FLASHC_NEED_TOOLKIT();
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), uint64_t(1) << 30);
  const std::string ptx = kernelPTX("sm_80");
  const auto cubins = [&] {
    size_t count = 0;
    for (const auto &entry : cache.list(false))
      count += entry.description.starts_with("cubin");
    return count;
  };
  CudaSource other = second, optioned = second, headed = second;
  other.text += "\n";
  optioned.options = {"-DX=1"};
  headed.headers = {{"x.h", ""}};
  cubinFor(ptx, "sm_80", 13000, {}, cache);
  cubinFor(ptx + "\n", "sm_80", 13000, {}, cache);
  cubinFor(ptx, "sm_86", 13000, {}, cache);
  cubinFor(ptx, "sm_80", 13010, {}, cache);
  EXPECT_EQ(cubins(), 4u);
  for (const CudaSource &source : {second, other, optioned, headed})
    cubinFor(ptx, "sm_80", 13000, {&source, 1}, cache);
  EXPECT_EQ(cubins(), 8u);
  const auto alone = cubinFor("", "sm_80", 13000, {&second, 1}, cache);
  EXPECT_THAT(asText(alone), HasSubstr(".text.second"));
  EXPECT_EQ(cubins(), 9u);
  // second.cu was compiled once for three cubins.
  size_t sources = 0;
  for (const auto &entry : cache.list(false))
    sources += entry.description == "ptx sm_80 second.cu";
  EXPECT_EQ(sources, 4u);
}

TEST(CubinLoaderTest, WorksWithoutACache) {
  FLASHC_NEED_TOOLKIT();
  std::string reason;
  EXPECT_TRUE(canMakeCubins(reason)) << reason;
  const auto cubin = cubinFor(kernelPTX("sm_80"), "sm_80", 13000, {&second, 1}, DiskCache("", 0));
  EXPECT_THAT(asText(cubin), HasSubstr(".text.second"));
}

TEST(CubinLoaderTest, ErrorsAreNotKept) {
  FLASHC_NEED_TOOLKIT();
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), uint64_t(1) << 30);
  for (int n = 0; n < 2; ++n)
    EXPECT_THROW(cubinFor("not PTX", "sm_80", 13000, {}, cache), Error);
  EXPECT_THROW(cubinFor("", "sm_80", 13000, {}, cache), Error);
  EXPECT_TRUE(cache.list(true).empty());
}

using CubinLoaderDeathTest = ::testing::Test;

TEST(CubinLoaderDeathTest, SaysWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("FLASHC_CUDA_PATH", "/nonexistent", 1);
        std::string reason;
        if (!canMakeCubins(reason))
          std::fprintf(stderr, "%s\n", reason.c_str());
        try {
          cubinFor(kernelPTX("sm_80"), "sm_80", 0);
        } catch (const Error &error) {
          std::fprintf(stderr, "%s\n", error.what());
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(0),
      "expected the program ptxas of the CUDA toolkit, got none[^\n]*\n"
      "expected libnvJitLink.so.13 of the CUDA toolkit, got none");
}

} // namespace
