//===- RandomNormalTest.cpp - the same random arrays on every machine -----===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/RandomNormal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace flashc;
using namespace flashc::tool;

namespace {

HostArray normal(DType type, int64_t count, uint64_t seed, uint64_t stream) {
  HostArray array = HostArray::zeros(type, {count});
  fillNormal(array, seed, stream);
  return array;
}

TEST(RandomNormal, LogIsAccurate) {
  for (double x : {0x1p-1000, 1e-300, 1e-9, 0.1, 0.5, 0.70710678, 0.70710679, 0.999999, 1.0,
                   1.000001, 2.0, 10.0, 1e300})
    EXPECT_NEAR(portableLog(x), std::log(x), 0x1p-50 * std::max(1.0, std::fabs(std::log(x)))) << x;
}

/// These values are part of the interface: a seed means the same array for ever.
TEST(RandomNormal, GivesPublishedValues) {
  const HostArray array = normal(DType::F64, 65538, 0, 1);
  EXPECT_EQ(array.at(0), -0x1.1890c85a3ff4ap-1);
  EXPECT_EQ(array.at(1), -0x1.50190dc9592d1p-1);
  EXPECT_EQ(array.at(65535), 0x1.4387c32dd536dp-2);
  EXPECT_EQ(array.at(65536), 0x1.359f2b31b9fc6p+0); // the second block
  EXPECT_EQ(normal(DType::F64, 1, 123456789, 2).at(0), 0x1.df5816632d53ap-1);
}

TEST(RandomNormal, PrefixesAndTypesAgree) {
  const HostArray all = normal(DType::F64, 200000, 7, 3), some = normal(DType::F64, 70000, 7, 3);
  EXPECT_TRUE(std::equal(some.data.begin(), some.data.end(), all.data.begin()));
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    const HostArray rounded = normal(type, 1000, 7, 3);
    HostArray expected = HostArray::zeros(type, {1000});
    for (int64_t n = 0; n < 1000; ++n)
      expected.set(n, all.at(n));
    EXPECT_EQ(rounded.data, expected.data);
  }
}

TEST(RandomNormal, SeedsAndStreamsDiffer) {
  EXPECT_NE(normal(DType::F32, 8, 0, 1).data, normal(DType::F32, 8, 1, 1).data);
  EXPECT_NE(normal(DType::F32, 8, 0, 1).data, normal(DType::F32, 8, 0, 2).data);
}

TEST(RandomNormal, IsStandardNormal) {
  constexpr int64_t count = 1 << 20;
  const HostArray array = normal(DType::F64, count, 42, 1);
  double mean = 0, square = 0, fourth = 0;
  int64_t within = 0;
  for (int64_t n = 0; n < count; ++n) {
    const double x = array.at(n);
    mean += x / count;
    square += x * x / count;
    fourth += x * x * x * x / count;
    within += std::fabs(x) < 1;
  }
  EXPECT_NEAR(mean, 0, 0.005);
  EXPECT_NEAR(square, 1, 0.01);
  EXPECT_NEAR(fourth, 3, 0.05);
  EXPECT_NEAR(static_cast<double>(within) / count, 0.6827, 0.003);
}

TEST(RandomUniform, StaysInRange) {
  HostArray array = HostArray::zeros(DType::I32, {1000});
  fillUniform(array, 9, 0, 1);
  std::vector<int> seen(10);
  for (int64_t n = 0; n < 1000; ++n)
    ++seen.at(array.intAt(n));
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 50);
  fillUniform(array, 0, 0, 1);
  EXPECT_EQ(array.data, HostArray::zeros(DType::I32, {1000}).data);
}

} // namespace
