//===- Variants.h - the ways in which each semantic rule is tested -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What attention means does not depend on strategy, schedule or target, so every rule is tested on several.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_INTEGRATION_CPU_VARIANTS_H
#define FLASHC_TEST_INTEGRATION_CPU_VARIANTS_H

#include "test/Support/AttentionCase.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace flashc::test {

struct Variant {
  const char *name;
  DType type; ///< of tests that are about no type
  Strategy strategy = Strategy::Online;
  const char *schedule = "";
  const char *target = "";
  int64_t queries = 0;
};

inline void PrintTo(const Variant &variant, std::ostream *os) { *os << variant.name; }

inline const Variant kVariants[] = {
    {"Online", DType::F32},
    {"Standard", DType::F32, Strategy::Standard},
    {"SmallTiles", DType::F16, Strategy::Online, "tile=[6,16],micro=[6,16]", "x86-64-v3"},
    {"Paper", DType::F32, Strategy::Online, "paper", "x86-64-v4"},
    {"BF16Dots", DType::BF16, Strategy::Online, "", "x86-64-v4-bf16"},
    {"AMX", DType::BF16, Strategy::Online, "", "x86-64-amx"},
    {"Decode", DType::BF16, Strategy::Online, "", "", 1},
    {"Split", DType::F32, Strategy::Online, "tile=[4,16],micro=[2,16],rows=heads,split=32",
     "x86-64-v3"},
};

/// Those of some names, for rules that the others cannot break.
inline std::vector<Variant> variants(const std::vector<std::string> &names) {
  std::vector<Variant> result;
  for (const Variant &variant : kVariants)
    if (std::ranges::find(names, variant.name) != names.end())
      result.push_back(variant);
  return result;
}

inline std::string nameOfVariant(const testing::TestParamInfo<Variant> &info) {
  return info.param.name;
}

class VariantTest : public testing::TestWithParam<Variant> {
protected:
  void SetUp() override {
    if (!canRunTarget(GetParam().target))
      GTEST_SKIP() << "this machine has no " << GetParam().target;
  }

  static DType type() { return GetParam().type; }

  /// The variant that is tested in full.
  static bool isMain() { return GetParam().name == std::string("Online"); }

  /// The types that a test about types is for.
  static std::vector<DType> types() {
    return isMain() ? std::vector{DType::F32, DType::BF16, DType::F16} : std::vector{type()};
  }

  /// Whether this variant takes item `n` of a list whose items need a compilation each: the main one takes
  /// all, the others share them out.
  static bool takes(int n) {
    auto isThis = [](const Variant &variant) {
      return GetParam().name == std::string(variant.name);
    };
    auto number = std::ranges::find_if(kVariants, isThis) - kVariants; // the main one is 0
    return isMain() || n % (std::ssize(kVariants) - 1) == number - 1;
  }

  /// A case of this variant.
  AttentionCase make(DType type, int64_t d, int64_t batch, int64_t sq, int64_t sk, int64_t hq = 1,
                     int64_t hkv = 1) const {
    AttentionCase c = makeCase(type, d, d, batch, sq, sk, hq, hkv);
    c.desc.strategy = GetParam().strategy;
    c.desc.schedule = GetParam().schedule;
    c.desc.target = GetParam().target;
    c.desc.queries = GetParam().queries;
    return c;
  }

  static CaseOutcome expectPass(const AttentionCase &c) {
    CaseOutcome outcome = runCase(c);
    EXPECT_TRUE(outcome.passed) << outcome.message << "\n" << c.describe();
    return outcome;
  }
};

} // namespace flashc::test

#endif // FLASHC_TEST_INTEGRATION_CPU_VARIANTS_H
