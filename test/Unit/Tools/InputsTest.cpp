//===- InputsTest.cpp - what to compute and on what -----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Inputs.h"
#include "runtime/IO/Npy.h"
#include "tools/flashc/AttentionFlags.h"
#include "tools/flashc/Execution.h"
#include "tools/flashc/Shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

using namespace flashc;
using namespace flashc::tool;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class InputsTest : public testing::Test {
protected:
  InputsTest() {
    folder = std::filesystem::temp_directory_path() / ("flashc-inputs-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  ~InputsTest() override { std::filesystem::remove_all(folder); }

  /// Writes zeros and returns the path.
  std::string file(const std::string &name, DType type, std::vector<int64_t> shape) {
    return write(name, HostArray::zeros(type, std::move(shape)));
  }
  std::string write(const std::string &name, const HostArray &array) {
    const std::string path = (folder / (name + ".npy")).string();
    writeNpy(path, array);
    return path;
  }
  std::string integers(const std::string &name, DType type, std::vector<int64_t> values) {
    HostArray array = HostArray::zeros(type, {static_cast<int64_t>(values.size())});
    for (size_t n = 0; n < values.size(); ++n)
      array.setInt(static_cast<int64_t>(n), values[n]);
    return write(name, array);
  }
  /// --q, --k, --v of shapes that fit: B=2 Sq=5 Sk=7 Hq=4 Hkv=2 D=8 Dv=6.
  std::vector<std::string> qkv(DType type = DType::F32) {
    return {"--q", file("q", type, {2, 5, 4, 8}), "--k", file("k", type, {2, 7, 2, 8}),
            "--v", file("v", type, {2, 7, 2, 6})};
  }
  static std::vector<std::string> join(std::vector<std::string> a, std::vector<std::string> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static Inputs load(const std::vector<std::string> &args, Need need = Need::Data) {
    const std::vector<FlagGroup> groups = attentionFlags();
    return loadInputs(parseArguments("run", groups, args), need);
  }
  static std::string errorOf(const std::vector<std::string> &args, Need need = Need::Data) {
    try {
      load(args, need);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder;
};

TEST_F(InputsTest, ReadsSizesFromFiles) {
  const Inputs inputs = load(join(qkv(DType::F16), {"--causal", "top-left", "--lse", "l.npy"}));
  EXPECT_EQ(inputs.desc.dtype, DType::F16);
  EXPECT_EQ(inputs.desc.headDim, 8);
  EXPECT_EQ(inputs.desc.valueDim, 6);
  EXPECT_EQ(inputs.desc.causal, Causal::TopLeft);
  EXPECT_TRUE(inputs.desc.wantLse);
  EXPECT_FALSE(inputs.desc.wantRowMax);
  EXPECT_EQ(inputs.sizes->batch, 2);
  EXPECT_EQ(inputs.sizes->queries, 5);
  EXPECT_EQ(inputs.sizes->keys, 7);
  EXPECT_EQ(inputs.sizes->heads, 4);
  EXPECT_EQ(inputs.sizes->headsKv, 2);
}

TEST_F(InputsTest, RoundsToDtype) {
  EXPECT_EQ(load(join(qkv(), {"--dtype", "bf16"})).find("k")->dtype, DType::BF16);
  const Inputs doubles = load(qkv(DType::F64));
  EXPECT_EQ(doubles.desc.dtype, DType::F32);
  EXPECT_THAT(doubles.notes, ElementsAre(HasSubstr("rounded to f32")));
  EXPECT_THAT(errorOf(join(qkv(), {"--dtype", "i32"})), HasSubstr("--dtype: expected f32, bf16"));
  EXPECT_THAT(errorOf(qkv(DType::I32)), HasSubstr("q: expected a float type, got i32"));
  std::vector<std::string> mixed = qkv();
  mixed[3] = file("k16", DType::F16, {2, 7, 2, 8});
  EXPECT_THAT(errorOf(mixed), HasSubstr("k: expected f32 as q has, got f16"));
  EXPECT_EQ(load(join(mixed, {"--dtype", "f16"})).find("q")->dtype, DType::F16);
}

TEST_F(InputsTest, ChecksShapes) {
  auto with = [&](size_t index, std::vector<int64_t> shape) {
    std::vector<std::string> args = qkv();
    args[index] = file("other", DType::F32, std::move(shape));
    return errorOf(args);
  };
  EXPECT_THAT(with(1, {2, 5, 4}), HasSubstr("packed sequences need --cu-seqlens-q"));
  EXPECT_THAT(with(1, {2, 5, 3, 8}), HasSubstr("multiple of k's 2, got 3"));
  EXPECT_THAT(with(3, {2, 7, 2, 9}), HasSubstr("k: expected 8 features"));
  EXPECT_THAT(with(3, {3, 7, 2, 8}), HasSubstr("k: expected 2 batches as q has, got 3"));
  EXPECT_THAT(with(5, {2, 8, 2, 6}), HasSubstr("v: expected 7 keys as k has, got 8"));
  EXPECT_THAT(with(5, {2, 7, 1, 6}), HasSubstr("v: expected 2 heads"));
  EXPECT_THAT(with(5, {2, 7, 2, 577}), HasSubstr("value-dim: expected 1 to 576, got 577"));
  EXPECT_THAT(errorOf({"--q", qkv()[1]}), HasSubstr("got no --k, --v"));
  EXPECT_THAT(errorOf({}), HasSubstr("expected inputs, got none"));
  EXPECT_THAT(errorOf(join(qkv(), {"--head-dim", "9"})), HasSubstr("--head-dim: expected 8"));
}

TEST_F(InputsTest, MakesRandomArrays) {
  const std::vector<std::string> args = {"--random", "2,5,7,4,2,8,6", "--seed", "3"};
  const Inputs a = load(args), b = load(args);
  EXPECT_THAT(a.find("q")->shape, ElementsAre(2, 5, 4, 8));
  EXPECT_THAT(a.find("v")->shape, ElementsAre(2, 7, 2, 6));
  EXPECT_EQ(a.find("q")->data, b.find("q")->data);
  EXPECT_NE(a.find("q")->at(0), a.find("k")->at(0));
  EXPECT_THAT(load(join(args, {"--layout", "bhsd"})).find("q")->shape, ElementsAre(2, 4, 5, 8));
  EXPECT_TRUE(load(args, Need::Sizes).find("q")->data.empty());
}

TEST_F(InputsTest, RefusesBadRandomSizesBeforeAllocating) {
  EXPECT_THAT(errorOf({"--random", "1,2,3"}), HasSubstr("seven numbers"));
  EXPECT_THAT(errorOf({"--random", "1,2,3,4,4,8,8,8"}), HasSubstr("seven numbers"));
  EXPECT_THAT(errorOf({"--random", "-1,2,3,4,4,8,8"}), HasSubstr("seven numbers"));
  EXPECT_THAT(errorOf({"--random", "1,2,3,4,4,8,99999999999999999999"}), HasSubstr("seven"));
  EXPECT_THAT(errorOf({"--random", "1,2,3,4,4,0,8"}), HasSubstr("D and Dv from 1 to 576"));
  EXPECT_THAT(errorOf({"--random", "1000000,1000000,1,8,8,64,64"}), HasSubstr("memory"));
  EXPECT_THAT(errorOf({"--random", "1099511627775,1099511627775,1,8,8,64,64"}),
              HasSubstr("more than can be counted"));
  EXPECT_THAT(errorOf(join(qkv(), {"--random", "1,2,3,4,4,8,8"})), HasSubstr("got both"));
}

TEST_F(InputsTest, NeedsNoFilesForCode) {
  const Inputs inputs =
      load({"--head-dim", "64", "--bias", "bf16", "--alibi", "f32", "--cu-seqlens-q", "i32",
            "--cu-seqlens-k", "i64", "--seqused-k", "i32", "--capture", "doc:i8:2"},
           Need::Types);
  EXPECT_FALSE(inputs.sizes);
  EXPECT_EQ(inputs.desc.bias, DType::BF16);
  EXPECT_TRUE(inputs.desc.alibi);
  EXPECT_EQ(inputs.desc.packed, DType::I64); // the wider of both
  EXPECT_EQ(inputs.desc.sequsedK, DType::I32);
  EXPECT_EQ(inputs.desc.captures, (std::vector<Capture>{{"doc", DType::I8, 2}}));
  EXPECT_THAT(errorOf({"--head-dim", "64"}), HasSubstr("expected inputs"));
  EXPECT_THAT(errorOf(join(qkv(), {"--bias", "f32"})), HasSubstr("needs --random"));
  EXPECT_THAT(errorOf(join(qkv(), {"--capture", "doc:i8:2"})), HasSubstr("its values are needed"));
}

TEST_F(InputsTest, KeepsOrConvertsTheOtherArrays) {
  const Inputs inputs =
      load(join(qkv(), {"--bias", file("bias", DType::F64, {4, 1, 7}), "--sinks",
                        file("sinks", DType::F16, {4}), "--alibi", file("alibi", DType::F64, {4}),
                        "--capture", "a=" + file("a", DType::U8, {7}), "--capture",
                        "c=" + file("c", DType::I64, {2, 2})}));
  EXPECT_EQ(inputs.desc.bias, DType::F32);
  EXPECT_EQ(inputs.find("sinks")->dtype, DType::F32);
  EXPECT_EQ(inputs.find("alibi")->dtype, DType::F32);
  EXPECT_EQ(inputs.desc.captures,
            (std::vector<Capture>{{"a", DType::I16, 1}, {"c", DType::I64, 2}}));
}

TEST_F(InputsTest, ChecksTheOtherArrays) {
  auto with = [&](std::vector<std::string> more) { return errorOf(join(qkv(), std::move(more))); };
  EXPECT_THAT(with({"--bias", file("x", DType::F32, {3, 7})}),
              HasSubstr("broadcasts to [2, 4, 5, 7]"));
  EXPECT_THAT(with({"--bias", file("x", DType::F32, {1, 2, 4, 5, 7})}), HasSubstr("broadcasts"));
  EXPECT_THAT(with({"--bias", file("x", DType::Bool, {5, 7})}), HasSubstr("use --mask"));
  EXPECT_THAT(with({"--sinks", file("x", DType::F32, {2})}),
              HasSubstr("sinks: expected shape [4]"));
  EXPECT_THAT(with({"--alibi", file("x", DType::I32, {4})}), HasSubstr("alibi: expected a float"));
  EXPECT_THAT(with({"--seqused-k", integers("x", DType::I32, {7, 8})}),
              HasSubstr("seqused_k: expected 0 to 7 (the keys there are), got 8 at index 1"));
  EXPECT_THAT(with({"--seqused-k", integers("x", DType::I32, {7})}), HasSubstr("shape [2]"));
  EXPECT_THAT(with({"--capture", "x"}), HasSubstr("expected NAME=FILE"));
  EXPECT_THAT(with({"--capture", "lse=" + file("x", DType::F32, {4})}),
              HasSubstr("a name of your own"));
  EXPECT_THAT(with({"--mask", "x[j] > 0"}), HasSubstr("mask expression, column 1"));
  EXPECT_THAT(with({"--q2", "x"}), HasSubstr("expected a flag"));
  EXPECT_THAT(with({"--window", "-2,0"}), HasSubstr("window"));
  EXPECT_THAT(with({"--layout", "sbhd"}), HasSubstr("--layout: expected bshd or bhsd"));
}

TEST_F(InputsTest, TakesPackedSequences) {
  const std::vector<std::string> args = {"--q",
                                         file("q", DType::F32, {9, 4, 8}),
                                         "--k",
                                         file("k", DType::F32, {12, 2, 8}),
                                         "--v",
                                         file("v", DType::F32, {12, 2, 8}),
                                         "--cu-seqlens-q",
                                         integers("cq", DType::I64, {0, 4, 4, 9})};
  auto with = [&](std::vector<int64_t> values) {
    return join(args, {"--cu-seqlens-k", integers("ck", DType::I32, std::move(values))});
  };
  const Inputs inputs = load(join(with({0, 5, 5, 12}), {"--bias", file("b", DType::F32, {1, 7})}));
  EXPECT_EQ(inputs.desc.packed, DType::I64);
  EXPECT_EQ(inputs.find("cu_seqlens_k")->dtype, DType::I64);
  EXPECT_EQ(inputs.sizes->batch, 3);
  const std::vector<Lengths> lengths = sequenceLengths(inputs);
  ASSERT_EQ(lengths.size(), 3u);
  EXPECT_EQ(lengths[2].queries, 5);
  EXPECT_EQ(lengths[2].keys, 7);
  EXPECT_THAT(biasTarget(inputs), ElementsAre(3, 4, 5, 7));

  EXPECT_THAT(errorOf(args), HasSubstr("together"));
  EXPECT_THAT(errorOf(with({0, 5, 12})), HasSubstr("expected 4 values"));
  EXPECT_THAT(errorOf(with({0, 6, 5, 12})), HasSubstr("never fall"));
  EXPECT_THAT(errorOf(with({0, 5, 5, 11})), HasSubstr("total length 12, got 11"));
  EXPECT_THAT(errorOf(join(with({0, 5, 5, 12}), {"--layout", "bhsd"})), HasSubstr("got bhsd"));
}

TEST_F(InputsTest, ViewsArraysAsKernelArguments) {
  Inputs inputs = load({"--random", "2,5,7,4,2,8,6", "--layout", "bhsd"});
  ArgumentView view = viewAsArgument("q", *inputs.find("q"), inputs);
  EXPECT_THAT(view.shape, ElementsAre(2, 5, 4, 8));
  EXPECT_THAT(view.strides, ElementsAre(160, 8, 40, 1));

  view = viewAsArgument("bias", HostArray::zeros(DType::F32, {4, 1, 7}), inputs);
  EXPECT_THAT(view.shape, ElementsAre(2, 4, 5, 7));
  EXPECT_THAT(view.strides, ElementsAre(0, 7, 0, 1));
  view = viewAsArgument("bias", HostArray::zeros(DType::F32, {}), inputs);
  EXPECT_THAT(view.shape, ElementsAre(2, 4, 5, 7));
  EXPECT_THAT(view.strides, ElementsAre(0, 0, 0, 0));

  inputs = load({"--random", "3,5,7,4,2,8,6", "--cu-seqlens-q", "i32", "--cu-seqlens-k", "i32"});
  EXPECT_THAT(inputs.find("q")->shape, ElementsAre(15, 4, 8));
  view = viewAsArgument("q", *inputs.find("q"), inputs);
  EXPECT_THAT(view.shape, ElementsAre(1, 15, 4, 8));
  view = viewAsArgument("lse", HostArray::zeros(DType::F32, {4, 15}), inputs);
  EXPECT_THAT(view.shape, ElementsAre(1, 4, 15));
}

} // namespace
