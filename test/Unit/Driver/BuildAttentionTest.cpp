//===- BuildAttentionTest.cpp - from descriptions to flash.attention ------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/BuildAttention.h"
#include "compiler/Driver/ExprToRegion.h"
#include "dialects/Flash/IR/Flash.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Support/Error.h"

#include <gmock/gmock.h>

using namespace flashc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

class BuildAttention : public testing::Test {
protected:
  BuildAttention() : context(mlir::MLIRContext::Threading::DISABLED) {
    desc.headDim = 64;
    desc.valueDim = 32;
  }

  void build() {
    module = buildAttention(context, desc, "x86-64-v3");
    func = *module->getOps<mlir::func::FuncOp>().begin();
    attention = *func.getOps<flash::AttentionOp>().begin();
  }

  std::string text() {
    std::string result;
    llvm::raw_string_ostream os(result);
    module->print(os);
    return result;
  }

  std::vector<std::string> argumentNames() {
    std::vector<std::string> names;
    for (unsigned n = 0; n < func.getNumArguments(); ++n)
      names.push_back(func.getArgAttrOfType<mlir::StringAttr>(n, "flash.name").str());
    return names;
  }

  std::vector<std::string> resultNames() {
    std::vector<std::string> names;
    for (unsigned n = 0; n < func.getNumResults(); ++n)
      names.push_back(func.getResultAttrOfType<mlir::StringAttr>(n, "flash.name").str());
    return names;
  }

  /// The names of the ops of a region, in order.
  static std::vector<std::string> ops(mlir::Region &region) {
    std::vector<std::string> names;
    for (mlir::Operation &op : region.front())
      names.push_back(op.getName().getStringRef().str());
    return names;
  }

  mlir::MLIRContext context;
  AttentionDesc desc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  flash::AttentionOp attention;
};

TEST_F(BuildAttention, PlainAttentionHasNoRegions) {
  desc.name = "plain";
  build();
  EXPECT_EQ(func.getName(), "plain");
  EXPECT_THAT(argumentNames(), ElementsAre("q", "k", "v"));
  EXPECT_THAT(resultNames(), ElementsAre("o"));
  EXPECT_TRUE(attention.getScore().empty());
  EXPECT_TRUE(attention.getMask().empty());
  EXPECT_FLOAT_EQ(attention.getScale().convertToFloat(), 0.125f);
  EXPECT_FALSE(attention.getScheduleAttr());
  EXPECT_THAT(text(), HasSubstr("flash.target = #flash.target<\"x86-64-v3\">"));
  EXPECT_THAT(text(), HasSubstr("tensor<?x?x?x64xf32>"));
  EXPECT_THAT(text(), HasSubstr("-> tensor<?x?x?x32xf32>"));
}

TEST_F(BuildAttention, OperandsFollowTheKernelsOrder) {
  desc.dtype = DType::BF16;
  desc.alibi = desc.sinks = desc.wantLse = desc.wantRowMax = true;
  desc.bias = DType::F16;
  desc.packed = DType::I32;
  desc.sequsedK = DType::I64;
  desc.captures = {{"keep", DType::Bool, 2}, {"w", DType::F32, 1}};
  desc.score = "s + w[h]";
  desc.mask = "keep[b, j]";
  build();
  EXPECT_THAT(argumentNames(), ElementsAre("q", "k", "v", "sinks", "cu_seqlens_q", "cu_seqlens_k",
                                           "seqused_k", "alibi", "bias", "keep", "w"));
  EXPECT_THAT(resultNames(), ElementsAre("o", "lse", "row_max"));
  EXPECT_EQ(attention.getCaptures().size(), 4u);
  EXPECT_TRUE(attention.getSinks() && attention.getCuSeqlensQ() && attention.getSequsedK());
  EXPECT_TRUE(attention.getLse() && attention.getRowMax());
  std::string ir = text();
  EXPECT_THAT(ir, HasSubstr("tensor<?x?xi8>"));
  EXPECT_THAT(ir, HasSubstr("tensor<?x?x?x?xf16>"));
  EXPECT_THAT(ir, HasSubstr("tensor<?x?x?x64xbf16>"));
}

TEST_F(BuildAttention, RowMaxWithoutLse) {
  desc.wantRowMax = true;
  build();
  EXPECT_FALSE(attention.getLse());
  EXPECT_TRUE(attention.getRowMax());
  EXPECT_THAT(resultNames(), ElementsAre("o", "row_max"));
}

TEST_F(BuildAttention, ScoreFeaturesComeInOrder) {
  desc.softcap = 30;
  desc.alibi = true;
  desc.bias = DType::F32;
  desc.score = "s * 2.0";
  build();
  std::vector<std::string> names = ops(attention.getScore());
  auto at = [&](const char *name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(at("math.tanh"), at("flash.read"));
  EXPECT_LT(at("flash.read"), at("arith.subf"));
  EXPECT_LT(at("arith.subf"), at("arith.addf"));
  EXPECT_EQ(names.back(), "flash.yield");
  EXPECT_EQ(names[names.size() - 2], "arith.mulf");
}

TEST_F(BuildAttention, MaskHoldsOnlyWhatIsAskedFor) {
  desc.causal = Causal::TopLeft;
  build();
  EXPECT_THAT(ops(attention.getMask()),
              ElementsAre("arith.index_cast", "arith.index_cast", "arith.cmpi", "flash.yield"));
  desc.causal = Causal::None;
  desc.window = Window{-1, -1};
  build();
  EXPECT_TRUE(attention.getMask().empty());
  desc.window = Window{-1, 3};
  build();
  EXPECT_EQ(llvm::count(ops(attention.getMask()), "arith.cmpi"), 1);
  desc.causal = Causal::BottomRight;
  desc.window = Window{4, 0};
  desc.mask = "b != 1";
  build();
  EXPECT_EQ(llvm::count(ops(attention.getMask()), "arith.cmpi"), 4);
  EXPECT_EQ(llvm::count(ops(attention.getMask()), "arith.andi"), 3);
}

TEST_F(BuildAttention, EveryOperationBecomesAnOpOfTheClosedList) {
  desc.captures = {{"a", DType::I8, 1}, {"f", DType::BF16, 2}, {"t", DType::Bool, 1}};
  desc.score = "select(t[h] && !(i < j) || (i == j) & (i >= j), exp(s) + log(abs(s)) * tanh(-s) / "
               "sqrt(floor(s)), min(s, f[b, i - j]) - max(s, 1.5)) + float(int(s) % 7 + (i << 2 >> "
               "1) * ~j / (b | h & 3 ^ 5) + abs(i - j) - min(i, -j) + max(a[j], (s < 1.0) + 2)) + "
               "(s != s ? 1.0 : i > j)";
  desc.mask = "s1(0)";
  EXPECT_THROW(build(), Error);
  desc.mask = "t[j]";
  build();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  // One cast of each coordinate, however often it is used (and one of an index per computed
  // subscript).
  EXPECT_EQ(llvm::count(ops(attention.getScore()), "arith.index_cast"), 4 + 1);
}

TEST_F(BuildAttention, CapturedTruthValuesAreComparedAndBytesZeroExtended) {
  mlir::OpBuilder builder(&context);
  EXPECT_EQ(storageType(&context, DType::Bool), builder.getI8Type());
  EXPECT_EQ(storageType(&context, DType::U8), builder.getI8Type());
  desc.captures = {{"keep", DType::Bool, 1}};
  desc.mask = "keep[j]";
  build();
  std::vector<std::string> names = ops(attention.getMask());
  EXPECT_THAT(names, testing::IsSupersetOf({"flash.read", "arith.cmpi", "arith.extui"}));
}

TEST_F(BuildAttention, SurvivesPrintingAndParsing) {
  desc.causal = Causal::BottomRight;
  desc.softcap = 20;
  desc.wantLse = true;
  build();
  std::string ir = text();
  mlir::ParserConfig config(&context);
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(ir, config);
  ASSERT_TRUE(parsed);
  std::string again;
  llvm::raw_string_ostream os(again);
  parsed->print(os);
  EXPECT_EQ(ir, again);
}

TEST_F(BuildAttention, RefusesWhatIsNoDescription) {
  EXPECT_THROW(buildAttention(context, desc, "z80"), Error);
  desc.headDim = 0;
  EXPECT_THROW(build(), Error);
  desc.headDim = 64;
  desc.mask = "j <=";
  EXPECT_THROW(build(), Error);
}

} // namespace
