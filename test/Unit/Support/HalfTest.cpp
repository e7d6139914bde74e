//===- HalfTest.cpp - f16 and bf16 conversions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// All 65536 patterns both ways, and narrowing against the definition of
// nearest-even: the neighbours of a value are found by walking the patterns.
//
//===----------------------------------------------------------------------===//
#include "runtime/Support/Half.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace flashc;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Format {
  const char *name;
  float (*widen)(uint16_t);
  uint16_t (*fromFloat)(float);
  uint16_t (*fromDouble)(double);
  uint16_t infinity;
};

class NarrowFormats : public testing::TestWithParam<Format> {};

TEST_P(NarrowFormats, EveryPatternSurvivesARoundTrip) {
  const Format &format = GetParam();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t pattern = static_cast<uint16_t>(bits);
    const float value = format.widen(pattern);
    const bool isNan = (pattern & 0x7fff) > format.infinity;
    ASSERT_EQ(std::isnan(value), isNan) << bits;
    if (isNan) {
      for (const uint16_t back : {format.fromFloat(value), format.fromDouble(value)}) {
        ASSERT_GT(back & 0x7fff, format.infinity) << bits;
        ASSERT_EQ(back & 0x8000, pattern & 0x8000) << bits;
      }
      continue;
    }
    ASSERT_EQ(format.fromFloat(value), pattern);
    ASSERT_EQ(format.fromDouble(value), pattern);
  }
}

TEST_P(NarrowFormats, HalfwayGoesToEvenAndItsNeighboursToTheNearest) {
  const Format &format = GetParam();
  for (uint16_t low = 0; low + 1 < format.infinity; ++low) {
    const uint16_t high = low + 1;
    const double middle =
        (static_cast<double>(format.widen(low)) + static_cast<double>(format.widen(high))) / 2;
    const uint16_t even = low & 1 ? high : low;
    ASSERT_EQ(format.fromDouble(middle), even) << low;
    ASSERT_EQ(format.fromDouble(-middle), even | 0x8000) << low;
    // One double ulp off the middle: going through float would lose it.
    ASSERT_EQ(format.fromDouble(std::nextafter(middle, 0.0)), low) << low;
    ASSERT_EQ(format.fromDouble(std::nextafter(middle, 1e300)), high) << low;
    const float middleFloat = static_cast<float>(middle);
    if (middleFloat == middle) {
      ASSERT_EQ(format.fromFloat(middleFloat), even) << low;
      ASSERT_EQ(format.fromFloat(std::nextafter(middleFloat, 0.0f)), low) << low;
      ASSERT_EQ(format.fromFloat(std::nextafter(middleFloat, kInf)), high) << low;
    }
  }
}

TEST_P(NarrowFormats, OverflowsToInfinityFromHalfAnUlpBeyondTheLargest) {
  const Format &format = GetParam();
  const uint16_t largest = format.infinity - 1;
  const double top = format.widen(largest);
  const double ulp = top - format.widen(largest - 1);
  EXPECT_EQ(format.fromDouble(top + ulp / 2), format.infinity);
  EXPECT_EQ(format.fromDouble(std::nextafter(top + ulp / 2, 0.0)), largest);
  EXPECT_EQ(format.fromDouble(1e300), format.infinity);
  EXPECT_EQ(format.fromDouble(-1e300), format.infinity | 0x8000);
  EXPECT_EQ(format.fromFloat(std::numeric_limits<float>::max()), format.infinity);
  EXPECT_EQ(format.fromFloat(kInf), format.infinity);
  EXPECT_EQ(format.fromFloat(-kInf), format.infinity | 0x8000);
}

TEST_P(NarrowFormats, TinyValuesGoToSignedZero) {
  const Format &format = GetParam();
  const double least = format.widen(1);
  EXPECT_EQ(format.fromDouble(least / 2), 0);
  EXPECT_EQ(format.fromDouble(-least / 2), 0x8000);
  EXPECT_EQ(format.fromDouble(std::nextafter(least / 2, 1.0)), 1);
  EXPECT_EQ(format.fromDouble(5e-324), 0);
  EXPECT_EQ(format.fromDouble(-5e-324), 0x8000);
  EXPECT_EQ(format.fromDouble(-0.0), 0x8000);
}

TEST_P(NarrowFormats, SignallingNanWithOnlyLowPayloadBitsStaysNan) {
  const Format &format = GetParam();
  const float nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_GT(format.fromFloat(nan) & 0x7fff, format.infinity);
  EXPECT_GT(format.fromDouble(std::bit_cast<double>(0xfff0000000000001ull)) & 0x7fff,
            format.infinity);
}

TEST_P(NarrowFormats, FloatAndDoubleAgreeOnRandomFloats) {
  const Format &format = GetParam();
  std::mt19937 generator(7);
  for (int i = 0; i < 1000000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(generator()));
    if (!std::isnan(value))
      ASSERT_EQ(format.fromFloat(value), format.fromDouble(value)) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Half, NarrowFormats,
    testing::Values(Format{"f16", halfToFloat, floatToHalf, doubleToHalf, 0x7c00},
                    Format{"bf16", bfloatToFloat, floatToBfloat, doubleToBfloat, 0x7f80}),
    [](const auto &info) { return info.param.name; });

TEST(Half, KnownValues) {
  EXPECT_EQ(floatToHalf(1.0f), 0x3c00);
  EXPECT_EQ(floatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(0x1p-24f), 0x0001);
  EXPECT_EQ(halfToFloat(0x03ff), 0x3ffp-24f);
  EXPECT_EQ(floatToBfloat(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat(0x1p-133f), 0x0001);
}

} // namespace
