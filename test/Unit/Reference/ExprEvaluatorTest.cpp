//===- ExprEvaluatorTest.cpp - tests of the expression evaluator ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The arithmetic that AST.h promises: wrapping, division by zero, shifts, NaN, reads out of bounds.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/ExprEvaluator.h"

#include "runtime/Expr/Parser.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace flashc;
using namespace flashc::reference;

namespace {

constexpr RowCoordinates row = {2, 3, 5, 10, 20};

class ExprEvaluatorTest : public ::testing::Test {
protected:
  ExprEvaluatorTest() {
    add("slope", DType::F32, {4}, {0.5, 0.25, -1, 0.1});
    add("pos", DType::I32, {2, 3}, {10, 11, 12, 20, 21, 22});
    add("flag", DType::Bool, {3}, {1, 0, 1});
    add("wide", DType::F64, {1}, {0.1});
    add("half", DType::F16, {}, {1.5});
    add("big", DType::I64, {2}, {0, 0});
    arrays[5].setInt(0, std::numeric_limits<int64_t>::min());
    arrays[5].setInt(1, std::numeric_limits<int64_t>::max());
    for (size_t n = 0; n < arrays.size(); ++n)
      tensors.push_back({infos[n].name, viewOf(arrays[n])});
  }

  void add(const char *name, DType dtype, std::vector<int64_t> shape, std::vector<double> values) {
    infos.push_back({name, dtype, static_cast<int>(shape.size())});
    arrays.push_back(HostArray::zeros(dtype, shape));
    for (size_t n = 0; n < values.size(); ++n)
      arrays.back().set(n, values[n]);
  }

  /// The score at (b, h, i, j) = (2, 3, 5, 7), sq = 10, sk = 20.
  template <typename Real = double> Real score(std::string_view text, Real s = Real(0.75)) {
    ExprEvaluator<Real> evaluator(parseExpression(text, ExprKind::Score, infos), tensors);
    typename ExprEvaluator<Real>::Scratch scratch;
    evaluator.evaluateScores(row, 7, 1, &s, scratch);
    return s;
  }
  bool mask(std::string_view text) {
    ExprEvaluator<double> evaluator(parseExpression(text, ExprKind::Mask, infos), tensors);
    ExprEvaluator<double>::Scratch scratch;
    uint8_t keep = 1;
    evaluator.evaluateMask(row, 7, 1, &keep, scratch);
    return keep;
  }

  std::vector<CaptureInfo> infos;
  std::vector<HostArray> arrays;
  std::vector<NamedTensor> tensors;
};

TEST_F(ExprEvaluatorTest, Variables) {
  EXPECT_EQ(score("s"), 0.75);
  EXPECT_EQ(score("b * 100000 + h * 10000 + i * 1000 + j * 100 + sq * 10 + sk"), 235820);
}

TEST_F(ExprEvaluatorTest, Integers) {
  EXPECT_TRUE(mask("-7 / 2 == -3 && -7 % 2 == -1 && 7 % -2 == 1"));
  EXPECT_TRUE(mask("7 / 0 == 0 && 7 % 0 == 0 && 0 / 0 == 0"));
  EXPECT_TRUE(mask("big[0] / -1 == big[0] && big[0] % -1 == 0 && big[1] + 1 == big[0]"));
  EXPECT_TRUE(mask("-big[0] == big[0] && abs(big[0]) == big[0] && abs(-3) == 3"));
  EXPECT_TRUE(mask("big[1] * 2 == -2"));
  EXPECT_TRUE(mask("1 << 3 == 8 && 1 << 64 == 0 && 1 << -1 == 0 && 1 << 63 == big[0]"));
  EXPECT_TRUE(mask("-8 >> 1 == -4 && -8 >> 64 == -1 && 8 >> 64 == 0 && -8 >> -1 == -1"));
  EXPECT_TRUE(mask("(6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5 && ~6 == -7"));
  EXPECT_TRUE(mask("min(-1, 2) == -1 && max(-1, 2) == 2"));
  EXPECT_TRUE(mask("int(1e30) == big[1] && int(-1e30) == big[0] && int(-1.9) == -1"));
  EXPECT_TRUE(mask("int(0.0 / 0.0) == 0"));
}

TEST_F(ExprEvaluatorTest, Booleans) {
  EXPECT_TRUE(mask("i < j && !(i > j) && i != j && i <= 5 && i >= 5 && i == 5"));
  EXPECT_TRUE(mask("(i < j) + 1 == 2"));
  EXPECT_TRUE(mask("(1 < 2) ^ (2 < 1)"));
  EXPECT_FALSE(mask("(1 < 2) & (2 < 1) | 0"));
  EXPECT_TRUE(mask("0 || 3"));
  EXPECT_TRUE(mask("select(i, j > 3, 0)"));
  EXPECT_FALSE(mask("i < j ? 0.0 : 1.0"));
}

TEST_F(ExprEvaluatorTest, Floats) {
  EXPECT_EQ(score("exp(s)"), std::exp(0.75));
  EXPECT_EQ(score<float>("exp(s)"), std::exp(0.75f));
  EXPECT_EQ(score("log(s) + tanh(s) + sqrt(s)"),
            std::log(0.75) + std::tanh(0.75) + std::sqrt(0.75));
  EXPECT_EQ(score("floor(-1.5) + abs(-s)"), -1.25);
  EXPECT_EQ(score("i / 2"), 2);
  EXPECT_EQ(score("i / 2.0"), 2.5);
  EXPECT_EQ(score("1 / 0.0"), INFINITY);
  EXPECT_EQ(score("0.1"), double(0.1f));
  EXPECT_TRUE(std::isnan(score("sqrt(-1)")));
  EXPECT_TRUE(std::isnan(score("min(s, 0.0 / 0.0)")));
  EXPECT_TRUE(std::isnan(score("max(0.0 / 0.0, s)")));
  EXPECT_TRUE(std::signbit(score("min(0.0, -0.0)")));
  EXPECT_FALSE(std::signbit(score("max(-0.0, 0.0)")));
  EXPECT_EQ(score("select(s < 0.0 / 0.0, 1, 0) + select(0.0 / 0.0 != 0.0 / 0.0, 2, 0)"), 2);
}

TEST_F(ExprEvaluatorTest, Captures) {
  EXPECT_EQ(score("slope[h]"), double(0.1f));
  EXPECT_EQ(score("wide[0]"), double(0.1f));
  EXPECT_EQ(score("half + half[]"), 3);
  EXPECT_EQ(score("pos[1, 2] + pos[i - 5, j - 6]"), 33);
  EXPECT_EQ(score("slope[-1] + slope[4] + pos[0, 3] + pos[1, -1] + pos[2, 0]"), 0);
  EXPECT_EQ(score("slope[9223372036854775807] + slope[big[0]]"), 0);
  EXPECT_EQ(score("flag[0] + flag[1] + flag[2] + flag[3]"), 2);
  EXPECT_EQ(score("slope[flag[0]]"), 0.25);

  TypedExpr expr = parseExpression("slope[h]", ExprKind::Score, infos);
  EXPECT_THROW(ExprEvaluator<double>(expr, {}), Error);
  std::vector<NamedTensor> wrong = {{"slope", viewOf(arrays[1])}};
  EXPECT_THROW(ExprEvaluator<double>(expr, wrong), Error);
}

TEST_F(ExprEvaluatorTest, StridedCaptures) {
  float data[4] = {1, 2, 3, 4};
  std::vector<CaptureInfo> info = {{"a", DType::F32, 2}};
  std::vector<NamedTensor> tensor = {{"a", {data + 3, DType::F32, {2, 2}, {-1, -2}}}};
  ExprEvaluator<double> evaluator(parseExpression("a[0, j]*10 + a[1, j]", ExprKind::Score, info),
                                  tensor);
  double s[2] = {};
  ExprEvaluator<double>::Scratch scratch;
  evaluator.evaluateScores(row, 0, 2, s, scratch);
  EXPECT_EQ(s[0], 43);
  EXPECT_EQ(s[1], 21);
}

TEST_F(ExprEvaluatorTest, LongRunsUseTheRightKeys) {
  ExprEvaluator<float> evaluator(
      parseExpression("select(int(s) == j - 1, float(int(s + 1.0)), -1.0)", ExprKind::Score),
      tensors);
  std::vector<float> s(1000);
  for (int n = 0; n < 1000; ++n)
    s[n] = static_cast<float>(n);
  ExprEvaluator<float>::Scratch scratch;
  evaluator.evaluateScores(row, 1, 1000, s.data(), scratch);
  for (int n = 0; n < 1000; ++n)
    ASSERT_EQ(s[n], n + 1);
}

} // namespace
