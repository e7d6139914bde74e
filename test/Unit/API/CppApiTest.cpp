//===- CppApiTest.cpp - flashc.hpp, and through it flashc.h -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Provider.h"
#include "runtime/API/flashc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace {

using flashc::AttentionDesc;
using flashc::DType;

std::string readObject() {
  std::ifstream file(TEST_KERNEL_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int32_t fakeCompile(const char *, size_t, flashc_buffer *object, flashc_buffer *) {
  static const std::string bytes = readObject();
  *object = {const_cast<char *>(bytes.data()), bytes.size()};
  return 0;
}

class CppApi : public testing::Test {
protected:
  CppApi() {
    flashc::registerCompilerProvider({[] { return "fake"; }, fakeCompile, [](flashc_buffer *) {}});
    for (size_t n = 0; n < q.size(); ++n)
      q[n] = static_cast<float>(n);
  }

  flashc::Tensors tensors() {
    return {{"lse", {lse, {1, 2, 4}}},
            {"o", {o, shape}},
            {"q", {q, shape}},
            {"k", {k, {1, 1, 1, 3}}},
            {"v", {k, {1, 1, 1, 3}}}};
  }

  std::vector<int64_t> shape{1, 4, 2, 3};
  std::vector<float> q = std::vector<float>(24), k = std::vector<float>(3),
                     o = std::vector<float>(24), lse = std::vector<float>(8);
};

template <typename Body> std::string messageOf(Body body) {
  try {
    body();
  } catch (const flashc::Error &error) {
    return error.what();
  }
  return "";
}

TEST_F(CppApi, DescribesWithTypedSetters) {
  AttentionDesc desc(DType::BF16, 64);
  desc.valueDim(32).scale(0.1).causal(flashc::Causal::TopLeft).window(7, -1).softcap(20).alibi();
  desc.bias(DType::F32).sinks().score("s * a[h]").mask("b2[i, j]").capture("a", DType::F32, 1);
  desc.capture("b2", DType::Bool, 2).packed().sequsedK(DType::I64).lse().rowMax();
  desc.strategy(flashc::Strategy::Standard).schedule("x").target("x86-64-v3");
  EXPECT_EQ(desc.json(),
            R"({"alibi":true,"bias":"f32","captures":["a:f32:1","b2:bool:2"],)"
            R"("causal":"top-left","dtype":"bf16","head-dim":64,"lse":true,"mask":"b2[i, j]",)"
            R"("packed":"i32","row-max":true,"scale":0.1,"schedule":"x","score":"s * a[h]",)"
            R"("seqused-k":"i64","sinks":true,"softcap":20,"strategy":"standard",)"
            R"("target":"x86-64-v3","value-dim":32,"window":"7,-1"})");
  AttentionDesc copy = desc;
  copy.scale(0.5);
  EXPECT_EQ(desc.get("scale"), "0.1");
  EXPECT_EQ(copy.get("scale"), "0.5");
  EXPECT_THAT(messageOf([&] { copy.set("scales", "1"); }), testing::HasSubstr("got 'scales'"));
  EXPECT_THAT(flashc_attention_help(), testing::HasSubstr("window L,R"));
}

TEST_F(CppApi, CompilesRunsSavesAndLoads) {
  const flashc::Kernel compiled = flashc::compile(AttentionDesc(DType::F32, 3).lse());
  const auto [data, size] = compiled.object();
  const flashc::Kernel kernel = flashc::Kernel::load(data, size);
  EXPECT_THAT(kernel.json(), testing::HasSubstr("\"abi\":2"));

  flashc::RunOptions options;
  alignas(64) std::byte workspace[128];
  options.workspaceBytes = kernel.workspaceSize(tensors());
  ASSERT_EQ(options.workspaceBytes, 64u);
  options.workspace = workspace;
  kernel.run(tensors(), options);
  for (int i = 0; i < 4; ++i)
    for (int h = 0; h < 2; ++h) {
      EXPECT_EQ(lse[h * 4 + i], h * 4 + i);
      EXPECT_EQ(o[(i * 2 + h) * 3], q[(i * 2 + h) * 3] + float(h * 4 + i));
    }
}

TEST_F(CppApi, NamesAreChecked) {
  const flashc::Kernel kernel = flashc::compile(AttentionDesc(DType::F32, 3).lse());
  flashc::Tensors wrong = tensors();
  wrong[0].first = "row_max";
  EXPECT_THAT(messageOf([&] { kernel.run(wrong); }), testing::HasSubstr("got 'row_max'"));
  wrong[0].first = "q";
  EXPECT_THAT(messageOf([&] { kernel.run(wrong); }), testing::HasSubstr("got 'q'"));
  wrong.erase(wrong.begin());
  EXPECT_EQ(messageOf([&] { kernel.run(wrong); }), "lse: expected a tensor, got a null pointer");
  EXPECT_THAT(messageOf([&] { flashc::Tensor(q, {1, 2}); }), testing::HasSubstr("got 24"));
  EXPECT_THAT(messageOf([&] { flashc::Tensor(q.data(), {1, 24}, {1}); }),
              testing::HasSubstr("as many strides as extents"));
}

TEST_F(CppApi, TensorsKeepOtherPeoplesViews) {
  DLTensor view{};
  int64_t extents[] = {2, 3}, strides[] = {1, 2};
  view.data = q.data();
  view.device = {kDLCUDA, 3};
  view.ndim = 2;
  view.dtype = {kDLBfloat, 16, 1};
  view.shape = extents;
  view.strides = strides;
  view.byte_offset = 8;
  const flashc::Tensor tensor(view);
  const DLTensor again = tensor.toDLPackTensor();
  EXPECT_EQ(again.data, view.data);
  EXPECT_EQ(again.device.device_id, 3);
  EXPECT_EQ(again.dtype.code, kDLBfloat);
  EXPECT_EQ(again.strides[1], 2);
  EXPECT_EQ(again.byte_offset, 8u);
  const DLTensor elsewhere = flashc::Tensor(q, {4, 6}).on(kDLCUDA, 2).toDLPackTensor();
  EXPECT_EQ(elsewhere.device.device_type, kDLCUDA);
  EXPECT_EQ(elsewhere.device.device_id, 2);
  EXPECT_EQ(elsewhere.data, q.data());
}

TEST_F(CppApi, OnlyGPUsAreToBePrepared) {
  const flashc::Kernel kernel = flashc::compile(AttentionDesc(DType::F32, 3).lse());
  EXPECT_EQ(flashc_kernel_prepare(kernel.get(), {kDLCPU, 0}), FLASHC_OK);
  EXPECT_EQ(messageOf([&] { kernel.prepare(0); }),
            "expected a device of type 1 for target x86-64-v3, got type 2");
}

TEST_F(CppApi, CFunctionsTakeNullsAndTellArguments) {
  EXPECT_EQ(flashc_compile(nullptr, nullptr), FLASHC_ERROR_INVALID);
  EXPECT_STREQ(flashc_last_error(), "expected a description, got a null pointer");
  EXPECT_EQ(flashc_run(nullptr, nullptr, 0, nullptr, 0, 0, nullptr), FLASHC_ERROR_INVALID);
  flashc_attention_destroy(nullptr);
  flashc_kernel_release(nullptr);
  EXPECT_STREQ(flashc_version(), "0.1.0");

  const flashc::Kernel kernel = flashc::compile(AttentionDesc(DType::F32, 3).lse());
  ASSERT_EQ(flashc_kernel_num_arguments(kernel.get()), 5);
  EXPECT_EQ(flashc_kernel_find_argument(kernel.get(), "o"), 3);
  EXPECT_EQ(flashc_kernel_find_argument(kernel.get(), "x"), -1);
  flashc_argument argument;
  ASSERT_EQ(flashc_kernel_argument(kernel.get(), 3, &argument), FLASHC_OK);
  EXPECT_STREQ(argument.name, "o");
  EXPECT_EQ(argument.rank, 4);
  EXPECT_EQ(argument.is_output, 1);
  EXPECT_EQ(argument.shape[3], 3);
  EXPECT_EQ(flashc_kernel_argument(kernel.get(), 5, &argument), FLASHC_ERROR_INVALID);
  int stream = 0;
  EXPECT_EQ(flashc_run(kernel.get(), nullptr, 0, nullptr, 0, 0, &stream), FLASHC_ERROR_INVALID);
  EXPECT_THAT(flashc_last_error(), testing::HasSubstr("expected no stream"));
}

} // namespace
