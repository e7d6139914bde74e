//===- ScoreRangeTest.cpp - scores of any size ----------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Very large, very negative and steeply growing scores, scales and sinks: nothing overflows and no constant
// stands in for minus infinity.
//
//===----------------------------------------------------------------------===//

#include "test/Integration/CPU/Variants.h"

#include <cmath>

using namespace flashc;
using namespace flashc::test;

namespace {

using ScoreRange = VariantTest;
INSTANTIATE_TEST_SUITE_P(Variants, ScoreRange,
                         testing::ValuesIn(variants({"Online", "Standard", "SmallTiles", "BF16Dots",
                                                     "AMX", "Split"})),
                         nameOfVariant);

TEST_P(ScoreRange, OneHugeKey) {
  for (DType type : {DType::BF16, DType::F32})
    for (int64_t sk : {1, 3}) {
      AttentionCase c = make(type, 64, 1, 1, sk);
      c.edit = [](CaseInputs &x) {
        for (auto *values : {&x.q, &x.k, &x.v})
          std::fill(values->begin(), values->end(), 133120.0);
      };
      CaseOutcome outcome = expectPass(c);
      for (double value : outcome.actual.o)
        EXPECT_EQ(value, 133120.0);
      EXPECT_NEAR(outcome.actual.rowMax.at(0), 133120.0 * 133120.0 * 8, 1e5);
    }
}

/// Shifts scores as far as f32 goes. Beyond 2^24 they are all equal.
TEST_P(ScoreRange, VeryNegative) {
  int n = 0;
  for (const char *score :
       {"s - 60000", "s - 1e9", "s - 2e30", "s * 1e-3 - 3e38", "s - 90", "s - 500"})
    for (DType type : types()) {
      if (!takes(n++))
        continue;
      AttentionCase c = make(type, 16, 1, 20, 150);
      c.desc.score = score;
      c.desc.causal = Causal::TopLeft;
      CaseOutcome outcome = expectPass(c);
      for (double lse : outcome.actual.lse)
        EXPECT_LT(lse, -75);
      for (double value : outcome.actual.o)
        EXPECT_TRUE(std::isfinite(value));
    }
}

TEST_P(ScoreRange, VeryLarge) {
  int n = 0;
  for (const char *score : {"s + 60000", "s + 1e9", "s + 2e30", "s + 3e38"}) {
    if (!takes(n++))
      continue;
    AttentionCase c = make(type(), 16, 1, 20, 150);
    c.desc.score = score;
    expectPass(c);
  }
}

/// From inputs instead of an expression: q.k near -5e4 with differences that matter.
TEST_P(ScoreRange, NegativeDotProducts) {
  for (DType type : {DType::F32, DType::BF16}) {
    AttentionCase c = make(type, 64, 1, 20, 150);
    c.edit = [](CaseInputs &x) {
      for (double &value : x.q)
        value = 96 + std::floor(value);
      for (double &value : x.k)
        value = -96 - std::floor(value);
    };
    CaseOutcome outcome = expectPass(c);
    for (double max : outcome.actual.rowMax)
      EXPECT_LT(max, -5e4);
  }
}

TEST_P(ScoreRange, MixedMagnitudes) {
  AttentionCase c = make(type(), 16, 1, 20, 150);
  c.desc.score = "j % 3 == 0 ? s - 1e30 : j % 3 == 1 ? s - 6e4 : s - 200 * float(i % 2)";
  expectPass(c);
  c.desc.mask = "j % 3 == 0 || (j % 3 == 1 && i > 5)";
  expectPass(c);
}

TEST_P(ScoreRange, GrowingAlongKeys) {
  for (DType type : types())
    for (bool falls : {false, true}) {
      AttentionCase c = make(type, 32, 1, 40, 300);
      c.edit = [falls](CaseInputs &x) {
        for (int64_t j = 0; j < 300; ++j)
          for (int64_t d = 0; d < 32; ++d)
            x.k[j * 32 + d] *= 0.25 * (1 + 399 * (falls ? 299 - j : j) / 299.0);
      };
      expectPass(c);
    }
}

TEST_P(ScoreRange, Softcap) {
  for (double cap : {0.5, 30.0, 1e4}) {
    AttentionCase c = make(type(), 16, 1, 40, 100);
    c.desc.softcap = cap;
    c.desc.scale = 1.0;
    c.amplitude = 50; // scores of some 1e4
    expectPass(c);
    c.amplitude = 1e-3; // tanh near 0
    expectPass(c);
  }
}

TEST_P(ScoreRange, Scale) {
  int n = 0;
  for (double scale : {-0.25, 0.0, 1e-6, 3.0}) {
    if (!takes(n++))
      continue;
    AttentionCase c = make(type(), 16, 1, 40, 100);
    c.desc.scale = scale;
    expectPass(c);
    c.desc.causal = Causal::BottomRight;
    expectPass(c);
  }
}

TEST_P(ScoreRange, Sinks) {
  for (double logit : {-200.0, -20.0, 0.0, 20.0, 200.0, 1e5}) {
    AttentionCase c = make(type(), 16, 1, 40, 100, 2, 2);
    c.desc.sinks = true;
    c.edit = [logit](CaseInputs &x) { x.sinks = {logit, 1.0}; };
    CaseOutcome outcome = expectPass(c);
    for (int64_t i = 0; i < 40; ++i)
      EXPECT_LT(outcome.actual.rowMax[i], 10) << "the row max is without the sink";
  }
}

/// Steps are applied in the order scale, softcap, ALiBi, bias, expression, mask.
TEST_P(ScoreRange, Order) {
  AttentionCase c = make(DType::F32, 16, 1, 5, 5, 2, 2);
  c.desc.scale = 2.0;
  c.desc.softcap = 4.0;
  c.desc.alibi = true;
  c.desc.bias = DType::F32;
  c.desc.score = "s * 10";
  c.desc.mask = "i == j"; // one key: the row max is its score
  std::vector<double> q, k, bias, slopes;
  c.edit = [&](CaseInputs &x) { q = x.q, k = x.k, bias = x.bias, slopes = x.alibi; };
  c.sk = 7;
  CaseOutcome outcome = expectPass(c);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 5; ++i) {
      double dot = 0;
      for (int64_t d = 0; d < 16; ++d)
        dot += q[(i * 2 + h) * 16 + d] * k[(i * 2 + h) * 16 + d];
      double s = 4 * std::tanh(2 * dot / 4) - slopes[h] * 2 + bias[(h * 5 + i) * 7 + i];
      EXPECT_NEAR(outcome.actual.rowMax[h * 5 + i], 10 * s, 1e-4);
    }
}

} // namespace
