//===- CommandLineTest.cpp - flags, their parsing and their help ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/AttentionDesc.h"
#include "tools/flashc/AttentionFlags.h"
#include "tools/flashc/Suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace flashc;
using namespace flashc::tool;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Arguments parse(std::vector<std::string> args, size_t maxPositional = 0) {
  std::vector<FlagGroup> groups = attentionFlags();
  groups.push_back({"Own", {{"check", "", ""}, {"output", "OUT", "", false, 'o'}}});
  return parseArguments("run", groups, args, maxPositional);
}

std::string errorOf(std::vector<std::string> args) {
  try {
    parse(std::move(args));
  } catch (const UsageError &error) {
    return error.what();
  }
  return "no error";
}

TEST(CommandLine, ReadsValuesInBothForms) {
  const Arguments arguments = parse({"--causal", "top-left", "--scale=0.5", "--check", "-o", "x"});
  EXPECT_EQ(arguments.find("causal"), "top-left");
  EXPECT_EQ(arguments.find("scale"), "0.5");
  EXPECT_EQ(arguments.find("output"), "x");
  EXPECT_TRUE(arguments.has("check"));
  EXPECT_FALSE(arguments.has("mask"));
}

TEST(CommandLine, TakesValuesThatBeginWithAMinus) {
  EXPECT_EQ(parse({"--window", "-1,0"}).find("window"), "-1,0");
  EXPECT_EQ(parse({"--window=-1,0"}).find("window"), "-1,0");
  EXPECT_EQ(parse({"--score", "-s"}).find("score"), "-s");
  EXPECT_EQ(parse({"--mask", "-o < j"}).find("mask"), "-o < j");
  EXPECT_EQ(parse({"--mask", "!(j > i)"}).find("mask"), "!(j > i)");
  EXPECT_EQ(parse({"--schedule", ""}).find("schedule"), "");
}

TEST(CommandLine, KeepsTheOrderOfRepeatableFlags) {
  EXPECT_THAT(parse({"--capture", "a=a.npy", "--check", "--capture", "b=b.npy"}).all("capture"),
              ElementsAre("a=a.npy", "b=b.npy"));
}

TEST(CommandLine, TakesPositionalWords) {
  EXPECT_THAT(parse({"f.mlir", "--check"}, 1).positional(), ElementsAre("f.mlir"));
  EXPECT_THAT(parse({"-"}, 1).positional(), ElementsAre("-"));
  EXPECT_THAT(errorOf({"extra"}), HasSubstr("got 'extra'"));
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(errorOf({"--causl", "top-left"}), HasSubstr("did you mean '--causal'?"));
  EXPECT_THAT(errorOf({"--caus", "top-left"}), HasSubstr("got '--caus'")); // no abbreviations
  EXPECT_THAT(errorOf({"--zzz"}), testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(errorOf({"-x"}), HasSubstr("got '-x'"));
}

TEST(CommandLine, RefusesMissingSuperfluousAndRepeatedValues) {
  EXPECT_EQ(errorOf({"--softcap"}), "--softcap: expected a value C, got none");
  EXPECT_EQ(errorOf({"--softcap="}), "--softcap: expected a value C, got none");
  EXPECT_EQ(errorOf({"--softcap", "--check"}),
            "--softcap: expected a value C, got the flag --check");
  EXPECT_EQ(errorOf({"--mask", "--seed=1"}),
            "--mask: expected a value EXPR, got the flag --seed=1");
  EXPECT_EQ(errorOf({"--check=1"}), "--check: expected no value, got one");
  EXPECT_EQ(errorOf({"--scale", "1", "--scale", "1"}), "expected --scale once, got it twice");
}

TEST(CommandLine, ChecksIntegers) {
  const Arguments arguments = parse({"--seed", "12", "--layout", "1x", "--scale", "-3"});
  EXPECT_EQ(arguments.integer("seed", 0, 100, 5), 12);
  EXPECT_EQ(arguments.integer("mask", 0, 100, 5), 5);
  EXPECT_THROW(arguments.integer("seed", 0, 11, 5), UsageError);
  EXPECT_THROW(arguments.integer("layout", 0, 11, 5), UsageError);
  EXPECT_THROW(arguments.integer("scale", 0, 11, 5), UsageError);
}

TEST(AttentionFlags, CoverEveryFieldOnce) {
  std::set<std::string> names;
  for (const FlagGroup &group : attentionFlags())
    for (const Flag &flag : group.flags) {
      EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
      EXPECT_FALSE(flag.help.empty()) << flag.name;
      EXPECT_FALSE(flag.operand.empty()) << flag.name; // all of them take a value
    }
  for (const AttentionField &field : attentionFields()) {
    const std::string key = field.key;
    EXPECT_TRUE(names.contains(key) || key == "captures" || key == "packed") << key;
  }
  for (const ArrayFlag &array : arrayFlags())
    EXPECT_TRUE(names.contains(array.flag)) << array.flag;
}

TEST(AttentionFlags, HelpNamesEveryFlag) {
  const std::vector<FlagGroup> groups = attentionFlags();
  const std::string help = describeFlags(groups);
  for (const FlagGroup &group : groups)
    for (const Flag &flag : group.flags)
      EXPECT_THAT(help, HasSubstr("--" + flag.name + " " + flag.operand));
  EXPECT_THAT(help, testing::Not(HasSubstr(" \n")));
}

TEST(Suggest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"run", "compile", "explain", "row-max", "seqused-k"};
  EXPECT_EQ(closestName("complie", names), "compile");
  EXPECT_EQ(closestName("exp", names), "explain");
  EXPECT_EQ(closestName("rum", names), "run");
  EXPECT_EQ(closestName("row_max", names), "row-max");
  EXPECT_EQ(closestName("seq", names), "seqused-k");
  EXPECT_EQ(closestName("quux", names), "");
  EXPECT_EQ(closestName("", names), "");
  EXPECT_EQ(closestName(std::string(100000, 'x'), names), "");
}

} // namespace
