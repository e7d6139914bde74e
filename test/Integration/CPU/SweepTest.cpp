//===- SweepTest.cpp - shapes, types, strides and targets -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Plain attention over everything that changes how a kernel walks through memory. What attention means is
// tested in SemanticsTest and its neighbours, combinations in AttentionFuzz.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/TargetInfo.h"
#include "test/Support/AttentionCase.h"

#include <gtest/gtest.h>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F16};

void expectPass(const AttentionCase &c) {
  CaseOutcome outcome = runCase(c);
  EXPECT_TRUE(outcome.passed) << c.describe() << "\n" << outcome.message;
}

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const TargetInfo &target : allTargets())
    if (target.kind == TargetKind::CPU && canRunTarget(std::string(target.name)))
      names.push_back(std::string(target.name));
  return names;
}

/// Head dims around the widths of vectors and micro-tiles; each D meets a Dv of another size.
TEST(Sweep, HeadDims) {
  int64_t dims[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 40, 63, 65, 72, 96, 128, 192, 256, 320, 576};
  std::vector<std::string> names = targets();
  for (size_t i = 0; i < std::size(dims); ++i)
    for (size_t n = i; n < i + 2; ++n) {
      AttentionCase c = makeCase(kTypes[(i + n) % 3], dims[i], dims[(i * 7 + 3) % std::size(dims)],
                                 1, 9, 70, 1, 1);
      c.desc.target = names[n % names.size()];
      expectPass(c);
    }
}

/// The largest head dims leave the least room for tiles.
TEST(Sweep, LargestHeadDims) {
  for (const std::string &target : targets())
    for (auto [d, dv] : {std::pair{576, 576}, {576, 1}, {1, 576}, {575, 512}})
      for (int64_t queries : {0, 1}) {
        DType type = target == "x86-64-v3" ? DType::F32 : DType::BF16;
        AttentionCase c = makeCase(type, d, dv, 1, 7, 130, 1, 1);
        c.desc.target = target;
        c.desc.queries = queries;
        expectPass(c);
      }
}

/// Lengths around the sizes of tiles, on one kernel per type and target.
TEST(Sweep, Lengths) {
  for (const std::string &target : targets())
    for (DType type : kTypes)
      for (int64_t sq : {0, 1, 5, 6, 7, 95, 97, 383, 385})
        for (int64_t sk : {0, 1, 15, 17, 63, 64, 65, 200}) {
          AttentionCase c = makeCase(type, 16, 24, sq < 100 ? 2 : 1, sq, sk, 2, 1);
          c.desc.target = target;
          expectPass(c);
        }
}

TEST(Sweep, Strides) {
  for (const std::string &target : targets())
    for (DType type : kTypes)
      for (int mode = 0; mode < kNumStrides; ++mode) {
        AttentionCase c = makeCase(type, 40, 24, 2, 50, 90, 4, 2);
        c.desc.target = target;
        c.strides = static_cast<Strides>(mode);
        expectPass(c);
      }
}

/// A few queries read keys and values where they lie, or copy them where their elements are not adjacent.
TEST(Sweep, DecodingStrides) {
  for (const std::string &target : targets())
    for (DType type : kTypes)
      for (int mode = 0; mode < kNumStrides; ++mode)
        for (auto [heads, keys] : {std::pair{10, 200}, {4, 64}}) {
          AttentionCase c = makeCase(type, 64, 48, 2, 1, keys, heads, 2);
          c.desc.target = target;
          c.desc.queries = 1;
          c.strides = static_cast<Strides>(mode);
          expectPass(c);
        }
}

/// Groups of more heads than a tile has by itself, and of others than were said.
TEST(Sweep, LargeGroups) {
  for (const std::string &target : targets())
    for (DType type : kTypes)
      for (auto [groupSize, heads] : {std::pair{9, 9}, {20, 40}, {64, 64}, {100, 70}, {40, 3}}) {
        AttentionCase c = makeCase(type, 64, 48, 1, 1, 150, heads, heads == 40 ? 2 : 1);
        c.desc.target = target;
        c.desc.queries = 1;
        c.desc.groupSize = groupSize;
        c.desc.sinks = c.desc.wantLse = true;
        expectPass(c);
      }
}

/// Pages of all sizes, for many queries and for a few, whose keys are split.
TEST(Sweep, Pages) {
  for (const std::string &target : targets())
    for (DType type : kTypes)
      for (int64_t rows : {1, 3, 16, 64, 100})
        for (auto [queries, keys] : {std::pair{90, 300}, {1, 1200}, {1, 64}})
          for (int mode : {0, rows == 16 ? 4 : 1}) {
            AttentionCase c = makeCase(type, 64, 48, 2, queries, keys, 10, 2);
            c.desc.target = target;
            c.desc.queries = queries == 1;
            c.desc.sequsedK = c.desc.pageTable = DType::I32;
            c.used = {keys, keys / 2 + 1};
            c.pageRows = rows;
            c.strides = static_cast<Strides>(mode);
            expectPass(c);
          }
}

/// Tiles and micro-tiles of many shapes, f32 on vectors of 8 and of 16 lanes.
TEST(Sweep, Schedules) {
  struct Choice {
    const char *target, *schedule;
  };
  for (auto [target, schedule] : {Choice{"x86-64-v3", "paper"},
                                  {"x86-64-v3", "tile=[192,64],micro=[3,16]"},
                                  {"x86-64-v3", "tile=[5,48],micro=[1,16]"},
                                  {"x86-64-v3", "tile=[96,128],micro=[4,16],rows=heads,split=128"},
                                  {"x86-64-v4", "paper"},
                                  {"x86-64-v4", "tile=[12,64],micro=[6,32]"},
                                  {"x86-64-v4", "tile=[5,48],micro=[1,16],split=96"},
                                  {"x86-64-v4", "tile=[96,128],micro=[4,64],rows=heads"}})
    for (Strategy strategy : {Strategy::Online, Strategy::Standard}) {
      if (!canRunTarget(target))
        continue;
      AttentionCase c = makeCase(DType::F32, 64, 48, 1, 130, 200, 3, 1);
      c.desc.target = target;
      c.desc.strategy = strategy;
      c.desc.schedule = schedule;
      c.desc.causal = Causal::TopLeft;
      expectPass(c);
    }
}

/// Long sequences, where tiles are full and many.
TEST(Sweep, Long) {
  for (DType type : kTypes) {
    AttentionCase c = makeCase(type, 64, 64, 1, 700, 1500, 2, 1);
    expectPass(c);
    c.desc.causal = Causal::BottomRight;
    expectPass(c);
  }
}

} // namespace
