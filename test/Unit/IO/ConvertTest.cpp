//===- ConvertTest.cpp - element type conversion -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every pair of types against the scalar accessors, and the edges of each.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Convert.h"

#include "test/Unit/IO/TestFiles.h"

#include <limits>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr DType kAllTypes[] = {DType::Bool, DType::I8,  DType::I16,  DType::I32, DType::I64,
                               DType::U8,   DType::F16, DType::BF16, DType::F32, DType::F64};
constexpr double kInf = std::numeric_limits<double>::infinity();

HostArray make(DType dtype, std::vector<double> values) {
  HostArray array = HostArray::zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    array.set(static_cast<int64_t>(i), values[i]);
  return array;
}

TEST(ConvertTest, EveryPairMatchesTheScalarAccessors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0,    -0.0, 1,     -1,   0.1,    2.5,   -3.7, 127.5, 255,
                                      1e5,  -1e5, 1e-8,  1e9,  -1e30,  1e39,  kInf, -kInf, nan,
                                      3e-5, 4096, 40000, 7e-8, 0x1p63, 1e-40, 65519};
  for (const DType from : kAllTypes) {
    for (const DType to : kAllTypes) {
      const HostArray source = make(from, values);
      const HostArray result = convert(source, to);
      ASSERT_EQ(result.dtype, to);
      ASSERT_EQ(result.shape, source.shape);
      for (int64_t i = 0; i < source.numElements(); ++i) {
        HostArray expected = HostArray::zeros(to, {1});
        if (isFloat(from))
          expected.set(0, source.at(i));
        else
          expected.setInt(0, source.intAt(i));
        if (std::isnan(expected.at(0)))
          EXPECT_TRUE(std::isnan(result.at(i)));
        else
          EXPECT_EQ(result.at(i), expected.at(0)) << nameOf(from) << " to " << nameOf(to);
        EXPECT_EQ(std::signbit(result.at(i)) && !std::isnan(result.at(i)),
                  std::signbit(expected.at(0)) && !std::isnan(expected.at(0)));
      }
    }
  }
}

TEST(ConvertTest, RoundsOnceToNearestEven) {
  // As float this double is the middle of two f16 or bf16; it lies just above.
  EXPECT_EQ(convert(make(DType::F64, {1 + 0x1p-11 + 0x1p-50}), DType::F16).at(0), 1 + 0x1p-10);
  EXPECT_EQ(convert(make(DType::F64, {1 + 0x1p-8 + 0x1p-50}), DType::BF16).at(0), 1 + 0x1p-7);
  EXPECT_EQ(convert(make(DType::F64, {1 + 0x1p-11}), DType::F16).at(0), 1);
  EXPECT_EQ(convert(make(DType::F64, {1 + 3 * 0x1p-11}), DType::F16).at(0), 1 + 0x1p-9);
  EXPECT_EQ(convert(make(DType::F32, {1 + 0x1p-8}), DType::BF16).at(0), 1);
}

TEST(ConvertTest, IntegersSaturate) {
  EXPECT_EQ(valuesOf(convert(make(DType::I32, {-1, 300, 7}), DType::U8)),
            (std::vector<double>{0, 255, 7}));
  EXPECT_EQ(valuesOf(convert(make(DType::F32, {-1e30, 1e30, -0.9}), DType::I16)),
            (std::vector<double>{-32768, 32767, 0}));
  HostArray large = HostArray::zeros(DType::I64, {1});
  large.setInt(0, INT64_MAX);
  EXPECT_EQ(convert(large, DType::I32).intAt(0), INT32_MAX);
  EXPECT_EQ(convert(convert(large, DType::F64), DType::I64).intAt(0), INT64_MAX);
}

TEST(ConvertTest, KeepsShapesAndRefusesInconsistentArrays) {
  EXPECT_EQ(convert(HostArray::zeros(DType::F32, {2, 0, 3}), DType::F16).shape,
            (std::vector<int64_t>{2, 0, 3}));
  EXPECT_EQ(convert(make(DType::F32, {2}), DType::F32).at(0), 2);
  HostArray broken = HostArray::zeros(DType::F32, {2});
  broken.shape = {3};
  expectError([&] { convert(broken, DType::F16); }, {"[3]"});
  EXPECT_THROW(convert(broken, DType::F64), Error);
}

} // namespace
