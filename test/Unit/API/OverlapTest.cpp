//===- OverlapTest.cpp - overlap of views against brute force -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Overlap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

using namespace flashc;

namespace {

/// How often each byte offset from `base` is part of an element of the view.
std::map<int64_t, int> touched(const StridedView &view, int64_t base) {
  std::map<int64_t, int> bytes;
  std::vector<int64_t> index(view.shape.size(), 0);
  for (int64_t extent : view.shape)
    if (extent == 0)
      return bytes;
  while (true) {
    int64_t offset = base;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * view.strides[d] * view.elementBytes;
    for (int64_t n = 0; n < view.elementBytes; ++n)
      ++bytes[offset + n];
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == view.shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return bytes;
  }
}

struct RandomView {
  std::vector<int64_t> shape, strides;
  int64_t offset, elementBytes;

  RandomView(std::mt19937 &random, bool dense) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int rank = static_cast<int>(pick(0, 4));
    elementBytes = int64_t(1) << pick(0, 3);
    int64_t step = pick(1, 3);
    for (int d = 0; d < rank; ++d) {
      shape.push_back(pick(dense, 4));
      strides.push_back(dense ? step * (pick(0, 1) ? 1 : -1) : pick(-12, 12));
      step *= shape.back() + pick(0, 1);
    }
    offset = pick(0, 30) * elementBytes;
  }

  StridedView view(const char *buffer) const {
    return {buffer + offset, elementBytes, shape, strides};
  }
};

TEST(Overlap, AgreesWithBruteForce) {
  static const char buffer[1 << 16] = {};
  const char *middle = buffer + (1 << 15);
  std::mt19937 random(7);
  int pairs = 0, overlapping = 0, selfOverlapping = 0;
  for (int n = 0; n < 4000; ++n) {
    const RandomView a(random, n % 2), b(random, n % 3 == 0);
    const auto bytesA = touched(a.view(middle), a.offset);
    const auto bytesB = touched(b.view(middle), b.offset);
    bool shared = false, self = false;
    for (const auto &[offset, count] : bytesA) {
      shared |= bytesB.count(offset) != 0;
      self |= count > 1;
    }
    ASSERT_EQ(mayOverlap(a.view(middle), b.view(middle)), shared) << n;
    ASSERT_EQ(mayOverlap(b.view(middle), a.view(middle)), shared) << n;
    ASSERT_EQ(mayOverlapItself(a.view(middle)), self) << n;
    ++pairs;
    overlapping += shared;
    selfOverlapping += self;
  }
  EXPECT_GT(overlapping, pairs / 10);
  EXPECT_LT(overlapping, pairs * 9 / 10);
  EXPECT_GT(selfOverlapping, pairs / 20);
}

TEST(Overlap, InterleavedViewsOfALargeBufferAreToldApart) {
  // q, k, v, o side by side in one [B, S, 4, H, D] buffer.
  const int64_t b = 64, s = 65536, h = 16, d = 128;
  const std::vector<int64_t> shape = {b, s, h, d};
  const std::vector<int64_t> strides = {s * 4 * h * d, 4 * h * d, d, 1};
  const char *base = reinterpret_cast<const char *>(uintptr_t(1) << 40);
  const StridedView q{base, 2, shape, strides};
  const StridedView o{base + 3 * h * d * 2, 2, shape, strides};
  const StridedView shifted{base + h * d * 2 - 2, 2, shape, strides};
  EXPECT_FALSE(mayOverlap(q, o));
  EXPECT_TRUE(mayOverlap(q, shifted));
  EXPECT_TRUE(mayOverlap(o, o));
  EXPECT_FALSE(mayOverlapItself(o));
}

TEST(Overlap, HugeStridesOfSingleElementsDoNotCount) {
  const std::vector<int64_t> shape = {1, 2}, strides = {INT64_MIN, 1};
  const float data[4] = {};
  const StridedView a{data, 4, shape, strides}, b{data + 2, 4, shape, strides};
  EXPECT_FALSE(mayOverlapItself(a));
  EXPECT_FALSE(mayOverlap(a, b));
}

} // namespace
