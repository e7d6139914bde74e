//===- AttentionTest.cpp - tests of the float64 reference -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Small cases worked out by hand (head dimension 1, q = 1, so that scores are the keys), identities
// of the softmax, and the rules for masks, sinks, empty rows and non-finite values.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Attention.h"

#include "runtime/Expr/Parser.h"

#include "gtest/gtest.h"

#include <cmath>
#include <deque>
#include <random>

using namespace flashc;
using namespace flashc::reference;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

/// Owns the arrays of a problem.
struct Fixture {
  Problem problem;
  std::deque<HostArray> arrays;

  TensorView array(std::vector<int64_t> shape, std::vector<double> values,
                   DType dtype = DType::F64) {
    arrays.push_back(HostArray::zeros(dtype, shape));
    EXPECT_EQ(arrays.back().numElements(), static_cast<int64_t>(values.size()));
    for (size_t n = 0; n < values.size(); ++n)
      arrays.back().set(n, values[n]);
    return viewOf(arrays.back());
  }
  TensorView random(std::vector<int64_t> shape, int seed, DType dtype = DType::F32) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(countElements(shape).value());
    for (double &value : values)
      value = normal(engine);
    return array(shape, values, dtype);
  }
  void mask(const char *text) { problem.mask = parseExpression(text, ExprKind::Mask, infos()); }
  void score(const char *text) { problem.score = parseExpression(text, ExprKind::Score, infos()); }
  std::vector<CaptureInfo> infos() {
    std::vector<CaptureInfo> result;
    for (const NamedTensor &tensor : problem.captures)
      result.push_back({tensor.name, tensor.view.dtype, static_cast<int>(tensor.view.rank())});
    return result;
  }
};

/// One head, D = Dv = 1, q = 1: the scores of every row are the keys.
Fixture line(int64_t sq, std::vector<double> keys, std::vector<double> values) {
  Fixture f;
  const int64_t sk = static_cast<int64_t>(keys.size());
  f.problem.q = f.array({1, sq, 1, 1}, std::vector<double>(sq, 1.0));
  f.problem.k = f.array({1, sk, 1, 1}, keys);
  f.problem.v = f.array({1, sk, 1, 1}, values);
  return f;
}

void expectNear(const std::vector<double> &actual, const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < actual.size(); ++n) {
    if (std::isfinite(expected[n]))
      EXPECT_NEAR(actual[n], expected[n], 1e-12 * (1 + std::fabs(expected[n]))) << "element " << n;
    else if (std::isnan(expected[n]))
      EXPECT_TRUE(std::isnan(actual[n])) << "element " << n << " is " << actual[n];
    else
      EXPECT_EQ(actual[n], expected[n]) << "element " << n;
  }
}

TEST(ReferenceAttention, TwoKeysByHand) {
  Fixture f = line(1, {0, std::log(3.0)}, {10, 20});
  Result r = evaluate(f.problem);
  expectNear(r.o, {17.5});
  expectNear(r.lse, {std::log(4.0)});
  expectNear(r.rowMax, {std::log(3.0)});
  EXPECT_EQ(r.oShape, (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(r.rowShape, (std::vector<int64_t>{1, 1, 1}));
  EXPECT_NEAR(r.maxAbsScore, std::log(3.0), 1e-15);
  EXPECT_NEAR(r.maxScoreTerms, std::log(3.0), 1e-15);
  EXPECT_EQ(r.maxAbsValue, 20);
}

TEST(ReferenceAttention, DefaultScaleIsOneOverRootD) {
  Fixture f;
  f.problem.q = f.array({1, 1, 1, 4}, {1, 1, 1, 1});
  f.problem.k = f.array({1, 1, 1, 4}, {1, 2, 3, 4});
  f.problem.v = f.array({1, 1, 1, 2}, {7, 8});
  Result r = evaluate(f.problem);
  expectNear(r.rowMax, {5});
  expectNear(r.lse, {5});
  expectNear(r.o, {7, 8});
  f.problem.scale = -0.1;
  expectNear(evaluate(f.problem).rowMax, {-1});
}

TEST(ReferenceAttention, ShiftOfScoresMovesLseAlone) {
  Fixture f;
  f.problem.q = f.random({2, 9, 4, 16}, 1);
  f.problem.k = f.random({2, 300, 2, 16}, 2);
  f.problem.v = f.random({2, 300, 2, 5}, 3);
  Result base = evaluate(f.problem);
  f.score("s + 100000");
  Result shifted = evaluate(f.problem);
  for (size_t n = 0; n < base.o.size(); ++n)
    ASSERT_NEAR(base.o[n], shifted.o[n], 1e-9);
  for (size_t n = 0; n < base.lse.size(); ++n) {
    ASSERT_NEAR(base.lse[n] + 100000, shifted.lse[n], 1e-9);
    ASSERT_NEAR(base.rowMax[n] + 100000, shifted.rowMax[n], 1e-9);
  }
}

TEST(ReferenceAttention, EqualScoresAverage) {
  Fixture f = line(1, {3, 3, 3, 3}, {1, 2, 3, 6});
  Result r = evaluate(f.problem);
  expectNear(r.o, {3});
  expectNear(r.lse, {3 + std::log(4.0)});
}

TEST(ReferenceAttention, CausalAlignments) {
  // Equal scores: o is the mean of the kept values.
  Fixture f = line(2, {0, 0, 0}, {1, 3, 8});
  f.problem.causal = Causal::TopLeft;
  expectNear(evaluate(f.problem).o, {1, 2});
  f.problem.causal = Causal::BottomRight;
  expectNear(evaluate(f.problem).o, {2, 4});
  Fixture longer = line(3, {0}, {5});
  longer.problem.causal = Causal::BottomRight;
  Result r = evaluate(longer.problem);
  expectNear(r.o, {0, 0, 5});
  expectNear(r.lse, {-inf, -inf, 0});
  expectNear(r.rowMax, {-inf, -inf, 0});
}

TEST(ReferenceAttention, Windows) {
  Fixture f = line(4, {0, 0, 0, 0}, {1, 2, 4, 8});
  f.problem.windowLeft = 1;
  expectNear(evaluate(f.problem).o, {15 / 4.0, 15 / 4.0, 14 / 3.0, 6});
  f.problem.windowRight = 0;
  expectNear(evaluate(f.problem).o, {1, 1.5, 3, 6});
  f.problem.windowLeft = -1;
  expectNear(evaluate(f.problem).o, {1, 1.5, 7 / 3.0, 15 / 4.0});
  f.problem.windowLeft = f.problem.windowRight = std::numeric_limits<int64_t>::max();
  expectNear(evaluate(f.problem).o, {15 / 4.0, 15 / 4.0, 15 / 4.0, 15 / 4.0});
  // Without causal the window is aligned bottom-right, with top-left causal it follows that.
  Fixture g = line(1, {0, 0, 0}, {1, 2, 4});
  g.problem.windowLeft = g.problem.windowRight = 0;
  expectNear(evaluate(g.problem).o, {4});
  g.problem.causal = Causal::TopLeft;
  expectNear(evaluate(g.problem).o, {1});
  g.problem.windowLeft = -2;
  EXPECT_THROW(evaluate(g.problem), Error);
}

TEST(ReferenceAttention, SoftcapAlibiBiasScoreMaskInOrder) {
  Fixture f = line(2, {1, -2, 3}, {0, 0, 0});
  f.problem.scale = 2;
  f.problem.softcap = 5;
  f.problem.alibi = f.array({1}, {0.5});
  f.problem.bias = f.array({2, 3}, {1, 2, 3, 4, 5, 6});
  f.score("s * 10 + j");
  f.mask("j == i");
  Result r = evaluate(f.problem);
  // Row 0: key 0, distance |0 + 3 - 2 - 0| = 1; row 1: key 1, distance 1.
  expectNear(r.rowMax, {(5 * std::tanh(2 / 5.0) - 0.5 + 1) * 10,
                        (5 * std::tanh(-4 / 5.0) - 0.5 + 5) * 10 + 1});
}

TEST(ReferenceAttention, BiasBroadcasts) {
  Fixture f;
  f.problem.q = f.array({2, 1, 2, 1}, {0, 0, 0, 0});
  f.problem.k = f.array({2, 2, 1, 1}, {0, 0, 0, 0});
  f.problem.v = f.array({2, 2, 1, 1}, {0, 0, 0, 0});
  f.problem.bias = f.array({2, 1, 1, 1}, {1, 2});
  expectNear(evaluate(f.problem).rowMax, {1, 1, 2, 2});
  f.problem.bias = f.array({2, 1, 1}, {1, 2});
  expectNear(evaluate(f.problem).rowMax, {1, 2, 1, 2});
  f.problem.bias = f.array({}, {3});
  expectNear(evaluate(f.problem).rowMax, {3, 3, 3, 3});
  f.problem.bias = f.array({2}, {1, 5});
  expectNear(evaluate(f.problem).rowMax, {5, 5, 5, 5});
  f.problem.bias = f.array({3}, {1, 5, 6});
  EXPECT_THROW(evaluate(f.problem), Error);
}

TEST(ReferenceAttention, Sinks) {
  Fixture f = line(1, {0, 0}, {4, 8});
  f.problem.sinks = f.array({1}, {std::log(2.0)});
  Result r = evaluate(f.problem);
  expectNear(r.o, {3});
  expectNear(r.lse, {std::log(4.0)});
  expectNear(r.rowMax, {0});
  f.mask("0");
  r = evaluate(f.problem);
  expectNear(r.o, {0});
  expectNear(r.lse, {std::log(2.0)});
  expectNear(r.rowMax, {-inf});
  f.problem.sinks = f.array({1}, {-inf});
  expectNear(evaluate(f.problem).lse, {-inf});
  // A sink far above the scores.
  Fixture g = line(1, {0, 0}, {4, 8});
  g.problem.sinks = g.array({1}, {1000});
  expectNear(evaluate(g.problem).lse, {1000});
  expectNear(evaluate(g.problem).o, {0});
}

TEST(ReferenceAttention, EmptyRows) {
  Fixture f = line(2, {0, 0}, {nan, inf});
  f.mask("i == 1 && j > 5");
  Result r = evaluate(f.problem);
  expectNear(r.o, {0, 0});
  expectNear(r.lse, {-inf, -inf});
  // Only -inf kept is empty too, whatever the values.
  Fixture g = line(1, {-inf, -inf}, {nan, 1});
  r = evaluate(g.problem);
  expectNear(r.o, {0});
  expectNear(r.lse, {-inf});
  expectNear(r.rowMax, {-inf});
  // No keys at all.
  Fixture h = line(2, {}, {});
  expectNear(evaluate(h.problem).lse, {-inf, -inf});
  expectNear(evaluate(h.problem).o, {0, 0});
}

TEST(ReferenceAttention, NonFiniteValuesStayInTheirRows) {
  Fixture f = line(3, {0, nan, 0}, {1, 2, 3});
  f.problem.causal = Causal::TopLeft;
  Result r = evaluate(f.problem);
  expectNear(r.o, {1, nan, nan});
  expectNear(r.lse, {0, nan, nan});
  expectNear(r.rowMax, {0, nan, nan});
  Fixture g = line(3, {0, inf, 0}, {1, 2, 3});
  g.problem.causal = Causal::TopLeft;
  r = evaluate(g.problem);
  expectNear(r.o, {1, nan, nan});
  expectNear(r.lse, {0, nan, nan});
  expectNear(r.rowMax, {0, inf, inf});
  Fixture h = line(3, {0, 0, 0}, {1, nan, 3});
  h.problem.causal = Causal::TopLeft;
  r = evaluate(h.problem);
  expectNear(r.o, {1, nan, nan});
  expectNear(r.lse, {0, std::log(2.0), std::log(3.0)});
  Fixture both = line(1, {inf, nan, 0}, {1, 1, 1});
  expectNear(evaluate(both.problem).rowMax, {nan});
  Fixture minus = line(1, {-inf, 0}, {100, 1});
  expectNear(evaluate(minus.problem).o, {1});
}

TEST(ReferenceAttention, ExtremeScores) {
  Fixture f = line(1, {-1e31, -1e31}, {1, 3});
  expectNear(evaluate(f.problem).o, {2});
  expectNear(evaluate(f.problem).lse, {-1e31});
  Fixture g = line(1, {-100, -100}, {1, 3});
  expectNear(evaluate(g.problem).lse, {-100 + std::log(2.0)});
  Fixture h;
  h.problem.q = h.array({1, 1, 1, 64}, std::vector<double>(64, 133120), DType::BF16);
  h.problem.k = h.problem.v = h.problem.q;
  EXPECT_EQ(evaluate(h.problem).o[0], 133120);
}

TEST(ReferenceAttention, GroupedHeadsAndLayouts) {
  Fixture f;
  const int64_t b = 2, sq = 3, sk = 5, hq = 6, hkv = 2, d = 3, dv = 9;
  f.problem.q = f.random({b, sq, hq, d}, 1);
  f.problem.k = f.random({b, sk, hkv, d}, 2);
  f.problem.v = f.random({b, sk, hkv, dv}, 3);
  f.score("s + h * 0.25 - b");
  Result all = evaluate(f.problem);
  EXPECT_EQ(all.oShape, (std::vector<int64_t>{b, sq, hq, dv}));
  EXPECT_EQ(all.rowShape, (std::vector<int64_t>{b, hq, sq}));
  // Each query head against its key head alone, through strides; h is 0 then, b too.
  for (int64_t batch = 0; batch < b; ++batch)
    for (int64_t h = 0; h < hq; ++h) {
      Problem one = f.problem;
      auto cut = [&](TensorView &view, int64_t head) {
        view.data = static_cast<const float *>(view.data) + batch * view.strides[0] +
                    head * view.strides[2];
        view.shape[0] = view.shape[2] = 1;
      };
      cut(one.q, h);
      cut(one.k, h / 3);
      cut(one.v, h / 3);
      Result r = evaluate(one);
      for (int64_t i = 0; i < sq; ++i) {
        EXPECT_NEAR(r.lse[i] + 0.25 * h - batch, all.lse[(batch * hq + h) * sq + i], 1e-12);
        for (int64_t c = 0; c < dv; ++c)
          EXPECT_NEAR(r.o[i * dv + c], all.o[((batch * sq + i) * hq + h) * dv + c], 1e-12);
      }
    }
  // BHSD by transposed views.
  Problem bhsd = f.problem;
  bhsd.layout = Layout::BHSD;
  for (TensorView *view : {&bhsd.q, &bhsd.k, &bhsd.v}) {
    std::swap(view->shape[1], view->shape[2]);
    std::swap(view->strides[1], view->strides[2]);
  }
  Result transposed = evaluate(bhsd);
  EXPECT_EQ(transposed.oShape, (std::vector<int64_t>{b, hq, sq, dv}));
  EXPECT_EQ(transposed.lse, all.lse);
  for (int64_t i = 0; i < sq; ++i)
    for (int64_t h = 0; h < hq; ++h)
      EXPECT_EQ(transposed.o[(h * sq + i) * dv], all.o[(i * hq + h) * dv]);
}

TEST(ReferenceAttention, PackedEqualsSeparate) {
  Fixture f;
  const std::vector<int64_t> cuQ = {0, 3, 3, 7}, cuK = {0, 2, 5, 11};
  const int64_t hq = 4, hkv = 2, d = 8, dv = 4;
  f.problem.q = f.random({8, hq, d}, 1); // The last row belongs to no sequence.
  f.problem.k = f.random({11, hkv, d}, 2);
  f.problem.v = f.random({11, hkv, dv}, 3);
  f.problem.cuSeqlensQ = f.array({4}, {0, 3, 3, 7}, DType::I32);
  f.problem.cuSeqlensK = f.array({4}, {0, 2, 5, 11}, DType::I64);
  f.problem.causal = Causal::BottomRight;
  f.problem.bias = f.random({3, 1, 1, 6}, 4);
  Result packed = evaluate(f.problem);
  EXPECT_EQ(packed.oShape, (std::vector<int64_t>{8, hq, dv}));
  EXPECT_EQ(packed.rowShape, (std::vector<int64_t>{hq, 8}));
  for (int64_t b : {0, 2}) {
    Problem one = f.problem;
    one.cuSeqlensQ.reset();
    one.cuSeqlensK.reset();
    auto cut = [](TensorView &view, int64_t begin, int64_t end) {
      view.data = static_cast<const float *>(view.data) + begin * view.strides[0];
      view.shape = {1, end - begin, view.shape[1], view.shape[2]};
      view.strides.insert(view.strides.begin(), 0);
    };
    cut(one.q, cuQ[b], cuQ[b + 1]);
    cut(one.k, cuK[b], cuK[b + 1]);
    cut(one.v, cuK[b], cuK[b + 1]);
    one.bias->data = static_cast<const float *>(one.bias->data) + b * 6;
    one.bias->shape = {cuK[b + 1] - cuK[b]};
    one.bias->strides = {1};
    Result r = evaluate(one);
    const int64_t sq = cuQ[b + 1] - cuQ[b];
    for (int64_t i = 0; i < sq; ++i)
      for (int64_t h = 0; h < hq; ++h) {
        EXPECT_EQ(packed.lse[h * 8 + cuQ[b] + i], r.lse[h * sq + i]);
        for (int64_t c = 0; c < dv; ++c)
          EXPECT_EQ(packed.o[((cuQ[b] + i) * hq + h) * dv + c], r.o[(i * hq + h) * dv + c]);
      }
  }
  for (int64_t h = 0; h < hq; ++h) {
    EXPECT_EQ(packed.lse[h * 8 + 7], -inf);
    EXPECT_EQ(packed.o[(7 * hq + h) * dv], 0);
  }
  f.problem.cuSeqlensK = f.array({4}, {0, 2, 1, 11}, DType::I64);
  EXPECT_THROW(evaluate(f.problem), Error);
}

TEST(ReferenceAttention, UsedLengths) {
  Fixture f;
  f.problem.q = f.array({2, 1, 1, 1}, {1, 1});
  f.problem.k = f.array({2, 3, 1, 1}, {0, 0, nan, 0, 0, 0});
  f.problem.v = f.array({2, 3, 1, 1}, {1, 2, nan, 3, 6, 9});
  f.problem.seqUsedK = f.array({2}, {2, 3}, DType::I32);
  f.problem.causal = Causal::BottomRight;
  f.score("s + sk");
  Result r = evaluate(f.problem);
  expectNear(r.o, {1.5, 6});
  expectNear(r.rowMax, {2, 3});
  f.problem.seqUsedK = f.array({2}, {2, 4}, DType::I32);
  EXPECT_THROW(evaluate(f.problem), Error);
}

TEST(ReferenceAttention, Pages) {
  Fixture f;
  f.problem.q = f.array({2, 1, 1, 1}, {1, 1});
  f.problem.k = f.array({3, 2, 1, 1}, {0, 0, nan, nan, 0, 0});
  f.problem.v = f.array({3, 2, 1, 1}, {3, nan, nan, nan, 1, 2});
  f.problem.seqUsedK = f.array({2}, {3, 2}, DType::I32);
  f.problem.pageTable = f.array({2, 2}, {2, 0, 2, -1}, DType::I64);
  f.score("s + j");
  f.problem.causal = Causal::BottomRight;
  Result r = evaluate(f.problem);
  const double e = std::exp(1.0);
  expectNear(r.o, {(1 + 2 * e + 3 * e * e) / (1 + e + e * e), (1 + 2 * e) / (1 + e)});
  f.problem.seqUsedK = f.array({2}, {3, 3}, DType::I32);
  EXPECT_THROW(evaluate(f.problem), Error);
  f.problem.seqUsedK = f.array({2}, {5, 2}, DType::I32);
  EXPECT_THROW(evaluate(f.problem), Error);
  f.problem.seqUsedK.reset();
  EXPECT_THROW(evaluate(f.problem), Error);
}

TEST(ReferenceAttention, StridesMayBeZeroOrNegative) {
  Fixture f;
  double q[1] = {1}, k[3] = {5, 0, 1};
  f.problem.q = {q, DType::F64, {1, 4, 1, 1}, {0, 0, 0, 0}};
  f.problem.k = {k + 2, DType::F64, {1, 3, 1, 1}, {9, -1, 3, 7}};
  f.problem.v = f.problem.k;
  f.mask("j == i");
  expectNear(evaluate(f.problem).rowMax, {1, 0, 5, -inf});
}

TEST(ReferenceAttention, ManyThreadsGiveTheSameBits) {
  Fixture f;
  f.problem.q = f.random({1, 70, 4, 64}, 1);
  f.problem.k = f.random({1, 530, 2, 64}, 2);
  f.problem.v = f.random({1, 530, 2, 40}, 3);
  f.problem.causal = Causal::BottomRight;
  Result one = evaluate(f.problem, 1), four = evaluate(f.problem, 4);
  EXPECT_EQ(one.o, four.o);
  EXPECT_EQ(one.lse, four.lse);
}

TEST(ReferenceAttention, UnfusedErrorsAreThoseOfTheType) {
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    Fixture f;
    f.problem.q = f.random({1, 64, 2, 64}, 1, type);
    f.problem.k = f.random({1, 300, 2, 64}, 2, type);
    f.problem.v = f.random({1, 300, 2, 64}, 3, type);
    Result exact = evaluate(f.problem), unfused = evaluateUnfusedF32(f.problem, type);
    double worst = 0, worstLse = 0;
    for (size_t n = 0; n < exact.o.size(); ++n)
      worst = std::max(worst, std::fabs(exact.o[n] - unfused.o[n]));
    for (size_t n = 0; n < exact.lse.size(); ++n)
      worstLse = std::max(worstLse, std::fabs(exact.lse[n] - unfused.lse[n]));
    // In f32 the errors of the scores dominate, which are up to some units of the scores.
    const double unit = type == DType::F32 ? 0x1p-22 : type == DType::BF16 ? 0x1p-8 : 0x1p-11;
    EXPECT_GT(worst, unit / 16);
    EXPECT_LT(worst, unit * 4);
    EXPECT_LT(worstLse, 3e-6);
  }
  EXPECT_THROW(evaluateUnfusedF32(line(1, {0}, {0}).problem, DType::F64), Error);
}

TEST(ReferenceAttention, ShapeErrors) {
  auto bad = [](auto &&change) {
    Fixture f;
    f.problem.q = f.random({1, 2, 4, 8}, 1);
    f.problem.k = f.random({1, 3, 2, 8}, 2);
    f.problem.v = f.random({1, 3, 2, 8}, 3);
    EXPECT_NO_THROW(evaluate(f.problem));
    change(f);
    EXPECT_THROW(evaluate(f.problem), Error);
  };
  bad([](Fixture &f) { f.problem.q = f.random({2, 4, 8}, 1); });
  bad([](Fixture &f) { f.problem.q = f.random({1, 2, 3, 8}, 1); });
  bad([](Fixture &f) { f.problem.k = f.random({1, 3, 2, 9}, 1); });
  bad([](Fixture &f) { f.problem.k = f.random({2, 3, 2, 8}, 1); });
  bad([](Fixture &f) { f.problem.v = f.random({1, 4, 2, 8}, 1); });
  bad([](Fixture &f) { f.problem.alibi = f.random({3}, 1); });
  bad([](Fixture &f) { f.problem.sinks = f.random({2}, 1); });
  bad([](Fixture &f) { f.problem.cuSeqlensQ = f.array({1}, {0}, DType::I32); });
  bad([](Fixture &f) { f.problem.q = f.array({1, 0, 4, 8}, {}, DType::I32); });
}

} // namespace
