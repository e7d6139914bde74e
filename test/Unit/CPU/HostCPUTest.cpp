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
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    const TargetInfo &best = bestHostTarget(type);
    EXPECT_TRUE(HostCPU::get().canRun(best));
    EXPECT_THAT(HostCPU::get().missingFeatures(best.requiredFeatures), IsEmpty());
    for (const TargetInfo *target : HostCPU::get().targetsFor(type))
      EXPECT_TRUE(HostCPU::get().canRun(*target));
  }
  EXPECT_FALSE(HostCPU::get().canRun(*lookupTarget("sm_80")));
}

std::vector<std::string_view> namesInOrder(DType type, double dotProductRate) {
  std::vector<std::string_view> names;
  for (const TargetInfo *target : orderTargets(type, dotProductRate))
    names.push_back(target->name);
  return names;
}

TEST(HostCPU, PrefersDotProductsWhereTheyAreFasterThanMultiplyAdds) {
  EXPECT_THAT(namesInOrder(DType::BF16, 2),
              ElementsAre("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-amx"));
  EXPECT_THAT(namesInOrder(DType::BF16, 0.5),
              ElementsAre("x86-64-v3", "x86-64-v4-bf16", "x86-64-v4", "x86-64-amx"));
}

TEST(HostCPU, OrdersOtherTypesByVectorsThenByFeatures) {
  for (DType type : {DType::F32, DType::F16})
    for (double rate : {0.5, 2.0})
      EXPECT_THAT(namesInOrder(type, rate),
                  ElementsAre("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-amx"));
}

TEST(HostCPU, KnowsTheRateOfDotProductsByTheMaker) {
  __builtin_cpu_init();
  EXPECT_EQ(HostCPU::get().dotProductRate(), __builtin_cpu_is("intel") ? 0.5 : 2);
}

TEST(HostCPU, TilesAreUsableWhereDetected) {
  const TargetInfo &amx = *lookupTarget("x86-64-amx");
  if (!HostCPU::get().canRun(amx))
    GTEST_SKIP() << "no AMX here";
  EXPECT_THAT(HostCPU::get().missingFeatures(amx.requiredFeatures), IsEmpty());
}

TEST(HostCPU, CountsProcessors) { EXPECT_GE(hardwareConcurrency(), 1); }
