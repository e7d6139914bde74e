//===- CheckTextTest.cpp - hostile and ordinary MLIR text -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CheckText.h"
#include "compiler/Driver/Compile.h"
#include "runtime/Support/Error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace flashc;
using testing::HasSubstr;

namespace {

std::string messageOf(const std::string &text) {
  try {
    checkText(text, "f");
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

std::string repeat(const std::string &part, int count) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += part;
  return result;
}

TEST(CheckText, TakesOrdinaryText) {
  EXPECT_EQ(messageOf(""), "");
  EXPECT_EQ(messageOf("#map = affine_map<(d0, d1) -> (d0 + d1)>\n"
                      "#set = affine_set<(d0) : (d0 - 1 >= 0)>\n"
                      "module attributes {a.b = #flash.target<\"x\">, c.d = #map} {\n"
                      "  %r:2 = scf.if %c -> (index, index) {} // (((\n"
                      "  \"a(((\"(%r#0, %r#1) : (index, index) -> ()\n"
                      "}\n"),
            "");
}

TEST(CheckText, BoundsNesting) {
  EXPECT_EQ(messageOf(repeat("(", 256) + repeat(")", 256)), "");
  EXPECT_THAT(messageOf(repeat("(", 257)), HasSubstr("nested at most 256 deep"));
  EXPECT_THAT(messageOf(repeat("tuple<", 257)), HasSubstr("nested at most 256 deep"));
  // Arrows close nothing.
  EXPECT_THAT(messageOf(repeat("(->", 257)), HasSubstr("nested at most 256 deep"));
  // Neither strings nor comments nest.
  EXPECT_EQ(messageOf("\"" + repeat("(", 300) + "\\\"" + repeat("(", 300) + "\""), "");
  EXPECT_EQ(messageOf("// " + repeat("(", 300) + "\n"), "");
}

TEST(CheckText, BoundsAffineExpressions) {
  for (const char *kind : {"affine_map<(d0) -> (", "affine_set<(d0) : ("}) {
    EXPECT_EQ(messageOf(kind + repeat("d0 + ", 100) + "d0)>"), "");
    EXPECT_THAT(messageOf(kind + repeat("-", 5000) + "d0)>"), HasSubstr("affine maps and sets"));
    EXPECT_THAT(messageOf(kind + repeat("d0+", 5000)), HasSubstr("affine maps and sets"));
  }
  // Many short ones are fine.
  EXPECT_EQ(messageOf(repeat("affine_map<(d0) -> (d0)>\n", 1000)), "");
}

TEST(CheckText, RefusesAliasesOfAliases) {
  EXPECT_EQ(messageOf("#a = 1 : i32\n#b = 2 : i32\nmodule attributes {x.y = #a, x.z = #b} {}"), "");
  EXPECT_THAT(messageOf("!a = i1\n!b = tuple<!a, !a>\n!c = tuple<!b, !b>\n"),
              HasSubstr("got a definition of '!c' after a use"));
  EXPECT_THAT(messageOf("#a = [1] #b = [#a] // comment\n #c // comment\n = [#b]"),
              HasSubstr("'#c'"));
  EXPECT_EQ(messageOf("#a = #flash.schedule<tile = [4, 8]>\n#b = #flash.target<\"x\">\n"), "");
}

TEST(CheckText, BoundsSize) {
  EXPECT_THAT(messageOf(std::string((64u << 20) + 1, ' ')), HasSubstr("at most 67108864 bytes"));
}

// What lies behind a view belongs to somebody else, and is not read.
TEST(CompileText, EndsWhereTheTextEnds) {
  const std::string text = "module {\n}\n", behind = text + "nonsense(";
  const CompileOptions options = {Stage::Flash, {}};
  const auto compiled = [&](std::string_view view) {
    return compileText(view, "f", Stage::Flash, "x86-64-v3", options);
  };
  EXPECT_EQ(compiled(std::string_view(behind).substr(0, text.size())), compiled(text));
}

} // namespace
