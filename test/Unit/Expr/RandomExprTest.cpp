//===- RandomExprTest.cpp - tests of random expressions -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Thousands of random expressions: all well-typed, all printed so that they parse back, and all
// with the same branches and moderate values in float as in double.
//
//===----------------------------------------------------------------------===//

#include "test/Support/RandomExpr.h"

#include "runtime/Expr/Parser.h"
#include "runtime/Reference/ExprEvaluator.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr ExprSizes sizes = {2, 3, 20, 33};

/// Scores (or the mask as 0 and 1) at all coordinates.
template <typename Real>
std::vector<double> evaluateAll(const TypedExpr &expr, const RandomExpr &random) {
  std::vector<reference::NamedTensor> tensors;
  for (const RandomExpr::Capture &capture : random.captures())
    tensors.push_back({capture.name, reference::viewOf(capture.array)});
  reference::ExprEvaluator<Real> evaluator(expr, tensors);
  typename reference::ExprEvaluator<Real>::Scratch scratch;
  std::vector<double> result;
  for (int64_t b = 0; b < sizes.b; ++b)
    for (int64_t i = 0; i < sizes.sq; ++i) {
      const reference::RowCoordinates row = {b, i % sizes.h, i, sizes.sq, sizes.sk};
      std::vector<Real> s(sizes.sk);
      std::vector<uint8_t> keep(sizes.sk, 1);
      for (int64_t j = 0; j < sizes.sk; ++j)
        s[j] = static_cast<Real>(((i * 37 + j * 101) % 64 - 31.5) / 8);
      if (expr.kind == ExprKind::Score) {
        evaluator.evaluateScores(row, 0, sizes.sk, s.data(), scratch);
        result.insert(result.end(), s.begin(), s.end());
      } else {
        evaluator.evaluateMask(row, 0, sizes.sk, keep.data(), scratch);
        result.insert(result.end(), keep.begin(), keep.end());
      }
    }
  return result;
}

TEST(RandomExpr, WellTypedAndPrintable) {
  int used = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomExpr random(seed, sizes, seed % 2);
    for (ExprKind kind : {ExprKind::Score, ExprKind::Mask}) {
      const std::string text = kind == ExprKind::Score ? random.score() : random.mask();
      const std::vector<CaptureInfo> infos = random.captureInfos();
      TypedExpr expr = parseExpression(text, kind, infos);
      TypedExpr again = parseExpression(toString(expr), kind, infos);
      ASSERT_TRUE(structurallyEqual(*expr.root, *again.root)) << text << "\n" << toString(expr);
      used += usesVariable(*expr.root, Variable::J);
    }
  }
  EXPECT_GT(used, 2000);
}

TEST(RandomExpr, FloatAndDoubleTakeTheSameBranches) {
  int kept = 0, total = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomExpr random(seed, sizes);
    const std::string text = random.score();
    TypedExpr score = parseExpression(text, ExprKind::Score, random.captureInfos());
    const std::vector<double> exact = evaluateAll<double>(score, random);
    const std::vector<double> single = evaluateAll<float>(score, random);
    for (size_t n = 0; n < exact.size(); ++n) {
      ASSERT_LT(std::fabs(exact[n]), 1000) << "seed " << seed << ": " << text;
      ASSERT_NEAR(exact[n], single[n], 1e-4) << "seed " << seed << ": " << text;
    }
    TypedExpr mask = parseExpression(random.mask(), ExprKind::Mask, random.captureInfos());
    const std::vector<double> keep = evaluateAll<double>(mask, random);
    ASSERT_EQ(keep, evaluateAll<float>(mask, random)) << toString(mask);
    for (double value : keep)
      kept += value != 0;
    total += static_cast<int>(keep.size());
  }
  EXPECT_GT(kept, total / 10);
  EXPECT_LT(kept, total * 9 / 10);
}

TEST(RandomExpr, SeedDecides) {
  RandomExpr a(7, sizes), b(7, sizes), c(8, sizes);
  const std::string text = a.score();
  EXPECT_EQ(text, b.score());
  EXPECT_NE(text, c.score());
}

} // namespace
