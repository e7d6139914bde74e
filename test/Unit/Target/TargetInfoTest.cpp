//===- TargetInfoTest.cpp - the table of machine facts -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Target/TargetInfo.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace flashc;

TEST(TargetInfo, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const TargetInfo &target : allTargets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_EQ(lookupTarget(target.name), &target);
  }
  for (const char *name : {"x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-amx", "sm_75",
                           "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(lookupTarget("x86-64-v5"), nullptr);
  EXPECT_EQ(lookupTarget(""), nullptr);
  EXPECT_EQ(lookupTarget("cpu"), nullptr);
}

TEST(TargetInfo, CPUTargetsHaveVectorsAndEachLevelNeedsAllOfTheOneBelow) {
  const TargetInfo *below = nullptr;
  for (const TargetInfo &target : allTargets()) {
    if (target.kind != TargetKind::CPU)
      continue;
    EXPECT_GE(target.vectorBits, 256);
    EXPECT_EQ(target.vectorLanesF32() * 32, target.vectorBits);
    EXPECT_GT(target.l2Bytes, target.l1Bytes);
    EXPECT_FALSE(target.llvmCPU.empty());
    auto has = [&](std::string_view name) {
      return std::count(target.requiredFeatures.begin(), target.requiredFeatures.end(), name) == 1;
    };
    EXPECT_TRUE(has("avx2") && has("fma"));
    EXPECT_EQ(has("avx512bf16"), target.hasBF16Dot);
    EXPECT_EQ(has("amx-bf16"), target.hasAMX);
    if (below)
      for (std::string_view feature : below->requiredFeatures)
        EXPECT_TRUE(has(feature)) << target.name << " lacks " << feature;
    below = &target;
  }
}

TEST(TargetInfo, ListsNames) {
  std::string names = listTargetNames("|");
  EXPECT_EQ(names.substr(0, 20), "x86-64-v3|x86-64-v4|");
}
