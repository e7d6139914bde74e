//===- AttentionDescTest.cpp - the description, its table and its JSON -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/AttentionDesc.h"
#include "runtime/Support/Error.h"
#include "test/Unit/API/TestSupport.h"

#include <cmath>
#include <limits>

using namespace flashc;

namespace {

AttentionDesc plain() {
  AttentionDesc desc;
  desc.headDim = 64;
  return desc;
}

/// All fields set, though pages go with neither packed sequences nor the standard strategy.
AttentionDesc everything() {
  AttentionDesc desc;
  desc.name = "all";
  desc.dtype = DType::BF16;
  desc.headDim = 128;
  desc.valueDim = 96;
  desc.scale = 0.1;
  desc.causal = Causal::BottomRight;
  desc.window = Window{128, -1};
  desc.softcap = 30.5;
  desc.alibi = true;
  desc.bias = DType::F16;
  desc.sinks = true;
  desc.score = "s + slope[h] * (j - i)";
  desc.mask = "table[b, j] != 0 && i >= 0";
  desc.captures = {{"slope", DType::F32, 1}, {"table", DType::I32, 2}};
  desc.packed = DType::I32;
  desc.sequsedK = desc.pageTable = DType::I64;
  desc.wantLse = desc.wantRowMax = true;
  desc.strategy = Strategy::Standard;
  desc.queries = 2;
  desc.groupSize = 40;
  desc.schedule = "tile = [64, 64]";
  desc.target = "x86-64-v3";
  return desc;
}

TEST(AttentionDesc, DefaultsAreValidOnceTheHeadDimIsThere) {
  EXPECT_NO_THROW(plain().validate());
  EXPECT_ERROR(AttentionDesc().validate(), "head-dim: expected 1 to 576, got 0");
  EXPECT_EQ(plain().resolvedValueDim(), 64);
  EXPECT_DOUBLE_EQ(plain().resolvedScale(), 0.125);
}

TEST(AttentionDesc, JsonRoundTrips) {
  AttentionDesc valid = everything();
  valid.pageTable.reset();
  EXPECT_NO_THROW(valid.validate());
  EXPECT_EQ(AttentionDesc::fromJson(everything().toJson()), everything());
  EXPECT_EQ(AttentionDesc::fromJson(plain().toJson()), plain());
  EXPECT_EQ(plain().toJson(), R"({"dtype":"f32","head-dim":64})");
}

TEST(AttentionDesc, EveryFieldRoundTripsAsText) {
  AttentionDesc copy;
  for (const AttentionField &field : attentionFields()) {
    copy.set(field.key, everything().get(field.key));
    AttentionDesc cleared = everything();
    cleared.set(field.key, AttentionDesc().get(field.key));
    EXPECT_NE(cleared, everything()) << field.key << " is not a field of its own";
  }
  EXPECT_EQ(copy, everything());
}

TEST(AttentionDesc, TextSettersRefuseWhatTheyCannotRead) {
  AttentionDesc desc = everything();
  EXPECT_ERROR(desc.set("casual", "x"), "got 'casual'");
  EXPECT_ERROR(desc.set("casual", "x"), "dtype, head-dim");
  EXPECT_ERROR(desc.set("causal", "yes"), "expected top-left, bottom-right or none, got 'yes'");
  EXPECT_ERROR(desc.set("head-dim", "64x"), "expected an integer");
  EXPECT_ERROR(desc.set("head-dim", ""), "expected an integer");
  EXPECT_ERROR(desc.set("scale", "nan"), "expected a finite number");
  EXPECT_ERROR(desc.set("scale", "1e999"), "expected a finite number");
  EXPECT_ERROR(desc.set("window", "4"), "LEFT,RIGHT");
  EXPECT_ERROR(desc.set("window", "4,5,6"), "LEFT,RIGHT");
  EXPECT_ERROR(desc.set("alibi", "yes"), "expected true or false");
  EXPECT_ERROR(desc.set("dtype", "float"), "expected an element type");
  EXPECT_ERROR(desc.set("captures", "slope:f32"), "NAME:TYPE:RANK");
  EXPECT_ERROR(desc.set("captures", "slope:f33:1"), "expected an element type");
  EXPECT_ERROR(desc.set("strategy", "fast"), "online or standard");
  EXPECT_EQ(desc, everything()) << "a failed set must change nothing";
}

TEST(AttentionDesc, ValidateNamesTheFieldAndTheRange) {
  const auto check = [](auto change, const char *message) {
    AttentionDesc desc = everything();
    desc.pageTable.reset();
    change(desc);
    EXPECT_ERROR(desc.validate(), message);
  };
  check([](auto &d) { d.dtype = DType::F64; }, "dtype: expected one of f32, bf16, f16, got f64");
  check([](auto &d) { d.headDim = 577; }, "head-dim: expected 1 to 576, got 577");
  check([](auto &d) { d.valueDim = -1; }, "value-dim: expected 1 to 576, got -1");
  check([](auto &d) { d.scale = INFINITY; }, "scale: expected a finite number");
  check([](auto &d) { d.scale = 1e300; }, "range of f32");
  check([](auto &d) { d.window = Window{-2, 0}; }, "expected LEFT from -1 to 2^40, got -2");
  check([](auto &d) { d.window = Window{0, std::numeric_limits<int64_t>::max()}; },
        "expected RIGHT");
  check([](auto &d) { d.softcap = 0; }, "softcap: expected a positive number");
  check([](auto &d) { d.softcap = NAN; }, "softcap: expected a positive number");
  check([](auto &d) { d.softcap = 1e-60; }, "softcap: expected a positive number");
  check([](auto &d) { d.bias = DType::I32; }, "bias: expected one of f32, bf16, f16, got i32");
  check([](auto &d) { d.packed = DType::I8; }, "packed: expected one of i32, i64");
  check([](auto &d) { d.pageTable = DType::I32, d.sequsedK.reset(); },
        "page-table: expected seqused-k");
  check([](auto &d) { d.pageTable = DType::F32; }, "page-table: expected one of i32, i64");
  check([](auto &d) { d.pageTable = DType::I32; }, "got packed sequences");
  check(
      [](auto &d) {
        d.pageTable = DType::I32;
        d.packed.reset();
      },
      "page-table: expected the online strategy, got standard");
  check([](auto &d) { d.sequsedK = DType::F32; }, "seqused-k: expected one of i32, i64");
  check([](auto &d) { d.captures[0].name = "sq"; }, "got 'sq', which has a meaning already");
  check([](auto &d) { d.captures[0].name = "lse"; }, "got 'lse', which has a meaning already");
  check([](auto &d) { d.captures[0].name = "a-b"; }, "letters, digits and underscores");
  check([](auto &d) { d.captures[0].name = "table"; }, "got 'table' twice");
  check([](auto &d) { d.captures[0].dtype = DType::U8; }, "got u8");
  check([](auto &d) { d.captures[0].rank = 9; }, "expected a rank from 0 to 8 for 'slope'");
  check([](auto &d) { d.score = "s +"; }, "score expression");
  check([](auto &d) { d.mask = "unknown[i] > 0"; }, "mask expression");
  check([](auto &d) { d.name = "a b"; }, "name: expected letters");
}

TEST(AttentionDesc, HostileJsonIsRefused) {
  EXPECT_ERROR(AttentionDesc::fromJson("{"), "malformed");
  EXPECT_ERROR(AttentionDesc::fromJson(""), "malformed");
  EXPECT_ERROR(AttentionDesc::fromJson("[]"), "expected a description as a JSON object");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"head_dim":64})"), "got 'head_dim'");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"head-dim":64,"head-dim":32})"), "'head-dim' twice");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"head-dim":"64"})"), "expected a number");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"head-dim":6.5})"), "expected an integer");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"alibi":1})"), "expected true or false");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"captures":[1]})"), "expected an array of strings");
  EXPECT_ERROR(AttentionDesc::fromJson(R"({"captures":[[["a:f32:1"]]]})"), "nested");
  EXPECT_ERROR(AttentionDesc::fromJson(std::string(500000, '[')), "nested");
  EXPECT_ERROR(AttentionDesc::fromJson(std::string(2 << 20, ' ')), "at most");
}

TEST(AttentionDesc, NonFiniteAndNonUtf8FieldsStillPrint) {
  AttentionDesc desc = plain();
  desc.scale = NAN;
  desc.mask = "\xff\xfe";
  EXPECT_NO_THROW(desc.toJson());
}

} // namespace
