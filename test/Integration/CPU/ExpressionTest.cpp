//===- ExpressionTest.cpp - region arithmetic, compiled -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Each query head evaluates one expression: a row keeps one key, so that its row max is the value. Expected
// values are written out here and owe nothing to the reference.
//
//===----------------------------------------------------------------------===//

#include "test/Integration/CPU/Variants.h"

#include <cmath>
#include <random>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Expectation {
  std::string text;
  double value; ///< of the expression as f32
};

/// Runs all expressions in one kernel on each variant.
class Expression : public VariantTest {
protected:
  static void expectValues(AttentionCase c, const std::vector<Expectation> &expectations) {
    c.desc.mask = "j == 2";
    c.hq = expectations.size();
    c.hkv = 1;
    for (size_t n = 0; n < expectations.size(); ++n)
      c.desc.score +=
          (n ? ": h == " : "h == ") + std::to_string(n) + " ? float(" + expectations[n].text + ") ";
    c.desc.score += ": s";
    CaseOutcome outcome = expectPass(c);
    ASSERT_EQ(outcome.actual.rowMax.size(), expectations.size() * c.sq) << outcome.message;
    for (size_t n = 0; n < expectations.size(); ++n)
      for (int64_t i = 0; i < c.sq; ++i) {
        double actual = outcome.actual.rowMax[n * c.sq + i];
        double expected = expectations[n].value;
        bool isSame = std::isnan(expected) ? std::isnan(actual) : actual == double(float(expected));
        EXPECT_TRUE(isSame) << expectations[n].text << ": expected " << expected << ", got "
                            << actual;
      }
  }

  /// int64 extremes and small numbers that the compiler cannot fold.
  AttentionCase makeWithNumbers() const {
    AttentionCase c = make(type(), 8, 1, 3, 20);
    addIntCapture(c, "n", DType::I64, {8}, {kMin, kMax, -1, 0, 1, 7, -7, 63});
    addCapture(c, "x", DType::F32, {8}, {kNaN, kInfinity, -kInfinity, 1e30, -1e30, 2.75, -2.75, 0});
    return c;
  }
};

INSTANTIATE_TEST_SUITE_P(Variants, Expression,
                         testing::ValuesIn(variants({"Online", "Standard", "SmallTiles", "Split"})),
                         nameOfVariant);

TEST_P(Expression, Integers) {
  std::vector<Expectation> list = {
      {"n[5] / n[3]", 0},
      {"n[5] % n[3]", 0},
      {"n[0] / n[3]", 0},
      {"n[0] / n[2]", double(kMin)},
      {"n[0] % n[2]", 0},
      {"n[6] / 2", -3},
      {"n[6] % 2", -1},
      {"n[5] / -2", -3},
      {"n[5] % -2", 1},
      {"n[1] + n[4]", double(kMin)},
      {"n[0] - n[4]", double(kMax)},
      {"n[1] * 2", -2},
      {"-n[0]", double(kMin)},
      {"abs(n[0])", double(kMin)},
      {"abs(n[6])", 7},
      {"n[4] << n[7]", double(kMin)},
      {"n[4] << (n[7] + 1)", 0},
      {"n[4] << n[2]", 0},
      {"n[6] >> n[7]", -1},
      {"n[6] >> 1", -4},
      {"n[6] >> 200", -1},
      {"n[5] >> 64", 0},
      {"n[5] >> n[2]", 0},
      {"n[6] >> n[2]", -1},
      {"n[5] & n[6]", 1},
      {"n[5] | n[6]", -1},
      {"n[5] ^ n[6]", -2},
      {"~n[5]", -8},
      {"min(n[0], n[1]) == n[0]", 1},
      {"max(n[5], n[6])", 7},
      {"n[0] < n[1]", 1},
      {"select(n[3], 5, 9)", 9},
      {"!n[3] + 0", 1},
  };
  expectValues(makeWithNumbers(), list);
}

/// The same on constants, which some pass may fold.
TEST_P(Expression, FoldedIntegers) {
  std::string min = "(-9223372036854775807 - 1)";
  expectValues(make(type(), 8, 1, 3, 20), {{"7 / 0", 0},
                                           {"7 % 0", 0},
                                           {min + " / -1", double(kMin)},
                                           {min + " % -1", 0},
                                           {"-7 / 2", -3},
                                           {"-7 % 2", -1},
                                           {"1 << 64", 0},
                                           {"1 << -1", 0},
                                           {"-7 >> 64", -1},
                                           {"7 >> 100", 0},
                                           {"abs" + min, double(kMin)},
                                           {"9223372036854775807 + 1", double(kMin)},
                                           {"int(0.0 / 0.0)", 0},
                                           {"int(1e30)", double(kMax)},
                                           {"int(-1e30)", double(kMin)},
                                           {"int(-2.75)", -2},
                                           {"3 / 2", 1},
                                           {"3 / 2.0", 1.5},
                                           {"sqrt(2.25)", 1.5},
                                           {"floor(-1.5)", -2}});
}

TEST_P(Expression, Floats) {
  expectValues(makeWithNumbers(), {{"int(x[0])", 0},
                                   {"int(x[1])", double(kMax)},
                                   {"int(x[2])", double(kMin)},
                                   {"int(x[3])", double(kMax)},
                                   {"int(x[4])", double(kMin)},
                                   {"int(x[5])", 2},
                                   {"int(x[6])", -2},
                                   {"floor(x[6])", -3},
                                   {"floor(x[5])", 2},
                                   {"x[5] + 1", 3.75},
                                   {"n[5] / 2.0", 3.5},
                                   {"x[6] / x[7]", -kInfinity},
                                   {"abs(x[6])", 2.75},
                                   {"-x[6]", 2.75},
                                   {"min(x[5], x[6])", -2.75},
                                   {"max(x[5], x[1])", kInfinity},
                                   {"max(x[5], x[0])", kNaN},
                                   {"min(x[0], x[5])", kNaN},
                                   {"x[7] / x[7]", kNaN},
                                   {"sqrt(x[6])", kNaN},
                                   {"log(x[7])", -kInfinity},
                                   {"exp(x[2])", 0},
                                   {"exp(x[7])", 1},
                                   {"tanh(x[1])", 1},
                                   {"tanh(x[4])", -1},
                                   {"x[0] == x[0]", 0},
                                   {"x[0] != x[0]", 1},
                                   {"x[0] < 1 || x[0] >= 1", 0},
                                   {"x[1] > x[3]", 1},
                                   {"select(x[0] < 1, x[0], x[5])", 2.75},
                                   {"float(n[1])", double(kMax)}});
}

TEST_P(Expression, CapturedTypesAndRanks) {
  AttentionCase c = make(type(), 8, 1, 3, 20);
  addCapture(c, "flags", DType::Bool, {3}, {1, 0, 1});
  addCapture(c, "bytes", DType::I8, {2}, {-128, 127});
  addCapture(c, "shorts", DType::I16, {2}, {-32768, 32767});
  addCapture(c, "ints", DType::I32, {2}, {-2147483648.0, 2147483647.0});
  addIntCapture(c, "longs", DType::I64, {2}, {kMin, (int64_t(1) << 53) + 1});
  addCapture(c, "halves", DType::F16, {3}, {65504, 0x1p-24, -kInfinity});
  addCapture(c, "bfloats", DType::BF16, {2}, {0x1.fep127, -0x1p-133});
  addCapture(c, "floats", DType::F32, {2}, {0.1f, -3e38});
  addCapture(c, "scalar", DType::F32, {}, {42});
  addIntCapture(c, "integer", DType::I64, {}, {-5});
  std::vector<double> counting(120);
  for (size_t n = 0; n < counting.size(); ++n)
    counting[n] = n;
  addCapture(c, "rank2", DType::F32, {4, 30}, counting);
  addCapture(c, "rank3", DType::I16, {2, 4, 15}, counting);
  addCapture(c, "rank4", DType::BF16, {2, 3, 4, 5}, counting);
  for (Strides strides : {Strides::Dense, Strides::Padded, Strides::Negative}) {
    c.captureStrides = strides;
    expectValues(c, {{"flags[0]", 1},
                     {"flags[1]", 0},
                     {"flags[i * 0 + 2] + 4", 5},
                     {"bytes[0]", -128},
                     {"bytes[1]", 127},
                     {"shorts[0]", -32768},
                     {"ints[0]", -2147483648.0},
                     {"ints[1] + 1", 2147483648.0},
                     {"longs[0]", double(kMin)},
                     {"longs[1] - 9007199254740992", 1},
                     {"halves[0]", 65504},
                     {"halves[1]", 0x1p-24},
                     {"halves[2]", -kInfinity},
                     {"bfloats[0]", 0x1.fep127},
                     {"floats[0]", 0.1f},
                     {"floats[1]", -3e38},
                     {"scalar", 42},
                     {"integer", -5},
                     {"rank2[3, j]", 92},
                     {"rank2[j, 3]", 63},
                     {"rank3[1, j, 14]", 104},
                     {"rank4[1, 2, 3, 4]", 119},
                     {"rank4[j / 2, j, j + 1, j * 2]", 119},
                     // Outside of the array: 0, whichever index it is, however far.
                     {"floats[2]", 0},
                     {"floats[-1]", 0},
                     {"floats[9223372036854775807]", 0},
                     {"longs[-9223372036854775807]", 0},
                     {"rank2[4, 0] + 1", 1},
                     {"rank2[0, 30] + 1", 1},
                     {"rank2[-1, 31] + 1", 1},
                     {"rank2[3, -1] + 1", 1},
                     {"rank4[1, 2, 3, 5]", 0},
                     {"rank4[j, 0, 0, 1]", 0},
                     {"rank3[0, 4, 0]", 0},
                     {"flags[j + 1]", 0}});
  }
}

/// Reads at indices that differ by row and key, also as masks.
TEST_P(Expression, GatheredCaptures) {
  AttentionCase c = make(type(), 8, 2, 30, 70, 2, 1);
  std::vector<double> table(50), keep(70);
  std::mt19937_64 engine(5);
  for (double &value : table)
    value = int(engine() % 64) / 16.0 - 2;
  for (double &value : keep)
    value = engine() % 3 != 0;
  addCapture(c, "table", DType::F16, {50}, table);
  addCapture(c, "keep", DType::Bool, {70}, keep);
  addCapture(c, "pairs", DType::I8, {2, 30, 70}, std::vector<double>(2 * 30 * 70, 1));
  addIntCapture(c, "index", DType::I32, {70}, [] {
    std::vector<int64_t> values(70);
    for (int64_t n = 0; n < 70; ++n)
      values[n] = n * 37 % 90 - 10; // some point outside
    return values;
  }());
  for (Strides strides : {Strides::Dense, Strides::Padded, Strides::Negative}) {
    c.captureStrides = strides;
    c.desc.score = "s + table[abs(i - j)] + table[index[j]]";
    c.desc.mask = "keep[j] && pairs[b, i, j]";
    expectPass(c);
  }
}

/// b, h, i, j, sq and sk are local to the sequence.
TEST_P(Expression, CoordinatesOfPackedSequences) {
  AttentionCase c = make(type(), 8, 1, 0, 0, 2, 1);
  c.desc.packed = DType::I32;
  c.lengthsQ = {5, 0, 12, 7};
  c.lengthsK = {70, 3, 10, 1};
  c.desc.mask = "j == sk - 1";
  c.desc.score =
      "float(b * 100000 + h * 10000 + i * 100 + sq) + float(sk) / 128 + float(j) / 16384";
  CaseOutcome outcome = expectPass(c);
  ASSERT_EQ(outcome.actual.rowMax.size(), 48u) << outcome.message;
  size_t n = 0;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < c.lengthsQ[b]; ++i, ++n) {
        double sk = c.lengthsK[b];
        float head = b * 100000 + h * 10000 + i * 100 + c.lengthsQ[b];
        EXPECT_EQ(outcome.actual.rowMax[n], head + float(sk) / 128 + float(sk - 1) / 16384);
      }
}

TEST_P(Expression, UsedLengthIsSk) {
  AttentionCase c = make(type(), 8, 2, 3, 80);
  c.desc.sequsedK = DType::I32;
  c.used = {33, 70};
  c.desc.mask = "j == sk - 1";
  c.desc.score = "float(sk * 1000 + j)";
  CaseOutcome outcome = expectPass(c);
  for (int64_t n = 0; n < 6; ++n)
    EXPECT_EQ(outcome.actual.rowMax.at(n), n < 3 ? 33032 : 70069);
}

/// Types that expressions could read but arrays may not have.
TEST_P(Expression, OtherCapturedTypesAreRefused) {
  for (DType other : {DType::U8, DType::F64}) {
    AttentionCase c = make(type(), 8, 1, 3, 20);
    addCapture(c, "array", other, {1}, {1});
    c.desc.score = "s + array[0]";
    CaseOutcome outcome = runCase(c);
    EXPECT_FALSE(outcome.passed);
    EXPECT_NE(outcome.message.find("captures: expected one of"), std::string::npos)
        << outcome.message;
  }
}

TEST_P(Expression, NestedDeeply) {
  std::string score = "s";
  for (int n = 0; n < 60; ++n)
    score = "min(" + score + " * 0.99 + 0.01, " + std::to_string(n) + ".5)";
  AttentionCase c = make(type(), 8, 1, 20, 70);
  c.desc.score = score;
  expectPass(c);
}

} // namespace
