//===- KeyRangesTest.cpp - key ranges against brute force -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The named families are solved exactly, whatever the sizes and boxes; every mask is solved
// soundly.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Flash/MaskFixture.h"

#include <gtest/gtest.h>

using namespace flashc;
using namespace flashc::test;

namespace {

std::string print(const BoxSizes &box) {
  return concat("b=", box.b, " h=", box.h, " i in [", box.i0, ", ", box.iEnd, ") sq=", box.sq,
                " sk=", box.sk);
}

/// Calls `check` with many boxes of small problems.
void forBoxes(llvm::function_ref<void(const BoxSizes &)> check) {
  for (int64_t sq : {1, 2, 5, 9, 16})
    for (int64_t sk : {0, 1, 4, 9, 23})
      for (int64_t rows : {1, 3, 4, 16})
        for (int64_t i0 = 0; i0 < sq; i0 += rows)
          check({1, 2, i0, std::min(i0 + rows, sq), sq, sk});
}

/// Empty ranges are equal wherever they lie.
Borders normalized(Borders borders) {
  if (borders.maybeBegin >= borders.maybeEnd)
    borders.maybeBegin = borders.maybeEnd = 0;
  if (borders.fullBegin >= borders.fullEnd)
    borders.fullBegin = borders.fullEnd = 0;
  return borders;
}

void expectOrdered(const Borders &x, int64_t sk) {
  EXPECT_LE(0, x.maybeBegin) << x;
  EXPECT_LE(x.maybeBegin, x.fullBegin) << x;
  EXPECT_LE(x.fullBegin, x.fullEnd) << x;
  EXPECT_LE(x.fullEnd, x.maybeEnd) << x;
  EXPECT_LE(x.maybeEnd, sk) << x;
}

bool isSound(const MaskFixture &fixture, const BoxSizes &box, const Borders &borders) {
  std::vector<uint8_t> some, all;
  fixture.keys(box, some, all);
  for (int64_t j = 0; j < box.sk; ++j) {
    bool visited = j >= borders.maybeBegin && j < borders.maybeEnd;
    bool full = j >= borders.fullBegin && j < borders.fullEnd;
    if ((some[j] && !visited) || (full && !all[j]))
      return false;
  }
  return true;
}

RandomExpr::Capture ints(const std::string &name, DType dtype, std::vector<int64_t> values,
                         std::vector<int64_t> shape = {}) {
  if (shape.empty())
    shape = {static_cast<int64_t>(values.size())};
  HostArray array = HostArray::zeros(dtype, shape);
  for (size_t n = 0; n < values.size(); ++n)
    array.setInt(n, values[n]);
  return {name, array};
}

std::vector<RandomExpr::Capture> captures() {
  return {ints("prefix", DType::I32, {2, 5, 0, 7, 3, 1}, {2, 3}),
          ints("limit", DType::I64, {INT64_MAX, INT64_MIN, 4, -3, int64_t(1) << 41}),
          ints("count", DType::I64, {3, 7, 0, -2}),
          ints("flag", DType::Bool, {0, 1, 1, 0}),
          ints("bytes", DType::U8, {250, 6, 8}),
          ints("doc", DType::I16, std::vector<int64_t>(64, 3))};
}

class ExactFamily : public testing::TestWithParam<const char *> {};

TEST_P(ExactFamily, MatchesBruteForce) {
  MaskFixture fixture(GetParam(), captures());
  EXPECT_TRUE(fixture.ranges().exact) << fixture.ranges().why;
  forBoxes([&](const BoxSizes &box) {
    Borders solved = fixture.solve(box);
    expectOrdered(solved, box.sk);
    ASSERT_EQ(normalized(solved), normalized(fixture.bruteForce(box))) << print(box);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Masks, ExactFamily,
    testing::Values(
        // causal, both alignments, however it is written
        "j <= i", "j <= i + sk - sq", "i >= j", "!(j > i)", "j < i + 1 + (sk - sq)",
        "j - i <= sk - sq", "i - j >= 0", "2 * j <= 2 * i + 1", "-j >= -i", "~i <= ~j", "j < i",
        "i - j > 0",
        // windows
        "j <= i && i - j < 3", "j >= i + sk - sq - 2 && j <= i + sk - sq + 1", "abs(i - j) < 4",
        "abs(i + sk - sq - j) <= 0", "!(abs(j - i) > 2)", "max(i - j, j - i) <= 3", "i == j",
        "j == i + sk - sq", "j > i - 4", "j >= max(i - 3, 0) && j <= i", "j <= min(i, sq - 2)",
        // prefix
        "j < 3", "j <= i || j < 3", "j < prefix[b, h] || j <= i + sk - sq", "j < prefix[b, h]",
        "j < prefix[b, h] && j <= i", "j <= max(i, prefix[1, h - 1])", "j < limit[0]",
        "j < limit[1]", "j < limit[h]", "j < i + limit[h]", "j < i + limit[3]", "j - i < limit[4]",
        "j < bytes[0]", "j < bytes[h] && j <= i", "j >= prefix[b, 0]", "j < prefix[b, 9]",
        "j < prefix[b, -h]", "j < sk / 2", "j < sk - 3 && j <= i", "j < sk - sq % 3",
        // chunks
        "i / 4 == j / 4", "(i + sk - sq) / 4 == j / 4", "(i + 3) / 5 == (j + 3) / 5",
        "j / 4 <= i / 4", "j / 3 <= (i - 4) / 3", "(j - 5) / 3 <= (i - 5) / 3",
        "(i - 7) / 3 >= (j - 8) / 3", "(j - 5) / 3 >= (i - 5) / 3", "(i - 5) / 3 == (j - 5) / 3",
        "i >> 2 == j >> 2", "(i - 5 >> 1) >= (j - 5 >> 1)", "j / 4 * 4 <= i", "j >= i / 4 * 4",
        "j >= i - i % 4", "j - j % 4 <= i", "(j & ~3) <= i", "j >= (i & ~3)", "j >= i - (i & 3)",
        "-(j / 4) >= -(i / 4)", "j / -4 >= i / -4", "i / 4 - j / 4 < 1", "i / 4 == j / 4 && j <= i",
        "i / 4 - j / 4 <= 1 && i / 4 - j / 4 >= 0", "i / 4 == j / 4 || j < 2 && 0",
        // conjunctions, conditions on the batch or head, and truth values
        "j <= i && i - j < 5 && j < sk - 1", "j <= i && i / 8 == j / 8 && i - j < 3",
        "flag[h] && j <= i", "flag[b] ? j <= i : i - j < 3 && j <= i", "flag[3] || j >= i",
        "h < 2 || j <= i", "h % 2 ? j <= i : j >= i", "1", "0", "!0 && j <= i",
        "(j <= i) == (h == 2)", "(j <= i) != 0", "int(j <= i) * 1", "select(j <= i, 1, 0) > 0",
        "(j <= i) ^ 1", "select(flag[b], j, j + 3) <= i", "b == 1 && h > 1 && j <= i",
        "j <= i & i - j < 3",
        // conditions on the query only
        "i < 5", "i >= 4 && j <= i", "i >= 4 || j <= i", "i - i == 0", "j <= i + i / 2"));

/// Masks that are not solved exactly, with the reason.
struct Conservative {
  const char *mask, *why;
};

class ConservativeMask : public testing::TestWithParam<Conservative> {};

TEST_P(ConservativeMask, IsSoundAndExplained) {
  MaskFixture fixture(GetParam().mask, captures());
  EXPECT_FALSE(fixture.ranges().exact);
  EXPECT_NE(fixture.ranges().why.find(GetParam().why), std::string::npos) << fixture.ranges().why;
  forBoxes([&](const BoxSizes &box) {
    Borders solved = fixture.solve(box);
    expectOrdered(solved, box.sk);
    EXPECT_TRUE(isSound(fixture, box, solved)) << print(box) << " " << solved;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Masks, ConservativeMask,
    testing::Values(Conservative{"doc[i] == doc[j]", "reads capture 'doc' at a query index"},
                    Conservative{"doc[j] == 3", "reads capture 'doc' at a key index"},
                    Conservative{"j <= i && doc[i - j] > 0", "reads capture 'doc' at a key index"},
                    Conservative{"j < 2 || j <= i && i - j < 3", "gap"},
                    Conservative{"j != i", "gap"}, Conservative{"j * j < 50", "multiplies"},
                    Conservative{"j * h < 50", "multiplies"},
                    Conservative{"float(j) < 3.0", "compares floating-point"},
                    Conservative{"int(j * 0.5) < 3", "rounds a floating-point"},
                    Conservative{"j / h < 3", "divides by a value that is not constant"},
                    Conservative{"j % 3 == 0", "rounded quotient"},
                    Conservative{"j * 9223372036854775807 > 0", "2^60"},
                    Conservative{"j <= i && j <= 9 - i", "later and some for earlier"},
                    Conservative{"i < 3 && j >= i || j <= i", "gap"},
                    Conservative{"i % 3 <= 1", "neither grows nor falls"}));

TEST(KeyRanges, AConjunctionKeepsWhatIsKnown) {
  MaskFixture fixture("j <= i && doc[j] > 0", captures());
  EXPECT_EQ(fixture.solve({0, 0, 4, 8, 20, 20}), (Borders{0, 8, 0, 0}));
}

TEST(KeyRanges, ADisjunctionKeepsWhatIsKnown) {
  MaskFixture fixture("j <= i || doc[j] > 0", captures());
  EXPECT_EQ(fixture.solve({0, 0, 4, 8, 20, 20}), (Borders{0, 20, 0, 5}));
}

TEST(KeyRanges, AnEmptyRegionKeepsAll) {
  mlir::Region empty;
  mlir::Block block;
  mlir::OpBuilder builder(&maskContext());
  builder.setInsertionPointToStart(&block);
  mlir::Location loc = builder.getUnknownLoc();
  auto constant = [&](int64_t value) -> mlir::Value {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  };
  flash::QueryBox box{constant(0), constant(0), constant(0), constant(4), constant(4), constant(7)};
  flash::KeyRanges ranges = flash::emitKeyRanges(builder, loc, empty, box, {});
  EXPECT_TRUE(ranges.exact);
  EXPECT_TRUE(mlir::matchPattern(ranges.maybeBegin, mlir::m_Zero()));
  EXPECT_TRUE(mlir::matchPattern(ranges.fullBegin, mlir::m_Zero()));
  llvm::APInt end;
  ASSERT_TRUE(mlir::matchPattern(ranges.fullEnd, mlir::m_ConstantInt(&end)));
  EXPECT_EQ(end, 7);
  ASSERT_TRUE(mlir::matchPattern(ranges.maybeEnd, mlir::m_ConstantInt(&end)));
  EXPECT_EQ(end, 7);
}

TEST(KeyRanges, FoldsWhereInputsAreConstants) {
  for (const char *mask : {"j <= i + sk - sq && i - j < 3", "(i + sk - sq) / 4 == j / 4 && j <= i",
                           "abs(i - j) < 4 || j < 2", "j % 7 < 3 && (i - 5) / 3 >= j / 2",
                           "h < 2 ? j <= i : j != i"}) {
    MaskFixture fixture(mask);
    forBoxes([&](const BoxSizes &box) {
      std::optional<Borders> folded = fixture.fold(box);
      ASSERT_TRUE(folded.has_value()) << mask << " " << print(box);
      EXPECT_TRUE(isSound(fixture, box, *folded)) << mask << " " << print(box) << " " << *folded;
      // With known sizes it may be seen that there is no gap.
      Borders solved = fixture.solve(box);
      EXPECT_GE(folded->maybeBegin, solved.maybeBegin);
      EXPECT_GE(folded->fullEnd - folded->fullBegin, solved.fullEnd - solved.fullBegin);
    });
  }
}

TEST(KeyRanges, LongMasksEndInTime) {
  std::string nested = "i", alternatives = "j == 0", sum = "j", conjunction = "j <= i";
  for (int n = 0; n < 1000; ++n) {
    sum += " + i";
    conjunction += " && j <= i + " + std::to_string(n);
  }
  for (int n = 0; n < 100; ++n) {
    nested = "max(" + nested + ", j - " + std::to_string(n) + ")";
    alternatives += " || j == i - " + std::to_string(n * n);
  }
  for (const std::string &mask :
       {nested + " < 12", nested + " == " + nested, alternatives, sum + " < 2000", conjunction}) {
    MaskFixture fixture(mask);
    BoxSizes box{0, 0, 2, 6, 20, 20};
    EXPECT_TRUE(isSound(fixture, box, fixture.solve(box)));
  }
}

/// Masks of what the solver knows: sums, quotients, minima of i and j, compared and combined.
class RandomCondition {
public:
  explicit RandomCondition(uint64_t seed) : engine(seed) {}
  std::string condition(int depth) {
    if (depth <= 0 || below(4) == 0)
      return "(" + integer(2) + pick({" <= ", " < ", " >= ", " > ", " == ", " != "}) + integer(2) +
             ")";
    switch (below(8)) {
    case 0:
      return "!" + condition(depth - 1);
    case 1:
      return "(" + condition(depth - 1) + " ? " + condition(depth - 1) + " : " +
             condition(depth - 1) + ")";
    case 2:
    case 3:
      return "(" + condition(depth - 1) + " || " + condition(depth - 1) + ")";
    case 4:
      return "(" + condition(depth - 1) + pick({" == ", " ^ ", " & "}) + condition(depth - 1) + ")";
    default:
      return "(" + condition(depth - 1) + " && " + condition(depth - 1) + ")";
    }
  }

  std::mt19937_64 engine;
  bool hasExtremes = false; ///< some condition has integers beyond 2^40
  int64_t below(int64_t bound) { return static_cast<int64_t>(engine() % bound); }

private:
  std::string pick(std::initializer_list<const char *> choices) {
    return choices.begin()[below(choices.size())];
  }
  std::string number() {
    if (below(30) == 0) {
      hasExtremes = true;
      return pick({"9223372036854775807", "(-9223372036854775807 - 1)", "1152921504606846976",
                   "(-4611686018427387904)", "4294967296", "limit[0]", "limit[1]", "limit[4]"});
    }
    return pick({"0", "1", "2", "3", "5", "8", "(-1)", "(-4)", "prefix[b, h]", "count[h]",
                 "bytes[b]", "flag[h]", "h"});
  }
  std::string integer(int depth) {
    if (depth <= 0 || below(4) == 0)
      return below(4) ? pick({"i", "j", "i", "j", "sq", "sk", "(i + sk - sq)"}) : number();
    std::string a = integer(depth - 1);
    switch (below(14)) {
    case 0:
      return "(" + a + pick({" * 2", " * 3", " * (-1)", " * (-2)", " << 1", " * h", " * i"}) + ")";
    case 1:
    case 2:
      return "(" + a + pick({" / 3", " / 4", " / (-3)", " / 0", " >> 1", " / 1"}) + ")";
    case 3:
      return "(" + a + pick({" % 3", " % 4", " & 3", " & ~3", " % (-2)", " ^ 5", " | 1"}) + ")";
    case 4:
      return pick({"min(", "max("}) + a + ", " + integer(depth - 1) + ")";
    case 5:
      return "abs(" + a + ")";
    case 6:
      return "(" + condition(0) + " ? " + a + " : " + integer(depth - 1) + ")";
    case 7:
      return "(" + a + " * " + number() + ")";
    case 8:
      return "(" + a + " / " + number() + ")";
    case 9:
    case 10:
      return "(" + a + " - " + integer(depth - 1) + ")";
    default:
      return "(" + a + " + " + number() + ")";
    }
  }
};

/// How often masks were said to be exact, and were.
struct Tally {
  unsigned exact = 0, tight = 0;
};

void checkRandomBoxes(const std::string &text, const std::vector<RandomExpr::Capture> &arrays,
                      BoxSizes box, std::mt19937_64 &engine, bool checkTight, Tally &tally) {
  MaskFixture fixture(text, arrays);
  for (int n = 0; n < 6; ++n) {
    box.i0 = static_cast<int64_t>(engine() % box.sq);
    box.iEnd = box.i0 + 1 + static_cast<int64_t>(engine() % (box.sq - box.i0));
    Borders solved = fixture.solve(box);
    expectOrdered(solved, box.sk);
    ASSERT_TRUE(isSound(fixture, box, solved)) << text << "\n" << print(box) << " " << solved;
    if (!fixture.ranges().exact || !checkTight)
      continue;
    std::vector<uint8_t> some, all;
    bool hasEmptyRow = false;
    fixture.keys(box, some, all, &hasEmptyRow);
    bool isTight = normalized(solved) == normalized(fixture.bruteForce(box));
    ++tally.exact;
    tally.tight += isTight;
    // Only contradictions within a query may widen what is said to be exact.
    EXPECT_TRUE(isTight || hasEmptyRow)
        << text << "\n"
        << print(box) << " " << solved << " is " << fixture.bruteForce(box);
  }
}

TEST(KeyRangesFuzz, RandomMasksAreSound) {
  Tally tally;
  for (uint64_t seed = 0; seed < 4000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 engine(seed);
    auto below = [&](int64_t bound) { return static_cast<int64_t>(engine() % bound); };
    BoxSizes box{below(3), below(4), 0, 0, 1 + below(20), below(40)};
    RandomExpr random(seed, {3, 4, box.sq, box.sk});
    std::string text = random.mask(1 + seed % 4);
    checkRandomBoxes(text, random.captures(), box, engine, true, tally);
  }
  // Guards the test itself: most named families must come out exact.
  EXPECT_GT(tally.exact, 2000u);
  EXPECT_GT(tally.tight, tally.exact * 9 / 10);
}

TEST(KeyRangesFuzz, RandomConditionsAreSound) {
  Tally tally;
  for (uint64_t seed = 0; seed < 8000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCondition random(seed);
    std::string text = random.condition(seed % 4);
    BoxSizes box{random.below(2), random.below(4), 0, 0, 1 + random.below(16), random.below(24)};
    checkRandomBoxes(text, captures(), box, random.engine, !random.hasExtremes, tally);
  }
  EXPECT_GT(tally.exact, 2000u);
  EXPECT_GT(tally.tight, tally.exact * 9 / 10);
}

TEST(TileCounts, CausalAndWindow) {
  // 4 x 4 tiles of 16: the lower triangle.
  MaskFixture causal("j <= i");
  auto counts = flash::countTiles(causal.mask(), 2, 3, 64, 64, 16, 16);
  ASSERT_TRUE(mlir::succeeded(counts));
  EXPECT_TRUE(counts->exact) << counts->why;
  EXPECT_EQ(counts->empty, 6 * 6);
  EXPECT_EQ(counts->full, 6 * 6);
  EXPECT_EQ(counts->partial, 6 * 4);
  MaskFixture window("j <= i && i - j < 16");
  counts = flash::countTiles(window.mask(), 1, 1, 64, 64, 16, 16);
  EXPECT_TRUE(counts->exact);
  EXPECT_EQ(counts->empty, 9);
  EXPECT_EQ(counts->full, 0);
  EXPECT_EQ(counts->partial, 7);
}

TEST(TileCounts, TilesThatTheLastKeyCutsArePartial) {
  MaskFixture all("1");
  auto counts = flash::countTiles(all.mask(), 1, 2, 50, 70, 16, 32);
  EXPECT_EQ(counts->full, 2 * 4 * 2);
  EXPECT_EQ(counts->partial, 2 * 4);
  EXPECT_EQ(counts->empty, 0);
  EXPECT_TRUE(counts->exact);
}

TEST(TileCounts, HeadsMayDiffer) {
  MaskFixture heads("h == 0 || j <= i");
  auto counts = flash::countTiles(heads.mask(), 5, 2, 32, 32, 16, 16);
  EXPECT_EQ(counts->full, 5 * (4 + 1));
  EXPECT_EQ(counts->partial, 5 * 2);
  EXPECT_EQ(counts->empty, 5);
}

TEST(TileCounts, CapturesAreUnknown) {
  MaskFixture prefix("j < prefix[b, h] && j <= i", captures());
  auto counts = flash::countTiles(prefix.mask(), 1, 1, 32, 32, 16, 16);
  EXPECT_FALSE(counts->exact);
  EXPECT_NE(counts->why.find("contents of capture 'prefix'"), std::string::npos) << counts->why;
  EXPECT_EQ(counts->empty, 1);
  EXPECT_EQ(counts->partial, 3);
}

TEST(TileCounts, ExactnessIsChecked) {
  // Contradictory for every query, which only the check of single queries shows.
  MaskFixture never("j <= i && j > i + 5");
  EXPECT_TRUE(never.ranges().exact);
  EXPECT_FALSE(flash::countTiles(never.mask(), 1, 1, 32, 32, 16, 16)->exact);
  MaskFixture doc("doc[j] == 3", captures());
  EXPECT_FALSE(flash::countTiles(doc.mask(), 1, 1, 32, 32, 16, 16)->exact);
}

TEST(TileCounts, SizesMayBeZeroButNotNegative) {
  MaskFixture causal("j <= i");
  for (auto [batch, sq, sk] : {std::tuple(0, 4, 4), std::tuple(1, 0, 4), std::tuple(1, 4, 0)}) {
    auto counts = flash::countTiles(causal.mask(), batch, 1, sq, sk, 16, 16);
    ASSERT_TRUE(mlir::succeeded(counts));
    EXPECT_EQ(counts->empty + counts->full + counts->partial, 0);
  }
  EXPECT_TRUE(mlir::failed(flash::countTiles(causal.mask(), 1, 1, -1, 4, 16, 16)));
  EXPECT_TRUE(mlir::failed(flash::countTiles(causal.mask(), 1, 1, 4, 4, 0, 16)));
}

} // namespace
