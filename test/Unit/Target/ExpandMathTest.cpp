//===- ExpandMathTest.cpp - measured error of the expanded functions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Runs the expanded functions through the CPU back end and compares them with
// the double-precision libm: every special value, all boundaries, and a million
// samples spread over all bit patterns; all 2^32 bit patterns (minutes) where
// the environment has FLASHC_EXHAUSTIVE=1. An ulp is that of f32 at the exact
// result, never below 2^-149.
//
//===----------------------------------------------------------------------===//
#include "Jit.h"

#include "runtime/CPU/HostCPU.h"
#include "runtime/Support/Half.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr int lanes = 16;
using Unary = void(const void *, void *);

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

/// Special values, neighbourhoods of thresholds, and samples over all bit patterns and the range
/// where the functions are neither 0 nor 1 nor inf; a multiple of `lanes`.
std::vector<float> testInputs() {
  std::vector<float> inputs = {
      0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, fromBits(0x7f800001), fromBits(0xff800001)};
  for (float center : {0.625f,      1.0f,       0.5f,        2.0f,
                       10.0f,       9.01f,      88.72283f,   87.33654f,
                       103.97f,     104.0f,     89.0f,       126.0f,
                       127.0f,      128.0f,     129.0f,      149.0f,
                       150.0f,      151.0f,     0.70710678f, 1.41421356f,
                       0.34657359f, 1.0397208f, 0x1p-126f,   0x1p22f,
                       0x1p23f,     0x1p31f,    0x1p-149f,   std::numeric_limits<float>::max()})
    for (int offset = -200; offset <= 200; ++offset) {
      float value = fromBits(std::bit_cast<uint32_t>(center) + uint32_t(offset));
      inputs.push_back(value);
      inputs.push_back(-value);
    }
  std::mt19937 random(1);
  for (int i = 0; i < 500000; ++i)
    inputs.push_back(fromBits(uint32_t(random())));
  std::uniform_real_distribution<float> wide(-160.0f, 160.0f), narrow(-2.0f, 2.0f);
  for (int i = 0; i < 250000; ++i) {
    inputs.push_back(wide(random));
    inputs.push_back(narrow(random));
  }
  inputs.resize((inputs.size() + lanes - 1) / lanes * lanes);
  return inputs;
}

/// |actual - exact| in ulps of f32 at `exact`; 0 where both are the same special value.
double ulpError(float actual, double exact) {
  if (std::isnan(exact))
    return std::isnan(actual) ? 0 : INFINITY;
  if (std::isnan(actual))
    return INFINITY;
  // What rounds to inf in f32 must be inf.
  constexpr double overflow = 0x1.ffffffp127;
  if (std::abs(exact) >= overflow)
    return std::isinf(actual) && std::signbit(actual) == std::signbit(exact) ? 0 : INFINITY;
  if (exact == 0)
    return actual == 0 ? 0 : INFINITY;
  double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  return std::abs(double(actual) - exact) / ulp;
}

struct Case {
  const char *op;
  double (*exact)(double);
  double bound;
};

class ExpandMathTest : public testing::TestWithParam<std::tuple<Case, std::string>> {};

TEST_P(ExpandMathTest, ErrorIsBounded) {
  auto [function, targetName] = GetParam();
  const TargetInfo *target = lookupTarget(targetName);
  ASSERT_TRUE(target);
  if (!HostCPU::get().canRun(*target))
    GTEST_SKIP() << "this machine is no " << targetName;
  Compiler compiler;
  auto object = compiler.load(
      unaryFunction("vector<16xf32>", "vector<16xf32>",
                    std::string("  %y = math.") + function.op + " %x : vector<16xf32>"),
      *target);
  ASSERT_TRUE(object) << compiler.error;
  auto *apply = object->function<Unary>("flashc_apply");
  std::vector<float> inputs = testInputs();
  double worst = 0;
  float worstAt = 0;
  auto check = [&](const float *chunk) {
    float outputs[lanes];
    apply(chunk, outputs);
    for (int lane = 0; lane < lanes; ++lane) {
      double error = ulpError(outputs[lane], function.exact(chunk[lane]));
      if (error > worst) {
        worst = error;
        worstAt = chunk[lane];
      }
    }
  };
  for (size_t i = 0; i < inputs.size(); i += lanes)
    check(&inputs[i]);
  if (std::getenv("FLASHC_EXHAUSTIVE"))
    for (uint64_t first = 0; first < (uint64_t(1) << 32); first += lanes) {
      float chunk[lanes];
      for (int lane = 0; lane < lanes; ++lane)
        chunk[lane] = fromBits(uint32_t(first + lane));
      check(chunk);
    }
  std::printf("%s on %s: %.3f ulp at %a\n", function.op, targetName.c_str(), worst, worstAt);
  EXPECT_LE(worst, function.bound) << "at " << worstAt;
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpandMathTest,
    testing::Combine(testing::Values(Case{"exp2", std::exp2, 0.9}, Case{"exp", std::exp, 1.05},
                                     Case{"log", std::log, 0.9}, Case{"tanh", std::tanh, 1.4}),
                     testing::Values("x86-64-v3", "x86-64-v4")));

/// The exponential of a softmax, for x <= 0: 1 at 0 exactly, 0 below 2^-126, and an error that is relative to 1, the
/// largest of its row, in between.
TEST(ExpandMath, SoftmaxExponential) {
  for (const char *name : {"x86-64-v3", "x86-64-v4"}) {
    const TargetInfo &target = *lookupTarget(name);
    if (!HostCPU::get().canRun(target))
      continue;
    Compiler compiler;
    auto object = compiler.load(unaryFunction("vector<16xf32>", "vector<16xf32>",
                                              "  %y = math.exp %x fastmath<afn> : vector<16xf32>"),
                                target);
    ASSERT_TRUE(object) << compiler.error;
    auto *apply = object->function<Unary>("flashc_apply");
    std::vector<float> inputs = testInputs();
    for (size_t i = 0; i < inputs.size(); i += lanes) {
      float chunk[lanes], outputs[lanes];
      for (int lane = 0; lane < lanes; ++lane)
        chunk[lane] = inputs[i + lane] > 0 ? -inputs[i + lane] : inputs[i + lane];
      apply(chunk, outputs);
      for (int lane = 0; lane < lanes; ++lane) {
        double x = chunk[lane], exact = std::exp(x);
        if (std::isnan(x))
          EXPECT_TRUE(std::isnan(outputs[lane])) << name;
        else if (x == 0 || x < -87.34)
          EXPECT_EQ(outputs[lane], x == 0 ? 1.0f : 0.0f) << name << " at " << x;
        else if (x > -87.33)
          EXPECT_LE(std::abs(outputs[lane] - exact), exact * (2e-7 + 1e-7 * -x))
              << name << " at " << x;
      }
    }
  }
}

TEST(ExpandMath, KeepsTheSignOfZero) {
  Compiler compiler;
  auto object = compiler.load(unaryFunction("f32", "f32", "  %y = math.tanh %x : f32"),
                              *lookupTarget("x86-64-v3"));
  ASSERT_TRUE(object) << compiler.error;
  float in = -0.0f, out = 1;
  object->function<Unary>("flashc_apply")(&in, &out);
  EXPECT_EQ(out, 0);
  EXPECT_TRUE(std::signbit(out));
}

TEST(ExpandMath, RoundsToBFloatLikeTheRuntime) {
  Compiler compiler;
  auto object =
      compiler.load(unaryFunction("vector<16xf32>", "vector<16xbf16>",
                                  "  %y = arith.truncf %x : vector<16xf32> to vector<16xbf16>"),
                    *lookupTarget("x86-64-v3"));
  ASSERT_TRUE(object) << compiler.error;
  auto *apply = object->function<Unary>("flashc_apply");
  std::vector<float> inputs = testInputs();
  for (size_t i = 0; i < inputs.size(); i += lanes) {
    uint16_t outputs[lanes];
    apply(&inputs[i], outputs);
    for (int lane = 0; lane < lanes; ++lane) {
      float input = inputs[i + lane];
      if (std::isnan(input))
        ASSERT_TRUE((outputs[lane] & 0x7fc0) == 0x7fc0) << std::hex << outputs[lane];
      else
        ASSERT_EQ(outputs[lane], floatToBfloat(input)) << input;
    }
  }
}

TEST(ExpandMath, WidensEveryBFloat) {
  Compiler compiler;
  auto object =
      compiler.load(unaryFunction("vector<16xbf16>", "vector<16xf32>",
                                  "  %y = arith.extf %x : vector<16xbf16> to vector<16xf32>"),
                    *lookupTarget("x86-64-v3"));
  ASSERT_TRUE(object) << compiler.error;
  auto *apply = object->function<Unary>("flashc_apply");
  for (uint32_t first = 0; first < 65536; first += lanes) {
    uint16_t inputs[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      inputs[lane] = uint16_t(first + lane);
    uint32_t outputs[lanes];
    apply(inputs, outputs);
    for (int lane = 0; lane < lanes; ++lane)
      ASSERT_EQ(outputs[lane], (first + lane) << 16);
  }
}

} // namespace
