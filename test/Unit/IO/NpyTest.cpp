//===- NpyTest.cpp - reading and writing .npy -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every element type and order, and hostile headers.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Npy.h"

#include "test/Unit/IO/TestFiles.h"

#include <random>

using namespace flashc;
using namespace flashc::test;

namespace {

HostArray parse(const std::string &file) { return parseNpy(bytesOf(file), "x.npy"); }

void expectRefused(const std::string &file, std::initializer_list<std::string> parts) {
  expectError([&] { parse(file); }, parts);
}

/// A .npy whose header is `header`, as is, and that holds one f4.
std::string withHeader(const std::string &header) { return npy(header, raw({1.0f})); }

TEST(NpyTest, ReadsEveryElementType) {
  const auto check = [](const std::string &descr, const std::string &data, DType dtype,
                        std::vector<double> expected) {
    const HostArray array = parse(npyOf(descr, "(2,)", data));
    EXPECT_EQ(array.dtype, dtype) << descr;
    EXPECT_EQ(array.shape, std::vector<int64_t>{2});
    EXPECT_EQ(valuesOf(array), expected) << descr;
  };
  check("<f8", raw({1.5, -2.0}), DType::F64, {1.5, -2});
  check("<f4", raw({1.5f, -2.0f}), DType::F32, {1.5, -2});
  check("=f4", raw({1.5f, -2.0f}), DType::F32, {1.5, -2});
  check("f4", raw({1.5f, -2.0f}), DType::F32, {1.5, -2});
  check("<f2", raw<uint16_t>({0x3e00, 0xc000}), DType::F16, {1.5, -2});
  check("bfloat16", raw<uint16_t>({0x3fc0, 0xc000}), DType::BF16, {1.5, -2});
  check("|b1", raw<uint8_t>({0, 2}), DType::Bool, {0, 1});
  check("|i1", raw<int8_t>({-1, 2}), DType::I8, {-1, 2});
  check("|u1", raw<uint8_t>({255, 2}), DType::U8, {255, 2});
  check("<i2", raw<int16_t>({-300, 2}), DType::I16, {-300, 2});
  check("<i4", raw<int32_t>({-70000, 2}), DType::I32, {-70000, 2});
  check("<i8", raw<int64_t>({-1, int64_t(1) << 40}), DType::I64, {-1, 0x1p40});
}

TEST(NpyTest, ReadsBigEndian) {
  EXPECT_EQ(valuesOf(parse(npyOf(">f4", "(2,)", std::string("\x3f\xc0\0\0\xc0\0\0\0", 8)))),
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(valuesOf(parse(npyOf(">f2", "(1,)", std::string("\x3e\0", 2)))),
            std::vector<double>{1.5});
  EXPECT_EQ(valuesOf(parse(npyOf(">i8", "()", std::string("\0\0\0\0\0\0\1\2", 8)))),
            std::vector<double>{258});
  EXPECT_EQ(valuesOf(parse(npyOf(">f8", "()", std::string("\x3f\xf8\0\0\0\0\0\0", 8)))),
            std::vector<double>{1.5});
  // Order and byte order together: [[1, 2], [3, 4]] column by column.
  EXPECT_EQ(valuesOf(parse(npyOf(">i2", "(2, 2)", std::string("\0\1\0\3\0\2\0\4", 8), true))),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(NpyTest, ReadsFortranOrder) {
  const HostArray matrix = parse(npyOf("|u1", "(2, 3)", raw<uint8_t>({0, 3, 1, 4, 2, 5}), true));
  EXPECT_EQ(valuesOf(matrix), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(valuesOf(parse(npyOf("<f4", "(2,)", raw({1.0f, 2.0f}), true))),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(valuesOf(parse(npyOf("<f4", "()", raw({7.0f}), true))), std::vector<double>{7});
  EXPECT_EQ(parse(npyOf("<f4", "(3, 0, 2)", "", true)).shape, (std::vector<int64_t>{3, 0, 2}));
}

TEST(NpyTest, ReadsFortranOrderLargerThanAChunk) {
  constexpr int64_t a = 37, b = 101, c = 83; // beyond one chunk of 2^18 bytes
  std::string data;
  for (int64_t k = 0; k < c; ++k)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t i = 0; i < a; ++i)
        data += le((i * b + j) * c + k, 4);
  const HostArray array = parse(npyOf("<i4", "(37, 101, 83)", data, true));
  for (int64_t i = 0; i < array.numElements(); ++i)
    ASSERT_EQ(array.intAt(i), i);
}

TEST(NpyTest, ReadsVersionsScalarsAndEmpty) {
  for (const int major : {1, 2, 3}) {
    const HostArray scalar =
        parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", raw({3.0f}), major));
    EXPECT_EQ(scalar.rank(), 0);
    EXPECT_EQ(valuesOf(scalar), std::vector<double>{3});
  }
  EXPECT_EQ(parse(npyOf("<f4", "(0, 5)", "")).numElements(), 0);
}

TEST(NpyTest, AcceptsEverySpellingNumpyWrites) {
  EXPECT_EQ(
      parse(withHeader("{\"shape\":(1L,1),'fortran_order':False,'descr':\"<f4\"}  \n")).rank(), 2);
  EXPECT_EQ(
      parse(withHeader(" { 'descr' : '<f4' , 'shape' : ( 1 , ) , 'fortran_order' : False , } "))
          .rank(),
      1);
}

TEST(NpyTest, RefusesOtherElementTypes) {
  for (const char *descr : {"<c8", "<u2", "<u4", "<u8", "<f16", "|O", "<U4", "|S2", "<M8[ns]", "",
                            "f", "4", "<", "<<f4", "<f4 ", "float32", "|V4"})
    expectRefused(npyOf(descr, "(1,)", raw({1.0f})), {"x.npy", "element type", "a.astype"});
  for (const char *descr : {"|V2", "<V2"})
    expectRefused(npyOf(descr, "(2,)", raw({1.0f})), {descr, "bfloat16", ".safetensors"});
  expectRefused(withHeader("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
                {"structured"});
}

TEST(NpyTest, RefusesBadHeaders) {
  const std::string tail = ", 'fortran_order': False, 'shape': (1,)}";
  for (const std::string &header : std::initializer_list<std::string>{
           "",
           "{",
           "{}",
           "[]",
           "1",
           "{'descr': '<f4'}",
           "{'descr': '<f4'" + tail + "x",
           "{'descr': '<f4', 'descr': '<f4'" + tail,
           "{'descr': '<f4', 'more': 1" + tail,
           "{'descr': '<f4" + tail,
           "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<\\x664'" + tail,
           "{'descr': None" + tail,
           "{descr: '<f4'" + tail,
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0x1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ((1,),)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,-1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\x1b[31m"})
    expectRefused(withHeader(header), {"x.npy"});
  std::string many = "(";
  for (int i = 0; i < 65; ++i)
    many += "1,";
  expectRefused(npyOf("<f4", many + ")", raw({1.0f})), {"64 dimensions"});
  expectRefused(withHeader(std::string(60000, '(')), {".npy header"});
}

TEST(NpyTest, RefusesShapesThatOverflowOrDisagreeWithTheData) {
  for (const char *shape :
       {"(4611686018427387904, 4)", "(4294967296, 4294967296)", "(0, 4294967296, 4294967296)",
        "(4294967296, 4294967296, 0)", "(9223372036854775807,)"})
    expectRefused(npyOf("<f4", shape, raw({1.0f})), {"63 bits"});
  for (const bool fortran : {false, true}) {
    expectRefused(npyOf("<f4", "(1099511627776, 2)", raw({1.0f}), fortran), {"truncated"});
    expectRefused(npyOf("<f4", "(0, 1)", raw({1.0f}), fortran), {"0 bytes", "got 4"});
    expectRefused(npyOf("<f4", "(2, 1)", raw({1.0f}), fortran), {"8 bytes", "got 4"});
  }
  expectRefused(npyOf("<f4", "(1,)", raw({1.0f, 2.0f})), {"more than one array"});
}

TEST(NpyTest, RefusesOtherFilesAndVersions) {
  expectRefused("", {"truncated"});
  expectRefused("PK\3\4 this is a zip", {"magic"});
  expectRefused(std::string("\x93NUMPX\1\0", 8), {"magic"});
  for (const int major : {0, 4, 255})
    expectRefused(npy("{}", "", major), {"version"});
  expectRefused(std::string("\x93NUMPY\1\1\2\0{}", 12), {"version"});
  expectRefused(std::string("\x93NUMPY\2\0", 8) + le(0xffffffff, 4) + "{}", {"65536"});
}

TEST(NpyTest, RefusesEveryTruncation) {
  for (const int major : {1, 3}) {
    const std::string file = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n",
                                 raw({1.0f, 2.0f, 3.0f, 4.0f}), major);
    parse(file);
    for (size_t size = 0; size < file.size(); ++size)
      expectRefused(file.substr(0, size), {"x.npy"});
  }
}

TEST(NpyTest, SurvivesEveryByteChange) {
  const std::string file = npyOf("<f4", "(2, 2)", raw({1.0f, 2.0f, 3.0f, 4.0f}));
  for (size_t i = 0; i < file.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      try {
        EXPECT_LE(parse(changed).sizeBytes(), 16u);
      } catch (const Error &) {
      }
    }
  }
}

TEST(NpyTest, SizeLimitIsCheckedFirst) {
  const std::string file = npyOf("<f4", "(1,)", raw({1.0f}));
  ReadLimits limits;
  limits.maxFileBytes = file.size() - 1;
  expectError([&] { parseNpy(bytesOf(file), "x.npy", limits); }, {"at most"});
  const ScratchDirectory scratch;
  const std::string path = scratch.write("x.npy", "no array, and not read");
  limits.maxFileBytes = 5;
  expectError([&] { readNpy(path, limits); }, {path, "at most 5 bytes"});
}

TEST(NpyTest, WritesWhatItReads) {
  const ScratchDirectory scratch;
  std::mt19937 generator(3);
  for (const DType dtype : {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8,
                            DType::F16, DType::F32, DType::F64}) {
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {0}, {5}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4}}) {
      HostArray array = HostArray::zeros(dtype, shape);
      for (std::byte &value : array.data)
        value = std::byte(generator() & (dtype == DType::Bool ? 1 : 255));
      const std::string path = scratch.path("out.npy");
      writeNpy(path, array);
      const HostArray back = readNpy(path);
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.data, array.data);
      EXPECT_EQ((scratch.read("out.npy").size() - array.sizeBytes()) % 64, 0u);
    }
  }
  EXPECT_EQ(scratch.fileCount(), 1u);
}

TEST(NpyTest, WritesBfloatAsFloat) {
  const ScratchDirectory scratch;
  HostArray array = HostArray::zeros(DType::BF16, {2});
  array.set(1, 1.5);
  writeNpy(scratch.path("out.npy"), array);
  const HostArray back = readNpy(scratch.path("out.npy"));
  EXPECT_EQ(back.dtype, DType::F32);
  EXPECT_EQ(valuesOf(back), (std::vector<double>{0, 1.5}));
}

TEST(NpyTest, RefusesToWriteAnInconsistentArray) {
  const ScratchDirectory scratch;
  HostArray array = HostArray::zeros(DType::F32, {2});
  array.shape = {3};
  expectError([&] { writeNpy(scratch.path("out.npy"), array); }, {"out.npy", "[3]"});
  EXPECT_EQ(scratch.fileCount(), 0u);
}

} // namespace
