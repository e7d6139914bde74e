//===- SemanticsTest.cpp - masks, lengths, heads, outputs, threads --------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// NaN and empty rows stand in NonFiniteTest, the range of scores in ScoreRangeTest and the arithmetic of
// expressions in ExpressionTest.
//
//===----------------------------------------------------------------------===//

#include "runtime/API/KernelCache.h"
#include "runtime/Support/Error.h"
#include "test/Integration/CPU/Variants.h"

#include <random>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {

using Semantics = VariantTest;
INSTANTIATE_TEST_SUITE_P(Variants, Semantics, testing::ValuesIn(kVariants), nameOfVariant);

TEST_P(Semantics, CausalAlignments) {
  for (Causal causal : {Causal::TopLeft, Causal::BottomRight}) {
    AttentionCase c = make(type(), 16, 1, 0, 0, 2, 1);
    c.desc.causal = causal;
    for (auto [sq, sk] : {std::pair{70, 70}, {70, 150}, {150, 70}, {1, 200}, {200, 1}, {13, 12}}) {
      c.sq = sq;
      c.sk = sk;
      expectPass(c);
    }
  }
}

TEST_P(Semantics, Windows) {
  int n = 0;
  for (Causal causal : {Causal::None, Causal::TopLeft, Causal::BottomRight})
    for (Window window : {Window{-1, -1}, Window{0, -1}, Window{-1, 0}, Window{0, 0}, Window{5, 1},
                          Window{70, 3}, Window{int64_t(1) << 40, int64_t(1) << 40}}) {
      if (!takes(n++))
        continue;
      AttentionCase c = make(type(), 16, 1, 0, 0);
      c.desc.causal = causal;
      c.desc.window = window;
      for (auto [sq, sk] : {std::pair{70, 100}, {100, 70}}) {
        c.sq = sq;
        c.sk = sk;
        expectPass(c);
      }
    }
}

TEST_P(Semantics, WindowBelowMinusOneIsRefused) {
  AttentionCase c = make(type(), 16, 1, 4, 4);
  c.desc.window = Window{-2, 0};
  CaseOutcome outcome = runCase(c);
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.message.find("-1 means unlimited"), std::string::npos) << outcome.message;
}

TEST_P(Semantics, ZeroSizes) {
  for (bool sinks : {false, true}) {
    AttentionCase c = make(type(), 16, 0, 0, 0, 2, 1);
    c.desc.sinks = sinks;
    for (int64_t batch : {0, 2})
      for (int64_t sq : {0, 5})
        for (int64_t sk : {0, 5}) {
          c.batch = batch;
          c.sq = sq;
          c.sk = sk;
          expectPass(c);
        }
    c.hq = c.hkv = 0; // no heads
    expectPass(c);
  }
}

TEST_P(Semantics, GroupedQueries) {
  for (auto [hq, hkv] : {std::pair{1, 1}, {4, 4}, {4, 2}, {6, 2}, {8, 1}, {5, 5}}) {
    AttentionCase c = make(type(), 16, 2, 20, 70, hq, hkv);
    c.desc.alibi = c.desc.sinks = true;
    expectPass(c);
  }
}

TEST_P(Semantics, BiasBroadcasts) {
  std::vector<std::vector<int64_t>> shapes = {
      {},      {2, 4, 20, 70}, {1, 4, 20, 70}, {2, 1, 1, 70}, {4, 20, 1},  {20, 70},
      {1, 70}, {20, 1},        {70},           {1},           {1, 1, 1, 1}};
  for (DType biasType : {DType::F32, DType::BF16, DType::F16}) {
    AttentionCase c = make(type(), 16, 2, 20, 70, 4, 2);
    c.desc.bias = biasType;
    if (!isMain() && biasType != type())
      continue;
    for (const auto &shape : shapes) {
      c.biasShape = shape;
      expectPass(c);
    }
  }
}

TEST_P(Semantics, Packed) {
  AttentionCase c = make(type(), 16, 1, 0, 0, 4, 2);
  c.lengthsQ = {5, 0, 100, 17, 1};
  c.lengthsK = {9, 30, 90, 0, 64};
  for (DType lengthType : {DType::I32, DType::I64}) {
    if (lengthType == DType::I32 && !isMain())
      continue;
    c.desc.causal = Causal::None;
    c.desc.packed = lengthType;
    expectPass(c);
    c.desc.causal = Causal::BottomRight;
    c.desc.alibi = c.desc.sinks = true;
    c.desc.bias = DType::F32;
    expectPass(c);
    c.desc.sequsedK = lengthType;
    c.used = {3, 30, 65, 0, 0};
    expectPass(c);
    c.desc.window = Window{20, 0};
    c.desc.score = "s * 0.5 + float(b)";
    expectPass(c);
  }
}

TEST_P(Semantics, UsedKeys) {
  AttentionCase c = make(type(), 16, 4, 30, 140, 2, 2);
  c.desc.sequsedK = DType::I32;
  c.used = {0, 140, 65, 1};
  int n = 0;
  for (Causal causal : {Causal::BottomRight, Causal::None, Causal::TopLeft}) {
    if (n++ && !isMain())
      continue;
    c.desc.causal = causal;
    expectPass(c);
  }
}

TEST_P(Semantics, Pages) {
  AttentionCase c = make(type(), 16, 3, 30, 200, 4, 2);
  c.desc.sequsedK = DType::I32;
  c.used = {0, 193, 65};
  if (c.desc.strategy == Strategy::Standard) {
    c.desc.pageTable = DType::I32;
    EXPECT_NE(runCase(c).message.find("page-table: expected the online strategy, got standard"),
              std::string::npos);
    return;
  }
  for (int64_t rows : {1, 3, 16, 64, 100, 300})
    for (DType tableType : {DType::I32, DType::I64}) {
      if (tableType == DType::I64 && !isMain())
        continue;
      c.pageRows = rows;
      c.desc.pageTable = tableType;
      c.desc.causal = Causal::None;
      c.desc.window.reset();
      expectPass(c);
      c.desc.causal = Causal::BottomRight;
      expectPass(c);
      c.desc.window = Window{50, 0};
      expectPass(c);
    }
  c.desc.bias = DType::F32;
  c.desc.alibi = c.desc.sinks = true;
  c.desc.mask = "(i + j) % 5 != 2";
  expectPass(c);
  c.captureStrides = Strides::Negative; // the table's, too
  c.strides = Strides::HeadsFirst;
  expectPass(c);
}

TEST_P(Semantics, AllTogether) {
  for (DType type : types()) {
    AttentionCase c = make(type, 24, 2, 60, 150, 4, 2);
    c.desc.valueDim = 40;
    c.desc.scale = 0.3;
    c.desc.softcap = 5.0;
    c.desc.alibi = c.desc.sinks = true;
    c.desc.bias = DType::BF16;
    c.biasShape = {4, 1, 150};
    c.desc.window = Window{90, 3};
    c.desc.causal = Causal::BottomRight;
    c.desc.sequsedK = DType::I64;
    c.used = {150, 101};
    addCapture(c, "slope", DType::F32, {4}, {0.5, 0.25, -0.125, 0});
    c.desc.score = "s * 0.5 + (i % 3 == 1 ? 0.25 : tanh(float(j) / 100)) + slope[h]";
    c.desc.mask = "(i + j) % 5 != 2 || h == 1";
    expectPass(c);
  }
}

/// O has the same bits whichever outputs are asked for beside it.
TEST_P(Semantics, OptionalOutputs) {
  AttentionCase c = make(type(), 16, 1, 20, 70);
  CaseOutcome all = expectPass(c);
  c.allOutputs = false;
  for (bool lse : {false, true})
    for (bool rowMax : {false, true}) {
      c.desc.wantLse = lse;
      c.desc.wantRowMax = rowMax;
      CaseOutcome some = expectPass(c);
      EXPECT_EQ(some.actual.o, all.actual.o);
      EXPECT_EQ(some.actual.lse, lse ? all.actual.lse : std::vector<double>());
      EXPECT_EQ(some.actual.rowMax, rowMax ? all.actual.rowMax : std::vector<double>());
    }
}

/// One kernel serves all sizes.
TEST_P(Semantics, DynamicSizes) {
  AttentionCase c = make(type(), 16, 1, 1, 1);
  c.desc.causal = Causal::BottomRight;
  c.desc.wantLse = c.desc.wantRowMax = true;
  expectPass(c);
  std::shared_ptr<const Kernel> kernel = compileKernel(c.desc);
  std::mt19937_64 engine(3);
  for (int n = 0; n < 12; ++n) {
    c.batch = engine() % 4;
    c.hkv = 1 + engine() % 3;
    c.hq = c.hkv * (1 + engine() % 3);
    c.sq = engine() % 200;
    c.sk = engine() % 200;
    c.strides = static_cast<Strides>(engine() % kNumStrides);
    expectPass(c);
  }
  EXPECT_EQ(compileKernel(c.desc), kernel);
}

/// The same bits on any number of threads and from many callers at once.
TEST_P(Semantics, Threads) {
  AttentionCase c = make(type(), 16, 2, 100, 150, 4, 2);
  c.desc.causal = Causal::TopLeft;
  c.desc.sinks = true;
  CaseOutcome one = expectPass(c);
  for (int threads : {1, 2, 5, 0}) {
    c.threads = threads;
    EXPECT_EQ(runCase(c).actual.o, one.actual.o);
  }
  constexpr int callers = 6;
  std::vector<CaseOutcome> outcomes(callers * 3);
  std::vector<std::thread> pool;
  for (int caller = 0; caller < callers; ++caller)
    pool.emplace_back([&, caller] {
      AttentionCase own = c;
      own.threads = caller % 3;
      for (int n = 0; n < 3; ++n)
        outcomes[caller * 3 + n] = runCase(own);
    });
  for (std::thread &thread : pool)
    thread.join();
  for (const CaseOutcome &outcome : outcomes) {
    EXPECT_TRUE(outcome.passed) << outcome.message;
    EXPECT_EQ(outcome.actual.o, one.actual.o);
    EXPECT_EQ(outcome.actual.lse, one.actual.lse);
  }
}

/// BSHD and BHSD are strides of one kernel.
TEST_P(Semantics, Layouts) {
  AttentionCase c = make(type(), 16, 2, 40, 70, 4, 2);
  CaseOutcome dense = expectPass(c);
  c.strides = Strides::HeadsFirst;
  EXPECT_EQ(expectPass(c).actual.o, dense.actual.o);
  c.strides = Strides::Negative;
  EXPECT_EQ(expectPass(c).actual.o, dense.actual.o);
  c.strides = Strides::Padded;
  EXPECT_EQ(expectPass(c).actual.o, dense.actual.o);
}

} // namespace
