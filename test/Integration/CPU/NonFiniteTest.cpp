//===- NonFiniteTest.cpp - NaN, infinities and empty rows -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What a row masks never reaches it, whatever it holds; what it keeps does. Rows that keep nothing give 0.
//
//===----------------------------------------------------------------------===//

#include "test/Integration/CPU/Variants.h"

#include <cmath>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using NonFinite = VariantTest;
INSTANTIATE_TEST_SUITE_P(Variants, NonFinite, testing::ValuesIn(kVariants), nameOfVariant);

enum class RowClass { Same, NaN, NotFinite };

/// Runs `c` with and without its edit, and checks every row of the one head: Same is finite and bit-equal
/// to the run without, NaN is NaN throughout, NotFinite has no finite element.
void expectRows(AttentionCase c, const std::function<RowClass(int64_t b, int64_t i)> &classOf) {
  CaseOutcome dirty = runCase(c);
  EXPECT_TRUE(dirty.passed) << dirty.message << "\n" << c.describe();
  c.edit = nullptr;
  CaseOutcome clean = runCase(c);
  EXPECT_TRUE(clean.passed) << clean.message << "\n" << c.describe();
  ASSERT_EQ(dirty.actual.o.size(), clean.actual.o.size()) << dirty.message;
  int64_t width = c.desc.resolvedValueDim();
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t i = 0; i < c.sq; ++i) {
      int64_t row = b * c.sq + i;
      RowClass expected = classOf(b, i);
      for (int64_t n = row * width; n < (row + 1) * width; ++n) {
        double value = dirty.actual.o[n];
        bool ok = expected == RowClass::Same  ? std::isfinite(value) && value == clean.actual.o[n]
                  : expected == RowClass::NaN ? std::isnan(value)
                                              : !std::isfinite(value);
        ASSERT_TRUE(ok) << "batch " << b << " row " << i << " has " << value << ", without "
                        << clean.actual.o[n] << "\n"
                        << c.describe();
      }
      if (expected == RowClass::Same) {
        EXPECT_EQ(dirty.actual.lse[row], clean.actual.lse[row]);
        EXPECT_EQ(dirty.actual.rowMax[row], clean.actual.rowMax[row]);
      }
    }
}

/// Sets a whole row of a [rows, dim] array.
void setRow(std::vector<double> &values, int64_t dim, int64_t row, double value) {
  std::fill_n(values.begin() + row * dim, dim, value);
}

TEST_P(NonFinite, CausalValue) {
  for (DType type : types())
    for (Causal causal : {Causal::TopLeft, Causal::BottomRight})
      for (int64_t j : {0, 3, 40, 69}) {
        AttentionCase c = make(type, 20, 1, 70, 70);
        c.desc.causal = causal;
        for (double value : {kNaN, kInfinity, -kInfinity}) {
          c.edit = [=](CaseInputs &x) { setRow(x.v, 20, j, value); };
          expectRows(c, [=](int64_t, int64_t i) {
            return i < j ? RowClass::Same : std::isnan(value) ? RowClass::NaN : RowClass::NotFinite;
          });
        }
      }
}

TEST_P(NonFinite, CausalKey) {
  for (DType type : types())
    for (int64_t j : {0, 40, 69}) {
      AttentionCase c = make(type, 20, 1, 70, 70);
      c.desc.causal = Causal::TopLeft;
      c.edit = [=](CaseInputs &x) { setRow(x.k, 20, j, kNaN); };
      expectRows(c, [=](int64_t, int64_t i) { return i < j ? RowClass::Same : RowClass::NaN; });
      // One infinite element gives scores of both signs: +inf is NaN, -inf a key without weight.
      for (double value : {kInfinity, -kInfinity}) {
        c.edit = [=](CaseInputs &x) { x.k[j * 20 + 7] = value; };
        expectPass(c);
      }
    }
}

TEST_P(NonFinite, Query) {
  for (double value : {kNaN, kInfinity}) {
    AttentionCase c = make(type(), 20, 1, 70, 70);
    c.edit = [=](CaseInputs &x) { setRow(x.q, 20, 33, value); };
    expectRows(c, [](int64_t, int64_t i) { return i == 33 ? RowClass::NaN : RowClass::Same; });
  }
}

TEST_P(NonFinite, MaskedByWindow) {
  AttentionCase c = make(type(), 20, 1, 70, 90);
  c.desc.window = Window{10, 4};
  for (double value : {kNaN, kInfinity}) {
    auto keeps = [](int64_t i) { return i + 20 - 10 <= 45 && 45 <= i + 20 + 4; };
    c.edit = [=](CaseInputs &x) { setRow(x.v, 20, 45, value); };
    expectRows(c, [=](int64_t, int64_t i) {
      return !keeps(i) ? RowClass::Same : std::isnan(value) ? RowClass::NaN : RowClass::NotFinite;
    });
    c.edit = [=](CaseInputs &x) { setRow(x.k, 20, 45, kNaN); };
    expectRows(c, [=](int64_t, int64_t i) { return keeps(i) ? RowClass::NaN : RowClass::Same; });
  }
}

TEST_P(NonFinite, MaskedByExpression) {
  AttentionCase c = make(type(), 20, 1, 70, 90);
  c.desc.mask = "(i + j) % 3 != 0";
  c.edit = [](CaseInputs &x) {
    setRow(x.v, 20, 45, kNaN);
    setRow(x.k, 20, 45, kNaN);
  };
  expectRows(c,
             [](int64_t, int64_t i) { return (i + 45) % 3 != 0 ? RowClass::NaN : RowClass::Same; });
  // A key that every row masks.
  c.desc.mask = "j != 45";
  expectRows(c, [](int64_t, int64_t) { return RowClass::Same; });
}

TEST_P(NonFinite, BeyondUsedKeys) {
  AttentionCase c = make(type(), 20, 2, 30, 90);
  c.desc.sequsedK = DType::I32;
  c.used = {37, 64};
  c.edit = [](CaseInputs &x) {
    for (int64_t j = 37; j < 90; ++j) {
      setRow(x.k, 20, j, kNaN);
      setRow(x.v, 20, j, kInfinity);
    }
    for (int64_t j = 64; j < 90; ++j)
      setRow(x.v, 20, 90 + j, kNaN);
  };
  expectRows(c, [](int64_t, int64_t) { return RowClass::Same; });
}

TEST_P(NonFinite, NeighbourInPackedBatch) {
  AttentionCase c = make(type(), 20, 1, 0, 0);
  c.desc.packed = DType::I32;
  c.lengthsQ = {17, 30, 9};
  c.lengthsK = {21, 33, 50};
  c.edit = [](CaseInputs &x) {
    for (int64_t j = 21; j < 54; ++j) {
      setRow(x.k, 20, j, kNaN);
      setRow(x.v, 20, j, kNaN);
    }
  };
  CaseOutcome outcome = expectPass(c);
  ASSERT_EQ(outcome.actual.lse.size(), 56u);
  for (int64_t i = 0; i < 56; ++i)
    EXPECT_EQ(std::isnan(outcome.actual.lse[i]), i >= 17 && i < 47) << i;
}

/// Of two query heads that share a key head, each has its own mask.
TEST_P(NonFinite, MaskedByOneHead) {
  AttentionCase c = make(type(), 16, 1, 12, 70, 2, 1);
  c.desc.mask = "h == 0 || j != 30";
  c.edit = [](CaseInputs &x) { setRow(x.v, 16, 30, kNaN); };
  CaseOutcome outcome = expectPass(c);
  for (int64_t n = 0; n < int64_t(outcome.actual.o.size()); ++n)
    EXPECT_EQ(std::isnan(outcome.actual.o[n]), n / 16 % 2 == 0) << n;
}

TEST_P(NonFinite, KeptScores) {
  AttentionCase c = make(type(), 8, 1, 9, 70, 4, 1);
  c.desc.score = "h == 0 ? (i == 3 && j == 5 ? 0.0 / 0.0 : s)"
                 ": h == 1 ? (i == 3 && j == 69 ? 1.0 / 0.0 : s)"
                 ": h == 2 ? (i == 3 && j == 0 ? -1.0 / 0.0 : s)"
                 ": j == 5 ? log(float(i - 3)) : s";
  expectPass(c);
  c.desc.sinks = true;
  expectPass(c);
  c.desc.mask = "j != 5"; // some of them are no longer kept
  expectPass(c);
}

TEST_P(NonFinite, Bias) {
  AttentionCase c = make(type(), 8, 1, 20, 70);
  c.desc.bias = DType::F32;
  c.edit = [](CaseInputs &x) {
    x.bias[3 * 70 + 5] = -kInfinity;
    x.bias[4 * 70 + 5] = kInfinity;
    x.bias[5 * 70 + 69] = kNaN;
    std::fill_n(x.bias.begin() + 6 * 70, 70, -kInfinity); // an empty row
    std::fill_n(x.bias.begin() + 7 * 70, 69, -kInfinity); // one key is left
    std::fill_n(x.bias.begin() + 8 * 70, 64, -kInfinity); // a first tile without weight
    std::fill_n(x.bias.begin() + 9 * 70 + 3, 67, -kInfinity);
  };
  for (bool sinks : {false, true}) {
    c.desc.sinks = sinks;
    CaseOutcome outcome = expectPass(c);
    EXPECT_TRUE(std::isnan(outcome.actual.lse[4]) && std::isnan(outcome.actual.lse[5]));
    EXPECT_EQ(outcome.actual.rowMax[6], -kInfinity);
    EXPECT_EQ(std::isinf(outcome.actual.lse[6]), !sinks);
    for (int64_t n = 0; n < 8; ++n)
      EXPECT_EQ(outcome.actual.o[6 * 8 + n], 0.0);
  }
}

/// A row of kept -inf scores is empty even where the values it has no weight for are NaN.
TEST_P(NonFinite, EmptyRowWithNaNValue) {
  AttentionCase c = make(type(), 8, 1, 4, 70);
  c.desc.score = "i == 2 ? -1.0 / 0.0 : s";
  c.edit = [](CaseInputs &x) { setRow(x.v, 8, 20, kNaN); };
  for (bool sinks : {false, true}) {
    c.desc.sinks = sinks;
    CaseOutcome outcome = expectPass(c);
    EXPECT_EQ(outcome.actual.o[2 * 8], 0.0);
  }
}

/// Nothing kept, by every kind of mask: o = 0, row max = -inf, lse = -inf or the sink's logit, exactly.
TEST_P(NonFinite, EmptyRows) {
  struct Kind {
    const char *name;
    std::function<void(AttentionCase &)> set;
  };
  const Kind kinds[] = {
      {"mask", [](AttentionCase &c) { c.desc.mask = "i % 3 != 1"; }},
      {"mask of constants", [](AttentionCase &c) { c.desc.mask = "1 > 2"; }},
      {"mask beyond the keys", [](AttentionCase &c) { c.desc.mask = "j >= sk"; }},
      {"score", [](AttentionCase &c) { c.desc.score = "i % 3 == 1 ? log(0.0) : s"; }},
      {"causal",
       [](AttentionCase &c) {
         c.desc.causal = Causal::BottomRight;
         c.sq = 50;
         c.sk = 20;
       }},
      {"window",
       [](AttentionCase &c) {
         c.desc.window = Window{0, 0};
         c.sq = 50;
         c.sk = 20;
       }},
      {"causal and window",
       [](AttentionCase &c) {
         c.desc.causal = Causal::TopLeft;
         c.desc.window = Window{2, -1};
         c.sq = 50;
         c.sk = 20;
       }},
      {"used",
       [](AttentionCase &c) {
         c.desc.sequsedK = DType::I64;
         c.used = {0, 30};
       }},
      {"packed",
       [](AttentionCase &c) {
         c.desc.packed = DType::I64;
         c.batch = 1;
         c.lengthsQ = {10, 0, 20};
         c.lengthsK = {0, 5, 7};
       }},
      {"packed, none",
       [](AttentionCase &c) {
         c.desc.packed = DType::I32;
         c.batch = 1;
         c.lengthsQ = c.lengthsK = {};
       }},
      {"no keys", [](AttentionCase &c) { c.sk = 0; }},
  };
  int number = 0;
  for (const Kind &kind : kinds)
    for (bool sinks : {false, true}) {
      if (!takes(number++))
        continue;
      AttentionCase c = make(type(), 8, 2, 31, 70, 2, 1);
      c.desc.sinks = sinks;
      kind.set(c);
      SCOPED_TRACE(kind.name);
      std::vector<double> logits;
      c.edit = [&](CaseInputs &x) { logits = x.sinks; };
      CaseOutcome outcome = expectPass(c);
      // Rows are [b, h, i] and outputs [b, i, h, d].
      int64_t rows = outcome.expected.rowShape.back();
      for (int64_t n = 0; n < int64_t(outcome.expected.rowMax.size()); ++n) {
        if (outcome.expected.rowMax[n] != -kInfinity)
          continue;
        int64_t b = n / (2 * rows), h = n / rows % 2, i = n % rows;
        EXPECT_EQ(outcome.actual.rowMax[n], -kInfinity);
        EXPECT_EQ(outcome.actual.lse[n], sinks ? double(float(logits[h])) : -kInfinity);
        for (int64_t d = 0; d < 8; ++d)
          EXPECT_EQ(outcome.actual.o[((b * rows + i) * 2 + h) * 8 + d], 0.0);
      }
    }
}

TEST_P(NonFinite, SinkWithoutWeight) {
  AttentionCase c = make(type(), 8, 1, 12, 70, 2, 1);
  c.desc.sinks = true;
  c.desc.mask = "i != 4";
  c.edit = [](CaseInputs &x) { x.sinks = {-kInfinity, 2.0}; };
  CaseOutcome outcome = expectPass(c);
  EXPECT_EQ(outcome.actual.lse[4], -kInfinity);
  EXPECT_EQ(outcome.actual.lse[12 + 4], 2.0);
}

} // namespace
