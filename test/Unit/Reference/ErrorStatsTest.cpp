//===- ErrorStatsTest.cpp - tests of the error measures -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Measures on known errors, non-finite values, and what the bar lets through.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/ErrorStats.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace flashc;
using namespace flashc::reference;

namespace {

const double inf = INFINITY;

TEST(ErrorStats, Measures) {
  std::vector<double> reference(2000, 2.0), actual = reference;
  for (int n = 0; n < 3; ++n)
    actual[n * 100] += 1 + n;
  ErrorStats stats = compare(actual, reference);
  EXPECT_EQ(stats.count, 2000);
  EXPECT_DOUBLE_EQ(stats.rms, std::sqrt(14.0 / 2000));
  EXPECT_EQ(stats.p999, 1); // Rank 1998 of 2000: two errors are larger.
  EXPECT_EQ(stats.max, 3);
  EXPECT_EQ(stats.mismatches, 0);
  EXPECT_DOUBLE_EQ(stats.referenceRms, 2);
  EXPECT_EQ(stats.referenceP999, 2);

  std::vector<double> few = {1, 2, 3}, off = {1, 2.5, 2};
  EXPECT_EQ(compare(off, few).p999, 1);
  EXPECT_EQ(compare({}, {}).rms, 0);
  EXPECT_THROW(compare(few, {}), Error);
  std::vector<double> huge = {1e300}, zero = {0};
  EXPECT_DOUBLE_EQ(compare(huge, zero).rms, 1e300);
}

TEST(ErrorStats, NonFiniteValuesMustCoincide) {
  std::vector<double> reference = {1, NAN, inf, -inf, 5};
  EXPECT_EQ(compare(reference, reference).mismatches, 0);
  EXPECT_EQ(compare(reference, reference).rms, 0);
  std::vector<double> actual = {NAN, 1, -inf, NAN, inf};
  ErrorStats stats = compare(actual, reference);
  EXPECT_EQ(stats.mismatches, 5);
  EXPECT_EQ(stats.firstMismatch, 0);
  EXPECT_FALSE(withinBar(stats, compare(reference, reference), {DType::F32, 1, 1e9}));
}

TEST(ErrorStats, BarIsTwiceTheUnfusedErrorOnManyRows) {
  std::vector<double> reference(10000, 1.0), unfused = reference, good = reference, bad = reference;
  for (size_t n = 0; n < reference.size(); ++n) {
    unfused[n] += 1e-6;
    good[n] += 1.99e-6;
    bad[n] += 2.1e-6;
  }
  BarContext context{DType::F32, 10000, 1.0};
  EXPECT_TRUE(withinBar(compare(good, reference), compare(unfused, reference), context));
  EXPECT_FALSE(withinBar(compare(bad, reference), compare(unfused, reference), context));
}

TEST(ErrorStats, ExactUnfusedLeavesRoundingOfTheType) {
  std::vector<double> reference = {1.5}, close = {1.5 + 0x1p-24}, far = {1.5 + 0x1p-22};
  ErrorStats exact = compare(reference, reference);
  BarContext context{DType::F32, 5000, 0};
  EXPECT_TRUE(withinBar(compare(close, reference), exact, context));
  EXPECT_FALSE(withinBar(compare(far, reference), exact, context));
  // Few rows have slack.
  context = {DType::F32, 4, 0x1p-22};
  EXPECT_TRUE(withinBar(compare(far, reference), exact, context));
  context.type = DType::BF16;
  EXPECT_DOUBLE_EQ(errorBar(exact, context).rms, 0x1p-8 + 0x1p-21);
  EXPECT_DOUBLE_EQ(errorBar(exact, context).p999, 0x1p-8 + 0x1p-20);
}

TEST(ErrorStats, ContextsFollowTheReference) {
  Result result;
  result.lse.resize(7);
  result.maxAbsScore = 15;
  result.maxScoreTerms = 7;
  result.maxAbsValue = 3;
  BarContext o = BarContext::forOutput(result, DType::F16);
  EXPECT_EQ(o.rows, 7);
  EXPECT_DOUBLE_EQ(o.slack, 3 * (0x1p-11 + 0x1p-20));
  EXPECT_DOUBLE_EQ(BarContext::forScores(result).slack, 0x1p-20);
  result.maxScoreTerms = 63;
  EXPECT_DOUBLE_EQ(BarContext::forScores(result).slack, 0x1p-18);
}

TEST(ErrorStats, Describe) {
  std::vector<double> reference = {1, NAN}, actual = {1.5, 2};
  std::string text = describe(compare(actual, reference), {0.25, 0.125});
  EXPECT_EQ(text, "rms 0.5 (bar 0.25), 99.9% 0.5 (bar 0.12), max 0.5, 1 NaN/inf mismatches "
                  "(first at 1)");
}

} // namespace
