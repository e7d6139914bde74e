//===- InputTypeTest.cpp - what MLIR text says of its inputs ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Compile.h"
#include "runtime/Support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace flashc;

namespace {

// The host's best target depends on it, at whatever stage a file is.
TEST(InputType, IsThatOfTheQueriesAtEveryStageWithFunctions) {
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    for (Stage stage : {Stage::Flash, Stage::Online, Stage::Tiled, Stage::Tile, Stage::Vector}) {
      AttentionDesc desc;
      desc.dtype = type;
      desc.headDim = 32;
      desc.target = "x86-64-v3";
      CompileOptions options;
      options.emit = stage;
      EXPECT_EQ(inputTypeOf(compileAttention(desc, options), "f"), type)
          << nameOf(type) << " at " << nameOf(stage);
    }
}

TEST(InputType, TextThatDoesNotSayIsF32) {
  EXPECT_EQ(inputTypeOf("module {}", "f"), DType::F32);
  EXPECT_THROW(inputTypeOf("module {", "f"), Error);
}

} // namespace
