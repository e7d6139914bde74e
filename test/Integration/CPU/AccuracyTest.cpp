//===- AccuracyTest.cpp - errors beside those of an unfused evaluation ----===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// With so many rows that the plain factor of two applies, in the root mean square and at the 99.9th
// percentile. Prints the ratios.
//
//===----------------------------------------------------------------------===//

#include "runtime/IO/ArrayFile.h"
#include "test/Support/AttentionCase.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

using namespace flashc;
using namespace flashc::test;

namespace {

struct Problem {
  int64_t d, sq, sk, heads;
  double amplitude = 1;
  Causal causal = Causal::None;
};

/// Runs, prints a line, and checks that no slack was needed.
void measure(const AttentionCase &c, const char *what) {
  CaseOutcome outcome = runCase(c);
  ASSERT_TRUE(outcome.passed) << outcome.message << "\n" << c.describe();
  const Measure &o = outcome.measures.at("o"), &lse = outcome.measures.at("lse");
  auto ratio = [](double actual, double unfused) { return unfused > 0 ? actual / unfused : 0; };
  std::printf("%-4s %-16s %4lld %6lld %8lld  %8.2g %8.2g  %5.2f %5.2f   %5.2f\n",
              nameOf(c.desc.dtype), what, static_cast<long long>(c.desc.headDim),
              static_cast<long long>(c.sk), static_cast<long long>(outcome.actual.lse.size()),
              o.actual.rms, o.actual.p999, ratio(o.actual.rms, o.unfused.rms),
              ratio(o.actual.p999, o.unfused.p999), ratio(lse.actual.rms, lse.unfused.rms));
  std::fflush(stdout);
  EXPECT_LE(o.actual.rms, 2 * o.unfused.rms);
  EXPECT_LE(o.actual.p999, 2 * o.unfused.p999);
}

void printHeader() {
  std::printf("%-4s %-16s %4s %6s %8s  %8s %8s  %5s %5s   %5s\n", "type", "inputs", "D", "Sk",
              "rows", "rms", "99.9%", "rms/u", "99.9/u", "lse/u");
}

TEST(Accuracy, RandomInputs) {
  printHeader();
  const Problem problems[] = {
      {32, 1024, 512, 4},
      {64, 512, 1024, 8},
      {128, 1024, 512, 4},
      {64, 4096, 128, 1, 3},
      {64, 1024, 1024, 4, 1, Causal::BottomRight},
      {64, 512, 4096, 2},
  };
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    for (const Problem &problem : problems) {
      AttentionCase c = makeCase(type, problem.d, problem.d, 1, problem.sq, problem.sk,
                                 problem.heads, problem.heads);
      c.desc.causal = problem.causal;
      c.amplitude = problem.amplitude;
      measure(c, problem.amplitude != 1           ? "normal x 3"
                 : problem.causal != Causal::None ? "normal, causal"
                                                  : "normal");
    }
}

TEST(Accuracy, Strategies) {
  printHeader();
  for (const char *target : {"x86-64-v3", "x86-64-v4"}) {
    if (!canRunTarget(target))
      continue;
    for (Strategy strategy : {Strategy::Online, Strategy::Standard})
      for (DType type : {DType::F32, DType::BF16}) {
        AttentionCase c = makeCase(type, 64, 64, 1, 1024, 512, 4, 4);
        c.desc.target = target;
        c.desc.strategy = strategy;
        measure(c, strategy == Strategy::Online ? target : "standard");
      }
  }
}

/// Activations of a published encoder.
TEST(Accuracy, RealInputs) {
  const std::string path = FLASHC_TEST_DATA "/minilm-layer5-head.npz";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path;
  ArrayFile file = ArrayFile::open(path);
  HostArray q = file.read("q"), k = file.read("k"), v = file.read("v");
  ASSERT_EQ(q.rank(), 4);
  printHeader();
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    AttentionCase c = makeCase(type, q.shape[3], v.shape[3], q.shape[0], q.shape[1], k.shape[1],
                               q.shape[2], k.shape[2]);
    c.edit = [&](CaseInputs &x) {
      for (auto [values, array] : {std::pair(&x.q, &q), {&x.k, &k}, {&x.v, &v}})
        for (int64_t n = 0; n < array->numElements(); ++n)
          (*values)[n] = array->at(n);
    };
    measure(c, "encoder");
  }
}

} // namespace
