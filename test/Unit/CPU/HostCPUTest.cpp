//===- HostCPUTest.cpp - detection of the host's features -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/HostCPU.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace flashc;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(HostCPU, HasABrandAndAvx2) {
  EXPECT_FALSE(HostCPU::get().brand().empty());
  EXPECT_TRUE(HostCPU::get().hasFeature("avx2"));
  EXPECT_FALSE(HostCPU::get().hasFeature("avx9"));
}

/// The compiler's own detection is independent of ours.
TEST(HostCPU, AgreesWithTheCompilersDetection) {
  __builtin_cpu_init();
  const HostCPU &host = HostCPU::get();
  EXPECT_EQ(host.hasFeature("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(host.hasFeature("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(host.hasFeature("bmi2"), bool(__builtin_cpu_supports("bmi2")));
  EXPECT_EQ(host.hasFeature("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(host.hasFeature("avx512vl"), bool(__builtin_cpu_supports("avx512vl")));
  EXPECT_EQ(host.hasFeature("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16")));
}

TEST(HostCPU, NamesMissingFeatures) {
  const std::string_view required[] = {"avx2", "warp-drive", "fma"};
  EXPECT_THAT(HostCPU::get().missingFeatures(required), ElementsAre("warp-drive"));
  EXPECT_THAT(HostCPU::get().missingFeatures({}), IsEmpty());
}

TEST(HostCPU, BestTargetRunsAndHasSchedules) {
  const TargetInfo &best = bestHostTarget();
  EXPECT_TRUE(HostCPU::get().canRun(best));
  EXPECT_TRUE(best.isSupported);
  EXPECT_THAT(HostCPU::get().missingFeatures(best.requiredFeatures), IsEmpty());
  EXPECT_FALSE(HostCPU::get().canRun(*lookupTarget("sm_80")));
}

TEST(HostCPU, TilesAreUsableWhereDetected) {
  const TargetInfo &amx = *lookupTarget("x86-64-amx");
  if (!HostCPU::get().canRun(amx))
    GTEST_SKIP() << "no AMX here";
  EXPECT_THAT(HostCPU::get().missingFeatures(amx.requiredFeatures), IsEmpty());
}

TEST(HostCPU, CountsProcessors) { EXPECT_GE(hardwareConcurrency(), 1); }
