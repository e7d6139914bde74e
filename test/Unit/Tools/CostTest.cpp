//===- CostTest.cpp - operations and memory traffic of attention ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Cost.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace flashc;
using namespace flashc::tool;

namespace {

/// The kept pairs, counted one by one.
int64_t countSlowly(const AttentionDesc &desc, int64_t sq, int64_t sk) {
  const int64_t o = desc.causal == Causal::TopLeft ? 0 : sk - sq;
  int64_t count = 0;
  for (int64_t i = 0; i < sq; ++i)
    for (int64_t j = 0; j < sk; ++j) {
      const bool causal = desc.causal == Causal::None || j <= i + o;
      const bool left = !desc.window || desc.window->left < 0 || j >= i + o - desc.window->left;
      const bool right = !desc.window || desc.window->right < 0 || j <= i + o + desc.window->right;
      count += causal && left && right;
    }
  return count;
}

TEST(Cost, CountsKeptPairsOfKnownMasks) {
  for (Causal causal : {Causal::None, Causal::TopLeft, Causal::BottomRight})
    for (int64_t left : {-1, 0, 1, 3, 20})
      for (int64_t right : {-1, 0, 2, 20})
        for (int64_t sq : {0, 1, 5, 9})
          for (int64_t sk : {0, 1, 4, 9, 13}) {
            AttentionDesc desc;
            desc.causal = causal;
            desc.window = Window{left, right};
            EXPECT_EQ(keptPairs(desc, sq, sk), countSlowly(desc, sq, sk))
                << "causal " << int(causal) << " window " << left << "," << right << " sq " << sq
                << " sk " << sk;
          }
  AttentionDesc huge;
  huge.causal = Causal::TopLeft;
  EXPECT_NEAR(keptPairs(huge, int64_t(1) << 39, int64_t(1) << 39), 0x1p77, 0x1p40);
}

Inputs problem() {
  Inputs inputs;
  inputs.desc.headDim = inputs.desc.valueDim = 64;
  inputs.desc.dtype = DType::BF16;
  inputs.sizes = Sizes{2, 1000, 500, 8, 4};
  inputs.arrays["q"] = {DType::BF16, {2, 1000, 8, 64}, {}};
  inputs.arrays["k"] = {DType::BF16, {2, 500, 4, 64}, {}};
  inputs.arrays["v"] = {DType::BF16, {2, 500, 4, 64}, {}};
  return inputs;
}

PairCount noCounter(const Lengths &, int64_t) {
  ADD_FAILURE() << "known masks need no compiler";
  return {};
}

TEST(Cost, CountsOperations) {
  const Inputs inputs = problem();
  const PairCount pairs = countPairs(inputs, noCounter);
  EXPECT_EQ(pairs.kept, 2. * 8 * 1000 * 500);
  EXPECT_EQ(pairs.kept, pairs.all);
  EXPECT_EQ(countFlops(inputs, pairs), 4. * 2 * 8 * 1000 * 500 * 64);
}

TEST(Cost, AsksTheCompilerForExpressions) {
  Inputs inputs = problem();
  inputs.desc.mask = "j < 3";
  const PairCount pairs = countPairs(inputs, [](const Lengths &lengths, int64_t heads) {
    EXPECT_EQ(lengths.batch, 2);
    EXPECT_EQ(heads, 8);
    return PairCount{5, 0, false, "because"};
  });
  EXPECT_EQ(pairs.kept, 5);
  EXPECT_FALSE(pairs.exact);
  EXPECT_EQ(pairs.why, "because");
}

TEST(Cost, CountsTraffic) {
  const Inputs inputs = problem();
  const std::vector<Traffic> traffic = countTraffic(inputs, 0.5, {300});
  auto find = [&](const std::string &name) {
    for (const Traffic &entry : traffic)
      if (entry.operand == name)
        return entry;
    ADD_FAILURE() << name;
    return Traffic();
  };
  EXPECT_EQ(find("q").standard, 2. * 1000 * 8 * 64 * 2);
  EXPECT_EQ(find("q").tiled, find("q").standard);
  EXPECT_EQ(find("k").standard, 2. * 500 * 4 * 64 * 2);
  EXPECT_EQ(find("k").tiled,
            0.5 * 4 * (2. * 8 * 500 * 64 * 2)); // 4 tiles of queries, half the keys
  EXPECT_EQ(find("s").standard, 2 * 4. * 2 * 8 * 1000 * 500);
  EXPECT_EQ(find("p").standard, 2 * 2. * 2 * 8 * 1000 * 500);
  EXPECT_EQ(find("s").tiled, 0);
  // The two heads of a group in one tile, for each query.
  EXPECT_EQ(countRowTiles(inputs, 1000, {8, true}), 1000 * 4);
  EXPECT_EQ(countRowTiles(inputs, 1000, {1, true}), 1000 * 8);
  EXPECT_EQ(countTraffic(inputs, 1, {8, true})[1].tiled, 1000 * 4 * (2. * 500 * 64 * 2));
  EXPECT_EQ(leastBytes(inputs), 2 * (2. * 1000 * 8 * 64 * 2 + 2. * 500 * 4 * 64 * 2));
}

} // namespace
