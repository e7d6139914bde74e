//===- ModuleLoaderTest.cpp - who compiles the PTX -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Built twice: with the stand-in for ptxas of CUDA 12, which goes together with
// the driver's CUDA 12.4, and with that of CUDA 13, which does not.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/ModuleLoader.h"
#include "runtime/CUDA/Ptxas.h"
#include "test/Unit/CUDA/FakeDriver.h"

#include <cstdlib>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

constexpr bool ptxasFits = TEST_PTXAS == 12;
// The cache would keep what one test made from the next run.
const bool hasNoCache = setenv("FLASHC_CACHE_SIZE", "0", 1) == 0;

class ModuleLoaderTest : public FakeCUDATest {
protected:
  static CodeMaker load(const std::string &ptx, const std::string &target, int ordinal = 0) {
    EXPECT_TRUE(hasNoCache);
    const ContextScope context(fakeDriver(), ordinal);
    return loadModule(fakeDriver(), readFacts(fakeDriver(), ordinal), ptx, "attention", target)
        .maker;
  }
  static constexpr CodeMaker maker = ptxasFits ? CodeMaker::Ptxas : CodeMaker::Driver;
  const std::string entry = ".entry f(.param .u64 p) { ret; }\n";
};

TEST_F(ModuleLoaderTest, PtxasCompilesForTheDeviceWhereItFits) {
  EXPECT_EQ(load(entry, "sm_80"), maker);
  EXPECT_EQ(fakeCUDA().lastImage(), (ptxasFits ? "cubin for sm_90\n" : "") + entry);
  load(entry, "sm_80", 1);
  EXPECT_EQ(fakeCUDA().lastImage(), (ptxasFits ? "cubin for sm_80\n" : "") + entry);
  load(entry, "sm_90a");
  EXPECT_EQ(fakeCUDA().lastImage(), (ptxasFits ? "cubin for sm_90a\n" : "") + entry);
}

TEST_F(ModuleLoaderTest, TheDriverCompilesWhatPtxasRefuses) {
  const std::string refused = entry + "// refused by ptxas\n";
  EXPECT_EQ(load(refused, "sm_80"), CodeMaker::Driver);
  EXPECT_EQ(fakeCUDA().lastImage(), refused);
  fakeCUDA().failNext("cuModuleLoadDataEx", CUDA_ERROR_INVALID_IMAGE);
  if (ptxasFits) {
    EXPECT_EQ(load(entry, "sm_80"), CodeMaker::Driver);
    EXPECT_EQ(fakeCUDA().lastImage(), entry) << "a cubin that the driver refuses";
  }
}

// Without ptxas, functions that kernels call are linked where ptxas would assemble them apart; all as a whole where the
// driver will not.
TEST_F(ModuleLoaderTest, TheDriverLinksFunctionsBesideKernels) {
  const std::string refused = "// refused by ptxas\n";
  const std::string head = ".visible .func g(\n.param .b64 p\n)";
  const std::string ptx = refused + ".visible .entry f(\n)\n{\nret;\n}\n" + head + "\n{\nret;\n}\n";
  const std::string linked = "linked\n" + refused + ".extern .func g(\n.param .b64 p\n);\n" +
                             ".visible .entry f(\n)\n{\nret;\n}\n" + "registers 255\n" + refused +
                             head + "\n{\nret;\n}\n";
  EXPECT_EQ(load(ptx, "sm_80"), CodeMaker::Driver);
  EXPECT_EQ(fakeCUDA().lastImage(), linked);
  EXPECT_EQ(load(ptx, "sm_80", 1), CodeMaker::Driver); // 8.0
  EXPECT_EQ(fakeCUDA().lastImage(), ptx);
  for (const char *call : {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete"}) {
    fakeCUDA().failNext(call, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(load(ptx, "sm_80"), CodeMaker::Driver);
    EXPECT_EQ(fakeCUDA().lastImage(), ptx) << call;
  }
}

TEST_F(ModuleLoaderTest, WhatAllRefuseIsToldWithEveryReason) {
  EXPECT_ERROR(load("// refused by ptxas\n", "sm_80"),
               "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX for attention (sm_80) on Fake GPU 0: "
               "ptxas: no entry; ptxas was not used (");
  EXPECT_ERROR(load("// refused by ptxas\n", "sm_80"),
               ptxasFits ? "ptxas fatal: refused)"
                         : "its CUDA 13.1 is newer than the driver's 12.4)");
}

TEST_F(ModuleLoaderTest, ACubinThatCameWithThePTXIsTakenWhereItFits) {
  ASSERT_TRUE(hasNoCache);
  const std::string ahead = "cubin made ahead\n" + entry;
  const auto loadWith = [&](const std::string &target, int ordinal) {
    const ContextScope context(fakeDriver(), ordinal);
    const CodeMaker by =
        loadModule(fakeDriver(), readFacts(fakeDriver(), ordinal), entry, "attention", target,
                   std::as_bytes(std::span(ahead.c_str(), ahead.size() + 1)))
            .maker;
    EXPECT_EQ(by, fakeCUDA().lastImage() == ahead ? CodeMaker::Ahead : maker);
    return by == CodeMaker::Ahead;
  };
  EXPECT_TRUE(loadWith("sm_90", 0)); // 9.0
  EXPECT_TRUE(loadWith("sm_90a", 0));
  EXPECT_TRUE(loadWith("sm_80", 1)); // 8.0
  EXPECT_FALSE(loadWith("sm_75", 1));
  EXPECT_FALSE(loadWith("sm_80", 0));
  fakeCUDA().failNext("cuModuleLoadDataEx", CUDA_ERROR_INVALID_IMAGE);
  EXPECT_FALSE(loadWith("sm_90", 0)) << "one that the driver refuses";
}

TEST(CubinVersion, OfTheDriversMajorVersionAndBefore) {
  EXPECT_EQ(
      readRelease("ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release "
                  "12.9, V12.9.86\nBuild cuda_12.9"),
      "12.9");
  EXPECT_EQ(readRelease("release"), "");
  EXPECT_TRUE(loadsCubinsOf("12.0", 12040));
  EXPECT_TRUE(loadsCubinsOf("12.9", 12040));
  EXPECT_TRUE(loadsCubinsOf("12.9", 13000));
  EXPECT_FALSE(loadsCubinsOf("13.0", 12090));
  EXPECT_FALSE(loadsCubinsOf("", 12040));
}

} // namespace
