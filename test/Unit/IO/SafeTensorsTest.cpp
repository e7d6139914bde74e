//===- SafeTensorsTest.cpp - reading .safetensors -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every type, and headers that lie about structure, sizes and offsets.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/SafeTensors.h"

#include "test/Unit/IO/TestFiles.h"

using namespace flashc;
using namespace flashc::test;

namespace {

SafeTensorsFile open(const std::string &file) {
  return SafeTensorsFile(ByteSource::fromMemory(bytesOf(file), "x.safetensors"));
}

void expectRefused(const std::string &header, const std::string &data,
                   std::initializer_list<std::string> parts) {
  expectError([&] { open(safeTensors(header, data)); }, parts);
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(SafeTensorsTest, ReadsEveryType) {
  const auto check = [](const std::string &spelling, const std::string &data, DType dtype,
                        std::vector<double> expected) {
    const std::string header =
        "{" + tensor("t", spelling, "[2]", "[0," + std::to_string(data.size()) + "]") + "}";
    const std::string bytes = safeTensors(header, data);
    const HostArray array = open(bytes).read("t");
    EXPECT_EQ(array.dtype, dtype);
    EXPECT_EQ(array.shape, std::vector<int64_t>{2});
    EXPECT_EQ(valuesOf(array), expected);
  };
  check("F64", raw({1.5, -2.0}), DType::F64, {1.5, -2});
  check("F32", raw({1.5f, -2.0f}), DType::F32, {1.5, -2});
  check("F16", raw<uint16_t>({0x3e00, 0xc000}), DType::F16, {1.5, -2});
  check("BF16", raw<uint16_t>({0x3fc0, 0xc000}), DType::BF16, {1.5, -2});
  check("I64", raw<int64_t>({-1, 2}), DType::I64, {-1, 2});
  check("I32", raw<int32_t>({-1, 2}), DType::I32, {-1, 2});
  check("I16", raw<int16_t>({-1, 2}), DType::I16, {-1, 2});
  check("I8", raw<int8_t>({-1, 2}), DType::I8, {-1, 2});
  check("U8", raw<uint8_t>({255, 2}), DType::U8, {255, 2});
  check("BOOL", raw<uint8_t>({0, 2}), DType::Bool, {0, 1});
}

TEST(SafeTensorsTest, ReadsSeveralTensorsMetadataScalarsAndEmpty) {
  const std::string file =
      safeTensors("{\"__metadata__\":{\"format\":\"pt\",\"[{\\\"\":\"]\"}," +
                      tensor("b", "F32", "[]", "[4,8]") + "," + tensor("a", "F32", "[1]", "[0,4]") +
                      "," + tensor("e", "I64", "[0,7]", "[4,4]") + "}   ",
                  raw({1.0f, 2.0f}));
  const SafeTensorsFile tensors = open(file);
  EXPECT_EQ(tensors.names(), (std::vector<std::string>{"b", "a", "e"}));
  EXPECT_EQ(valuesOf(tensors.read("a")), std::vector<double>{1});
  EXPECT_EQ(valuesOf(tensors.read("b")), std::vector<double>{2});
  EXPECT_EQ(tensors.read("e").shape, (std::vector<int64_t>{0, 7}));
  EXPECT_FALSE(tensors.contains("__metadata__"));
  EXPECT_TRUE(open(safeTensors("{}", "")).names().empty());
}

TEST(SafeTensorsTest, OtherTypesAreRefusedOnlyWhenRead) {
  const std::string file = safeTensors("{" + tensor("a", "F8_E4M3", "[4]", "[0,4]") + "," +
                                           tensor("b", "F32", "[1]", "[4,8]") + "}",
                                       raw({1.0f, 2.0f}));
  const SafeTensorsFile tensors = open(file);
  EXPECT_EQ(valuesOf(tensors.read("b")), std::vector<double>{2});
  expectError([&] { tensors.read("a"); }, {"x.safetensors", "'a'", "F8_E4M3"});
  expectError([&] { tensors.read("c"); }, {"'c'", "'a', 'b'"});
}

TEST(SafeTensorsTest, RefusesBadOffsets) {
  const std::string data(8, '\0');
  const auto refused = [&](const std::string &tensors, std::initializer_list<std::string> parts) {
    expectRefused("{" + tensors + "}", data, parts);
  };
  refused(tensor("a", "F32", "[2]", "[8,0]"), {"offsets"});
  refused(tensor("a", "F32", "[2]", "[4,12]"), {"offsets"});
  refused(tensor("a", "F32", "[2]", "[0,18446744073709551615]"), {"offsets"});
  refused(tensor("a", "F32", "[2]", "[18446744073709551612,4]"), {"offsets"});
  refused(tensor("a", "F32", "[3]", "[0,8]"), {"12 bytes", "got 8"});
  refused(tensor("a", "F32", "[1]", "[0,4]"), {"fill"});
  refused(tensor("a", "F32", "[1]", "[4,8]"), {"gap or overlap"});
  refused(tensor("a", "F32", "[2]", "[0,8]") + "," + tensor("b", "F32", "[1]", "[4,8]"),
          {"gap or overlap"});
  refused(tensor("a", "F32", "[2]", "[0,8]") + "," + tensor("b", "F32", "[2]", "[0,8]"),
          {"gap or overlap"});
  refused(tensor("a", "F32", "[2]", "[0]"), {"two"});
  refused(tensor("a", "F32", "[2]", "[]"), {"two"});
  refused(tensor("a", "F32", "[2]", "[0,8,8]"), {"two"});
  refused(tensor("a", "F32", "[2]", "[0,-8]"), {"-8"});
  refused(tensor("a", "F32", "[2]", "[0,8.0]"), {"8.0"});
}

TEST(SafeTensorsTest, RefusesBadShapes) {
  const std::string data(8, '\0');
  const auto refused = [&](const std::string &shape, const std::string &part) {
    expectRefused("{" + tensor("a", "F32", shape, "[0,8]") + "}", data, {"x.safetensors", part});
  };
  refused("[4294967296,4294967296]", "63 bits");
  refused("[0,4294967296,4294967296]", "63 bits");
  refused("[2305843009213693952]", "63 bits");
  refused("[9223372036854775808]", "2^63");
  refused("[99999999999999999999999]", "99999999999999999999999");
  refused("[-2]", "-2");
  refused("[2.0]", "2.0");
  refused("[\"2\"]", "'2'");
  refused("[null]", "null");
  refused("[true]", "boolean");
  refused("[[2]]", "array");
  refused("2", "number 2");
  refused("{}", "object");
  std::string many = "[1";
  for (int i = 0; i < 64; ++i)
    many += ",1";
  refused(many + "]", "64 dimensions");
}

TEST(SafeTensorsTest, RefusesBadStructure) {
  const std::string good = tensor("a", "F32", "[2]", "[0,8]");
  const std::string data(8, '\0');
  for (const std::string &header : std::initializer_list<std::string>{
           "",
           " {}",
           "[]",
           "1",
           "{",
           "}",
           "{}}",
           "{}{}",
           "{" + good,
           "{" + good + ",}",
           "{" + good + "," + good + "}",
           "{\"a\":1}",
           "{\"a\":[]}",
           "{\"a\":null}",
           "{\"a\":{}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}",
           "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":{},\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":[],\"shape\":[2],\"data_offsets\":[0,8]}}",
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
           "{\"__metadata__\":1," + good + "}",
           "{\"__metadata__\":{\"a\":1}," + good + "}",
           "{\"__metadata__\":{\"a\":{}}," + good + "}",
           "{\"__metadata__\":{},\"__metadata__\":{}," + good + "}",
           "{\"a\xff\":{}}",
           "{" + good + "}\x1b[31m",
           std::string("{\0}", 3)})
    expectRefused(header, data, {"x.safetensors", "header"});
}

TEST(SafeTensorsTest, RefusesDeepNestingAndHugeHeaders) {
  for (const char *open : {"[", "{\"a\":"}) {
    std::string deep = "{\"a\":";
    for (int i = 0; i < 1000000; ++i)
      deep += open;
    expectRefused(deep, "", {"nesting of at most 256"});
  }
  // Brackets in strings do not nest.
  const std::string file =
      safeTensors("{\"__metadata__\":{\"a\":\"" + std::string(1000, '[') + "\\\"[\"}}", "");
  EXPECT_TRUE(open(file).names().empty());
  expectError([] { open(le(100000001, 8) + "{}"); }, {"at most 100000000", "100000001"});
  expectError([] { open(le(~uint64_t(0), 8) + "{}"); }, {"at most 100000000"});
  expectError([] { open(le(100, 8) + "{}"); }, {"truncated"});
}

TEST(SafeTensorsTest, RefusesEveryTruncationAndSurvivesEveryByteChange) {
  const std::string file =
      safeTensors("{" + tensor("a", "F32", "[2]", "[0,8]") + "}", raw({1.0f, 2.0f}));
  for (size_t size = 0; size < file.size(); ++size)
    expectError([&] { open(file.substr(0, size)); }, {"x.safetensors"});
  for (size_t i = 0; i < file.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      try {
        const SafeTensorsFile tensors = open(changed);
        for (const std::string &name : tensors.names())
          EXPECT_LE(tensors.read(name).sizeBytes(), 8u);
      } catch (const Error &) {
      }
    }
  }
}

} // namespace
