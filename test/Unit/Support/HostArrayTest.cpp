//===- HostArrayTest.cpp - host arrays and their element types -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Shapes that overflow, strides, and element access of every type.
//
//===----------------------------------------------------------------------===//
#include "runtime/Support/HostArray.h"

#include <gtest/gtest.h>

using namespace flashc;

namespace {

constexpr DType kAllTypes[] = {DType::Bool, DType::I8,  DType::I16,  DType::I32, DType::I64,
                               DType::U8,   DType::F16, DType::BF16, DType::F32, DType::F64};

TEST(DTypeTest, NamesParseBack) {
  for (const DType type : kAllTypes) {
    EXPECT_EQ(parseDType(nameOf(type)), type);
    EXPECT_EQ(isFloat(type), std::string_view(nameOf(type)).find('f') != std::string_view::npos);
  }
  EXPECT_EQ(parseDType("float"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
  EXPECT_EQ(parseDType("F32"), std::nullopt);
}

TEST(HostArrayTest, CountsRefuseNegativeAndOverflowingShapes) {
  const int64_t big = int64_t(1) << 32;
  EXPECT_EQ(countElements(std::vector<int64_t>{}), 1);
  EXPECT_EQ(countElements(std::vector<int64_t>{3, 0, 5}), 0);
  EXPECT_EQ(countElements(std::vector<int64_t>{-1}), std::nullopt);
  EXPECT_EQ(countElements(std::vector<int64_t>{0, -1}), std::nullopt);
  EXPECT_EQ(countElements(std::vector<int64_t>{big, big}), std::nullopt);
  EXPECT_EQ(countElements(std::vector<int64_t>{0, big, big}), std::nullopt);
  EXPECT_EQ(countElements(std::vector<int64_t>{big, big, 0}), std::nullopt);
  EXPECT_EQ(countBytes(DType::F64, std::vector<int64_t>{int64_t(1) << 60}), std::nullopt);
  EXPECT_THROW(HostArray::zeros(DType::F32, {-1}), Error);
  EXPECT_THROW(HostArray::zeros(DType::F32, {big, big}), Error);
}

TEST(HostArrayTest, StridesAreCOrder) {
  EXPECT_EQ(HostArray::zeros(DType::F32, {2, 3, 4}).strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(HostArray::zeros(DType::F32, {2, 0, 4}).strides(), (std::vector<int64_t>{4, 4, 1}));
  EXPECT_TRUE(HostArray::zeros(DType::F32, {}).strides().empty());
}

TEST(HostArrayTest, EveryTypeStoresAndLoads) {
  for (const DType type : kAllTypes) {
    HostArray array = HostArray::zeros(type, {3});
    EXPECT_EQ(array.sizeBytes(), 3 * sizeOf(type));
    array.set(1, 1.0);
    array.setInt(2, 1);
    EXPECT_EQ(array.at(0), 0.0);
    EXPECT_EQ(array.at(1), 1.0);
    EXPECT_EQ(array.intAt(2), 1);
  }
}

TEST(HostArrayTest, IntegersSaturateAndNanIsZero) {
  HostArray i8 = HostArray::zeros(DType::I8, {4});
  i8.set(0, 1e9);
  i8.set(1, -1e9);
  i8.set(2, std::nan(""));
  i8.set(3, -3.9);
  EXPECT_EQ(i8.intAt(0), 127);
  EXPECT_EQ(i8.intAt(1), -128);
  EXPECT_EQ(i8.intAt(2), 0);
  EXPECT_EQ(i8.intAt(3), -3);
  EXPECT_EQ(saturateToInt<int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(saturateToInt<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(saturateToInt<uint8_t>(-1), 0);
  EXPECT_EQ(saturateToInt<uint8_t>(300), 255);
}

TEST(HostArrayTest, LargeIntegersAreExactAndRoundOnce) {
  HostArray i64 = HostArray::zeros(DType::I64, {1});
  i64.setInt(0, INT64_MAX - 1);
  EXPECT_EQ(i64.intAt(0), INT64_MAX - 1);
  // Just above the middle of two bf16; as double it would be the middle.
  HostArray bf16 = HostArray::zeros(DType::BF16, {2});
  bf16.setInt(0, (int64_t(1) << 62) + (int64_t(1) << 54) + 1);
  bf16.setInt(1, -((int64_t(1) << 62) + (int64_t(1) << 54) + 1));
  EXPECT_EQ(bf16.at(0), 0x1p62 + 0x1p55);
  EXPECT_EQ(bf16.at(1), -(0x1p62 + 0x1p55));
  HostArray f32 = HostArray::zeros(DType::F32, {1});
  f32.setInt(0, (int64_t(1) << 62) + (int64_t(1) << 38) + 1);
  EXPECT_EQ(f32.at(0), 0x1p62 + 0x1p39);
}

TEST(HostArrayTest, TypedViewChecksElementSize) {
  HostArray array = HostArray::zeros(DType::BF16, {2});
  array.as<uint16_t>()[1] = 0x3f80;
  EXPECT_EQ(array.at(1), 1.0);
  EXPECT_THROW(array.as<float>(), Error);
}

} // namespace
