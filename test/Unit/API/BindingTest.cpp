//===- BindingTest.cpp - tensors that must not reach a kernel -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Binding.h"
#include "runtime/Support/Error.h"
#include "test/Unit/API/TestSupport.h"

#include <functional>
#include <map>

using namespace flashc;
using namespace flashc::test;

namespace {

/// A kernel's arguments with tensors that fit: B 2, Sq 3, Sk 5, Hq 4, Hkv 2, D 8, Dv 6.
class Call {
public:
  explicit Call(bool packed = false) {
    const int64_t b = packed ? 1 : 2;
    info.strategy = "online";
    add("q", DType::F32, {-1, -1, -1, 8}, {b, 3, 4, 8});
    add("k", DType::F32, {-1, -1, -1, 8}, {b, 5, 2, 8});
    add("v", DType::F32, {-1, -1, -1, 6}, {b, 5, 2, 6});
    add("sinks", DType::F32, {-1}, {4});
    if (packed) {
      add("cu_seqlens_q", DType::I32, {-1}, {3});
      add("cu_seqlens_k", DType::I64, {-1}, {3});
      setInts("cu_seqlens_q", {0, 1, 3});
      setInts("cu_seqlens_k", {0, 5, 5});
    }
    add("seqused_k", DType::I32, {-1}, {2});
    add("alibi", DType::F32, {-1}, {4});
    add("bias", DType::F32, {-1, -1, -1, -1}, {2, 4, 3, 5});
    add("table", DType::Bool, {-1, -1}, {2, 2});
    add("o", DType::F32, {-1, -1, -1, 6}, {b, 3, 4, 6});
    add("lse", DType::F32, {-1, -1, -1}, {b, 4, 3});
    add("row_max", DType::F32, {-1, -1, -1}, {b, 4, 3});
    for (const char *name : {"o", "lse", "row_max"})
      info.arguments[info.find(name)].isOutput = true;
  }

  Owned<int64_t> &operator[](const std::string &name) { return tensors.at(name); }

  void setInts(const std::string &name, const std::vector<int64_t> &values) {
    Owned<int64_t> &tensor = tensors.at(name);
    for (size_t n = 0; n < values.size(); ++n)
      if (tensor.dtype.bits == 32)
        reinterpret_cast<int32_t *>(tensor.values.data())[n] = static_cast<int32_t>(values[n]);
      else
        tensor.values[n] = values[n];
  }

  Binding bind() {
    std::vector<const DLTensor *> pointers;
    for (const KernelArgument &argument : info.arguments)
      pointers.push_back(tensors.at(argument.name).get());
    return Binding(info, pointers);
  }

  void addPageTable(std::vector<int64_t> shape) {
    add("page_table", DType::I32, {-1, -1}, std::move(shape));
  }

  KernelInfo info;

private:
  void add(const char *name, DType type, std::vector<int64_t> fixed, std::vector<int64_t> shape) {
    info.arguments.push_back({name, type, fixed, false});
    tensors.emplace(name, Owned<int64_t>(shape, toDLPack(type)));
  }

  std::map<std::string, Owned<int64_t>> tensors;
};

void expectError(bool packed, const std::function<void(Call &)> &change, const char *message) {
  Call call(packed);
  change(call);
  EXPECT_ERROR(call.bind(), message);
}

TEST(Binding, TensorsThatFitPass) {
  EXPECT_NO_THROW(Call(false).bind());
  EXPECT_NO_THROW(Call(true).bind());
}

TEST(Binding, DescriptorsHoldAddressExtentsAndStrides) {
  Call call;
  call["q"].strides = {0, -8, 16, 1};
  call["q"].byteOffset = 64;
  const Binding binding = call.bind();
  const auto *words = static_cast<const int64_t *>(binding.arguments()[0]);
  const auto address = reinterpret_cast<int64_t>(call["q"].values.data()) + 64;
  EXPECT_EQ(std::vector<int64_t>(words, words + 11),
            (std::vector<int64_t>{address, address, 0, 2, 3, 4, 8, 0, -8, 16, 1}));
  const auto *dense = static_cast<const int64_t *>(binding.arguments()[1]);
  EXPECT_EQ(std::vector<int64_t>(dense + 3, dense + 11),
            (std::vector<int64_t>{2, 5, 2, 8, 80, 16, 8, 1}));
}

TEST(Binding, StridesOfSingleElementsAreNormalised) {
  Call call;
  call["sinks"].shape = {4};
  call["q"].shape = {2, 3, 4, 8};
  call["table"].shape = {1, 1};
  call["table"].strides = {INT64_MIN, INT64_MAX};
  const Binding binding = call.bind();
  const auto *words = static_cast<const int64_t *>(binding.arguments()[call.info.find("table")]);
  EXPECT_EQ(std::vector<int64_t>(words + 3, words + 7), (std::vector<int64_t>{1, 1, 0, 1}));
}

TEST(Binding, EachTensorIsChecked) {
  const auto check = [](auto change, const char *message) { expectError(false, change, message); };
  check([](Call &c) { c["q"].device.device_type = kDLCUDA; },
        "q: expected a tensor in CPU memory (device type 1), got device type 2");
  check([](Call &c) { c["q"].dtype = f16; }, "q: expected f32, got f16");
  check([](Call &c) { c["q"].dtype = {kDLFloat, 32, 4}; }, "4 lanes");
  check([](Call &c) { c["q"].shape = {2, 3, 4}; }, "q: expected rank 4, got 3");
  check([](Call &c) { c["q"].shape[3] = 9; }, "q: expected extent 8 in dimension 3");
  check([](Call &c) { c["q"].shape[1] = -1; }, "q: expected extents from 0 to 2^40 - 1");
  check([](Call &c) { c["k"].shape[1] = int64_t(1) << 40; }, "k: expected extents from 0");
  check([](Call &c) { c["q"].strides = {INT64_MAX, 1, 1, 1}; }, "spans less than 2^62 bytes");
  check([](Call &c) { c["q"].strides = {INT64_MIN, 1, 1, 1}; }, "spans less than 2^62 bytes");
  check([](Call &c) { c["q"].byteOffset = 2; }, "multiple of 4 for f32");
  check([](Call &c) { c["table"].shape = {2}; }, "table: expected rank 2, got 1");
  check([](Call &c) { c["table"].dtype = i32; }, "table: expected bool, got i32");
  check([](Call &c) { c["seqused_k"].values = std::vector<int64_t>(); },
        "seqused_k: expected data for shape [2]");
}

TEST(Binding, NullsAndCountsAreChecked) {
  Call call;
  std::vector<const DLTensor *> none(call.info.arguments.size());
  EXPECT_ERROR(Binding(call.info, none), "q: expected a tensor, got a null pointer");
  none.pop_back();
  EXPECT_ERROR(Binding(call.info, none), "tensors (q, k, v, sinks, seqused_k, alibi, bias, table, "
                                         "o, lse, row_max), got 10");
}

TEST(Binding, LaterDLPackBoolIsBool) {
  Call call;
  call["table"].dtype = {6, 8, 1};
  EXPECT_NO_THROW(call.bind());
}

TEST(Binding, TensorsMustGoTogether) {
  const auto check = [](auto change, const char *message) { expectError(false, change, message); };
  check([](Call &c) { c["k"].shape[0] = 1; }, "k: expected shape [2, 5, 2, 8] (batch, keys");
  check([](Call &c) { c["v"].shape[1] = 4; }, "v: expected shape [2, 5, 2, 6]");
  check([](Call &c) { c["v"].shape[2] = 1; }, "v: expected shape [2, 5, 2, 6]");
  check([](Call &c) { c["q"].shape[2] = 3; }, "multiple of k's 2, got 3");
  check([](Call &c) { c["k"].shape[2] = c["v"].shape[2] = 0; }, "multiple of k's 0, got 4");
  check([](Call &c) { c["o"].shape[1] = 2; }, "o: expected shape [2, 3, 4, 6]");
  check([](Call &c) { c["lse"].shape = {2, 3, 4}; }, "lse: expected shape [2, 4, 3]");
  check([](Call &c) { c["row_max"].shape[0] = 1; }, "row_max: expected shape [2, 4, 3]");
  check([](Call &c) { c["sinks"].shape = {2}; }, "sinks: expected shape [4] (heads)");
  check([](Call &c) { c["alibi"].shape = {2}; }, "alibi: expected shape [4] (heads)");
  check([](Call &c) { c["bias"].shape = {1, 4, 3, 5}; }, "bias: expected shape [2, 4, 3, 5]");
  check([](Call &c) { c["seqused_k"].shape = {1}; }, "seqused_k: expected shape [2] (batch)");
}

TEST(Binding, UsedLengthsStayInRange) {
  expectError(
      false, [](Call &c) { c.setInts("seqused_k", {5, 6}); },
      "seqused_k: expected 0 to 5 (the keys there are), got 6 at index 1");
  expectError(false, [](Call &c) { c.setInts("seqused_k", {-1, 0}); }, "got -1 at index 0");
  expectError(
      true, [](Call &c) { c.setInts("seqused_k", {5, 1}); },
      "seqused_k: expected 0 to 0 (the keys there are), got 1 at index 1");
}

/// The call with pages of 3 keys: 4 of them, 2 for each sequence.
void makePaged(Call &call) {
  call.addPageTable({2, 2});
  call["k"].shape = {4, 3, 2, 8};
  call["v"].shape = {4, 3, 2, 6};
  call["bias"].shape = {2, 4, 3, 6};
  call["bias"].values.resize(200);
  call.setInts("page_table", {3, 0, 1, -7});
  call.setInts("seqused_k", {4, 3});
}

TEST(Binding, PagesAreChecked) {
  Call call;
  makePaged(call);
  EXPECT_NO_THROW(call.bind());
  const auto check = [](auto change, const char *message) {
    expectError(false, [&](Call &c) { makePaged(c), change(c); }, message);
  };
  check([](Call &c) { c.setInts("seqused_k", {7, 0}); }, "seqused_k: expected 0 to 6");
  check([](Call &c) { c.setInts("seqused_k", {4, 4}); },
        "page_table: expected pages from 0 to 3 (of k) where keys are in use, got -7 at index [1, "
        "1]");
  check([](Call &c) { c.setInts("page_table", {4}); }, "got 4 at index [0, 0]");
  check([](Call &c) { c["page_table"].shape = {1, 2}; },
        "page_table: expected shape [2, 2] (batch, most pages of a sequence)");
  check([](Call &c) { c["v"].shape[0] = 3; },
        "v: expected shape [4, 3, 2, 6] (pages, rows of a page");
  check([](Call &c) { c["bias"].shape[3] = 5; }, "bias: expected shape [2, 4, 3, 6]");
  check([](Call &c) { c["page_table"].shape[1] = int64_t(1) << 39; }, "fewer than 2^40 keys");
}

TEST(Binding, SequenceOffsetsRiseFromZeroToTheTotal) {
  const auto check = [](auto change, const char *message) { expectError(true, change, message); };
  check([](Call &c) { c.setInts("cu_seqlens_q", {1, 1, 3}); }, "expected 0 as the first value");
  check([](Call &c) { c.setInts("cu_seqlens_q", {0, 4, 3}); }, "got 3 after 4 at index 2");
  check([](Call &c) { c.setInts("cu_seqlens_k", {0, 5, 6}); }, "k's total length 5, got 6");
  check([](Call &c) { c["cu_seqlens_k"].shape = {0}; }, "expected one value more");
  check(
      [](Call &c) {
        c["cu_seqlens_k"].shape = {2};
        c.setInts("cu_seqlens_k", {0, 5});
      },
      "cu_seqlens_k: expected 3 values");
  check([](Call &c) { c["seqused_k"].shape = {1}; }, "seqused_k: expected shape [2] (sequences)");
  check([](Call &c) { c["q"].shape[0] = 2; }, "q: expected batch 1 for packed sequences");
  check([](Call &c) { c["bias"].shape = {2, 4, 1, 5}; }, "bias: expected shape [2, 4, 2, 5]");
}

TEST(Binding, OutputsShareNothing) {
  expectError(
      false, [](Call &c) { c["o"].strides = {72, 24, 0, 1}; },
      "o: expected every element at an address of its own");
  expectError(false, [](Call &c) { c["lse"].strides = {12, 3, 0}; }, "cannot be broadcast");
  Call call;
  std::vector<const DLTensor *> tensors;
  for (const KernelArgument &argument : call.info.arguments)
    tensors.push_back(call[argument.name].get());
  call["o"].view.data = call["v"].values.data();
  EXPECT_ERROR(Binding(call.info, tensors), "o: expected memory of its own, got memory shared "
                                            "with v");
  call["o"].view.data = call["o"].values.data();
  call["row_max"].view.data = call["lse"].values.data();
  EXPECT_ERROR(Binding(call.info, tensors), "memory shared with row_max");
  // Inputs may be the same memory.
  call["row_max"].view.data = call["row_max"].values.data();
  call["alibi"].view.data = call["sinks"].values.data();
  EXPECT_NO_THROW(Binding(call.info, tensors));
}

TEST(Binding, EmptyTensorsNeedNoData) {
  Call call;
  for (const char *name : {"k", "v"})
    call[name].shape[1] = 0;
  call["bias"].shape[3] = 0;
  call["k"].values = call["v"].values = call["bias"].values = std::vector<int64_t>();
  EXPECT_NO_THROW(call.bind());
}

TEST(Binding, ScoresOfTheStandardStrategyMustBeCountable) {
  Call call;
  call.info.strategy = "standard";
  call["k"].shape[1] = call["v"].shape[1] = (int64_t(1) << 40) - 1;
  call["bias"].shape[3] = call["k"].shape[1];
  call["q"].shape[0] = call["k"].shape[0] = call["v"].shape[0] = 1;
  for (const char *name : {"o", "lse", "row_max", "bias", "seqused_k"})
    call[name].shape[0] = 1;
  for (const char *name : {"k", "v", "bias"})
    call[name].strides = {0, 0, 0, 0};
  EXPECT_NO_THROW(call.bind());
  call["q"].shape[1] = call["o"].shape[1] = call["lse"].shape[2] = call["row_max"].shape[2] =
      call["bias"].shape[2] = 300;
  EXPECT_ERROR(call.bind(), "fewer than 2^50 scores");
}

TEST(Binding, StatesOfPartsMustBeCountable) {
  Call call;
  call.info.split = 8;
  call.info.tileRows = 64;
  call["k"].shape[1] = call["v"].shape[1] = call["bias"].shape[3] = (int64_t(1) << 40) - 1;
  for (const char *name : {"k", "v", "bias"})
    call[name].strides = {0, 0, 0, 0};
  EXPECT_NO_THROW(call.bind());
  call.info.tileRows = 65536;
  EXPECT_ERROR(call.bind(), "expected a workspace below 2^62 bytes, got parts of 8 keys");
}

} // namespace
