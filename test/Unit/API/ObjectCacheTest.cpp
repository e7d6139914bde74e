//===- ObjectCacheTest.cpp - what one process compiled, another runs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A compiler that counts stands in; every process is a fork with a fresh cache in memory.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/ObjectCache.h"
#include "runtime/API/KernelCache.h"
#include "runtime/API/Provider.h"
#include "test/Unit/API/TestSupport.h"
#include "test/Unit/Cache/CacheTestSupport.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/stat.h>

using namespace flashc;
using namespace flashc::test;

namespace {

int compilations = 0;

int32_t countedCompile(const char *, size_t, flashc_buffer *object, flashc_buffer *) {
  ++compilations;
  static const auto bytes = flashc::test::readBytes(TEST_KERNEL_OBJECT);
  *object = {std::malloc(bytes.size()), bytes.size()};
  std::memcpy(object->data, bytes.data(), bytes.size());
  return 0;
}

void freeBuffer(flashc_buffer *buffer) { std::free(buffer->data); }

AttentionDesc describe(int64_t headDim = 16) {
  AttentionDesc desc;
  desc.headDim = headDim;
  return desc;
}

class ObjectCache : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("FLASHC_LIBCUDA", "libcuda-none.so.1", 1);
    ::setenv("FLASHC_CACHE_DIR", scratch.path("cache").c_str(), 1);
    ::unsetenv("FLASHC_CACHE_SIZE");
  }

  /// How many compilations a process with the compiler `identity` needs for `desc`.
  static int compilationsFor(const AttentionDesc &desc, const std::string &identity) {
    return inChild([&] {
      registerCompilerProvider({[] { return "counted"; }, countedCompile, freeBuffer, identity});
      compileKernel(desc);
      compileKernel(desc);
      return compilations;
    });
  }

  const ScratchDirectory scratch;
};

TEST_F(ObjectCache, ASecondProcessDoesNotCompile) {
  EXPECT_EQ(compilationsFor(describe(), "a"), 1);
  EXPECT_EQ(compilationsFor(describe(), "a"), 0);
  AttentionDesc cpu = describe();
  cpu.target = "cpu";
  EXPECT_EQ(compilationsFor(cpu, "a"), 0);
}

TEST_F(ObjectCache, ASecondProcessDoesNotEvenOpenTheCompiler) {
  // The file has a build id, but is no compiler: opening it would fail.
  ::setenv("FLASHC_LIBRARY", "/proc/self/exe", 1);
  const std::string identity = compilerIdentity();
  ASSERT_NE(identity, "");
  EXPECT_EQ(compilationsFor(describe(), identity), 1);
  EXPECT_EQ(inChild([] {
              compileKernel(describe());
              return 0;
            }),
            0);
  ::unsetenv("FLASHC_LIBRARY");
}

TEST_F(ObjectCache, AnotherCompilerMisses) {
  EXPECT_EQ(compilationsFor(describe(), "a"), 1);
  EXPECT_EQ(compilationsFor(describe(), "b"), 1);
  EXPECT_EQ(compilationsFor(describe(), ""), 1);
  EXPECT_EQ(compilationsFor(describe(), ""), 1); // not kept
  EXPECT_EQ(compilationsFor(describe(), "a"), 0);
}

TEST_F(ObjectCache, EveryFieldMattersToTheKey) {
  const auto object = [&](const AttentionDesc &desc) {
    return objectFor(desc, "a", [] { return ObjectBytes(1); });
  };
  AttentionDesc desc = describe(64);
  desc.target = "sm_80";
  EXPECT_FALSE(object(desc).isFromCache);
  EXPECT_TRUE(object(desc).isFromCache);
  std::map<std::string, std::string> others = {
      {"name", "other"},   {"dtype", "bf16"},        {"head-dim", "65"},
      {"value-dim", "32"}, {"scale", "0.5"},         {"causal", "top-left"},
      {"window", "3,4"},   {"softcap", "2"},         {"bias", "f32"},
      {"score", "s + 1"},  {"mask", "i > j"},        {"captures", "x:f32:1"},
      {"packed", "i32"},   {"seqused-k", "i64"},     {"page-table", "i32"},
      {"queries", "1"},    {"strategy", "standard"}, {"schedule", "tile=[64,64]"},
      {"target", "sm_90"}, {"group-size", "20"}};
  for (const AttentionField &field : attentionFields()) {
    AttentionDesc other = desc;
    if (field.kind == FieldKind::Flag)
      other.set(field.key, "true");
    else if (const auto found = others.find(field.key); found != others.end())
      other.set(field.key, found->second);
    ASSERT_NE(other, desc) << field.key << ": this test needs another value for it";
    EXPECT_FALSE(object(other).isFromCache) << field.key;
    EXPECT_TRUE(object(other).isFromCache) << field.key;
  }
}

TEST_F(ObjectCache, WorksWithoutACache) {
  const auto twice = [](const std::function<void()> &prepare) {
    for (int n = 0; n < 2; ++n)
      EXPECT_EQ(inChild([&] {
                  prepare();
                  registerCompilerProvider(
                      {[] { return "counted"; }, countedCompile, freeBuffer, "a"});
                  compileKernel(describe());
                  return compilations;
                }),
                1);
  };
  twice([] { // no home
    for (const char *name : {"FLASHC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
      ::unsetenv(name);
  });
  twice([] { ::setenv("FLASHC_CACHE_SIZE", "0", 1); });
  twice([] { ::setenv("FLASHC_CACHE_SIZE", "lots", 1); });
  const std::string file = scratch.write("file", "");
  twice([&] { ::setenv("FLASHC_CACHE_DIR", file.c_str(), 1); });
  twice([] { ::setenv("FLASHC_CACHE_DIR", "/proc/none", 1); });
}

TEST_F(ObjectCache, CodeFromAFolderThatAnyoneWritesToIsNotRun) {
  EXPECT_EQ(compilationsFor(describe(), "a"), 1);
  ASSERT_EQ(::chmod(scratch.path("cache").c_str(), 0777), 0);
  EXPECT_EQ(compilationsFor(describe(), "a"), 1);
  ASSERT_EQ(::chmod(scratch.path("cache").c_str(), 0700), 0);
  EXPECT_EQ(compilationsFor(describe(), "a"), 0);
}

} // namespace
