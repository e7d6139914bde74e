//===- SweepTest.cpp - every feature against the reference ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "test/Support/AttentionCase.h"

#include <gtest/gtest.h>

using namespace flashc;
using namespace flashc::test;

namespace {

void expectPass(const AttentionCase &c) {
  CaseOutcome outcome = runCase(c);
  EXPECT_TRUE(outcome.passed) << c.describe() << "\n" << outcome.message;
}

TEST(Sweep, Plain) { expectPass(makeCase(DType::F32, 32, 32, 2, 100, 130, 4, 2)); }

TEST(Sweep, Causal) {
  for (Causal causal : {Causal::TopLeft, Causal::BottomRight}) {
    AttentionCase c = makeCase(DType::F32, 64, 64, 1, 500, 700, 2, 1);
    c.desc.causal = causal;
    expectPass(c);
  }
}

TEST(Sweep, HeadDims) {
  int64_t dims[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 40, 63, 65, 72, 96, 128, 192, 256, 320, 576};
  for (DType type : {DType::F32, DType::BF16})
    for (size_t i = 0; i < std::size(dims); ++i)
      expectPass(makeCase(type, dims[i], dims[(i * 7 + 3) % std::size(dims)], 1, 9, 70, 1, 1));
}

TEST(Sweep, Lengths) {
  for (int64_t sq : {0, 1, 5, 6, 7, 383, 385})
    for (int64_t sk : {0, 1, 63, 64, 65, 200})
      expectPass(makeCase(DType::F32, 16, 16, 2, sq, sk, 2, 1));
}

TEST(Sweep, Strides) {
  for (Strides strides : {Strides::HeadsFirst, Strides::Padded, Strides::Negative,
                          Strides::ZeroKeyHeads})
    for (DType type : {DType::F32, DType::BF16, DType::F16}) {
      AttentionCase c = makeCase(type, 40, 24, 2, 50, 90, 4, 2);
      c.strides = strides;
      expectPass(c);
    }
}

TEST(Sweep, Features) {
  AttentionCase c = makeCase(DType::F32, 32, 32, 2, 60, 150, 4, 2);
  c.desc.softcap = 5.0;
  expectPass(c);
  c.desc.alibi = true;
  expectPass(c);
  c.desc.sinks = true;
  expectPass(c);
  c.desc.bias = DType::BF16;
  c.biasShape = {4, 1, 150};
  expectPass(c);
  c.desc.window = Window{20, 3};
  expectPass(c);
  c.desc.causal = Causal::TopLeft;
  expectPass(c);
  c.desc.score = "s * 0.5 + (i % 3 == 1 ? 0.25 : tanh(float(j) / 100))";
  c.desc.mask = "(i + j) % 5 != 2 || h == 1";
  expectPass(c);
  c.desc.dtype = DType::F16;
  expectPass(c);
  c.desc.strategy = Strategy::Standard;
  expectPass(c);
}

TEST(Sweep, Packed) {
  for (Strategy strategy : {Strategy::Online, Strategy::Standard}) {
    AttentionCase c = makeCase(DType::F32, 32, 32, 1, 0, 0, 4, 2);
    c.desc.strategy = strategy;
    c.desc.packed = DType::I32;
    c.lengthsQ = {5, 0, 400, 17};
    c.lengthsK = {9, 30, 390, 0};
    expectPass(c);
    c.desc.causal = Causal::BottomRight;
    c.desc.sinks = true;
    expectPass(c);
    c.desc.sequsedK = DType::I64;
    c.used = {3, 30, 100, 0};
    expectPass(c);
  }
}

TEST(Sweep, Standard) {
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    AttentionCase c = makeCase(type, 64, 32, 2, 70, 200, 2, 2);
    c.desc.strategy = Strategy::Standard;
    expectPass(c);
  }
}

TEST(Sweep, Types) {
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    expectPass(makeCase(type, 64, 64, 1, 70, 200, 2, 2));
}

} // namespace
