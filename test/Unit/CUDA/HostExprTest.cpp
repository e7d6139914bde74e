//===- HostExprTest.cpp - sizes that a kernel computes from shapes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/LaunchPlan.h"
#include "test/Unit/API/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace flashc;
using namespace flashc::cuda;

namespace {

using Json = nlohmann::json;

const std::vector<int64_t> ranks = {4, 1};

int64_t evaluate(const std::string &text) {
  const std::vector<int64_t> q = {2, 300, 8, 64}, offsets = {5};
  const std::span<const int64_t> shapes[] = {q, offsets};
  return HostExpr::parse(Json::parse(text), ranks).evaluate(shapes);
}

TEST(HostExpr, Evaluates) {
  EXPECT_EQ(evaluate("5"), 5);
  EXPECT_EQ(evaluate("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(evaluate(R"(["dim", 0, 1])"), 300);
  EXPECT_EQ(evaluate(R"(["dim", 1, 0])"), 5);
  EXPECT_EQ(evaluate(R"(["add", 5, -7])"), -2);
  EXPECT_EQ(evaluate(R"(["sub", ["dim", 1, 0], 1])"), 4);
  EXPECT_EQ(evaluate(R"(["max", 3, ["min", 9, 4]])"), 4);
  // The blocks of a grid: ceil(300 / 128) tiles for each of 2 x 8.
  EXPECT_EQ(evaluate(R"(["mul", ["mul", ["dim",0,0], ["dim",0,2]],
                         ["div", ["add", ["dim",0,1], 127], 128]])"),
            48);
}

TEST(HostExpr, DivisionTruncatesAndGivesZeroForZero) {
  EXPECT_EQ(evaluate(R"(["div", -7, 2])"), -3);
  EXPECT_EQ(evaluate(R"(["rem", -7, 2])"), -1);
  EXPECT_EQ(evaluate(R"(["div", 7, -2])"), -3);
  EXPECT_EQ(evaluate(R"(["rem", 7, -2])"), 1);
  EXPECT_EQ(evaluate(R"(["div", 7, 0])"), 0);
  EXPECT_EQ(evaluate(R"(["rem", 7, 0])"), 0);
  EXPECT_EQ(evaluate(R"(["div", 7, -1])"), -7);
  EXPECT_EQ(evaluate(R"(["rem", -9223372036854775808, -1])"), 0);
}

TEST(HostExpr, OverflowIsAnError) {
  EXPECT_ERROR(evaluate(R"(["add", 9223372036854775807, 1])"), "got 9223372036854775807 add 1");
  EXPECT_ERROR(evaluate(R"(["sub", -9223372036854775808, 1])"), "64-bit integers");
  EXPECT_ERROR(evaluate(R"(["mul", 4611686018427387904, 2])"), "use smaller tensors");
  EXPECT_ERROR(evaluate(R"(["div", -9223372036854775808, -1])"), "div -1");
}

TEST(HostExpr, RefusesWhatItDoesNotUnderstand) {
  EXPECT_ERROR(evaluate("1.5"), "expected a 64-bit integer");
  EXPECT_ERROR(evaluate("9223372036854775808"), "expected a 64-bit integer");
  EXPECT_ERROR(evaluate("true"), "got boolean");
  EXPECT_ERROR(evaluate("{}"), "got object");
  EXPECT_ERROR(evaluate("[]"), "got an array of 0");
  EXPECT_ERROR(evaluate(R"(["add", 1])"), "got an array of 2");
  EXPECT_ERROR(evaluate(R"([1, 2, 3])"), "expected an operation");
  EXPECT_ERROR(evaluate(R"(["pow", 2, 3])"), "got 'pow'");
  EXPECT_ERROR(evaluate(R"(["", 2, 3])"), "got ''");
  EXPECT_ERROR(evaluate(R"(["dim", 2, 0])"), "dimension 0 of argument 2");
  EXPECT_ERROR(evaluate(R"(["dim", 0, 4])"), "dimension 4 of argument 0");
  EXPECT_ERROR(evaluate(R"(["dim", 0, -1])"), "dimension -1 of argument 0");
  EXPECT_ERROR(evaluate(R"(["dim", ["dim", 0, 0], 0])"), "expected a 64-bit integer");
}

TEST(HostExpr, DepthAndSizeAreBounded) {
  std::string deep = "1";
  for (int n = 0; n < 63; ++n)
    deep = R"(["add", )" + deep + ", 1]";
  EXPECT_EQ(evaluate(deep), 64);
  EXPECT_ERROR(evaluate(R"(["add", )" + deep + ", 1]"), "at most 64 deep");
  // Hostile depth, which the JSON parser and destructor must survive as well.
  std::string deeper;
  for (int n = 0; n < 100000; ++n)
    deeper += R"(["add",1,)";
  EXPECT_ERROR(evaluate(deeper + "1" + std::string(100000, ']')), "at most 64 deep");
  std::string wide = "1";
  for (int n = 0; n < 12; ++n)
    wide = R"(["max", )" + wide + "," + wide + "]";
  EXPECT_ERROR(evaluate(wide), "at most 4096 parts");
}

TEST(HostExpr, SeveralAreComputedAtOnce) {
  const std::vector<int64_t> q = {2, 300, 8, 64}, offsets = {5};
  const std::span<const int64_t> shapes[] = {q, offsets};
  const auto parse = [](const char *text) { return HostExpr::parseAll(Json::parse(text), ranks); };
  EXPECT_EQ(parse("[]").evaluateAll(shapes), std::vector<int64_t>());
  const HostExpr all =
      parse(R"([["mul", ["dim", 0, 1], 2], 7, ["add", ["mul", ["dim", 0, 1], 2], 7], 7])");
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all.evaluateAll(shapes), (std::vector<int64_t>{600, 7, 607, 7}));
  EXPECT_ERROR(parse("5"), "expected an array of size expressions, got number");
  EXPECT_ERROR(parse(R"([1, ["dim", 2, 0]])"), "dimension 0 of argument 2");
}

TEST(LaunchPlan, ReadsKernelsAndWorkspace) {
  const Json info = Json::parse(R"({"kernels": [
      {"entry": "a_phase0", "threads": 128, "shared_bytes": 49152, "facts": [], "dependent": false, "grid": ["dim", 0, 0]},
      {"entry": "a_phase1", "threads": 1024, "shared_bytes": 0, "facts": [["dim", 1, 0], 9], "dependent": true,
       "grid": 7}],
      "workspace": ["mul", ["dim", 0, 1], 4]})");
  const LaunchPlan plan = LaunchPlan::parse(info, ranks);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].entry, "a_phase0");
  EXPECT_EQ(plan.launches[0].threads, 128u);
  EXPECT_EQ(plan.launches[0].sharedBytes, 49152u);
  const std::vector<int64_t> q = {2, 300, 8, 64}, offsets = {5};
  const std::span<const int64_t> shapes[] = {q, offsets};
  EXPECT_EQ(plan.launches[0].grid.evaluate(shapes), 2);
  EXPECT_FALSE(plan.launches[0].isDependent);
  EXPECT_EQ(plan.launches[0].facts.size(), 0u);
  EXPECT_EQ(plan.launches[1].grid.evaluate(shapes), 7);
  EXPECT_TRUE(plan.launches[1].isDependent);
  EXPECT_EQ(plan.launches[1].facts.evaluateAll(shapes), (std::vector<int64_t>{5, 9}));
  EXPECT_EQ(plan.workspace.evaluate(shapes), 1200);
}

TEST(LaunchPlan, RefusesWhatNoDeviceTakes) {
  const Json good = Json::parse(R"({"workspace": 0, "kernels": [
      {"entry": "a", "threads": 128, "shared_bytes": 0, "facts": [], "dependent": false, "grid": 1}]})");
  const auto changed = [&](const char *key, Json value) {
    Json info = good;
    info["kernels"][0][key] = std::move(value);
    return LaunchPlan::parse(info, ranks);
  };
  EXPECT_ERROR(changed("threads", 0), "expected threads from 1 to 1024, got 0");
  EXPECT_ERROR(changed("threads", 1025), "got 1025");
  EXPECT_ERROR(changed("shared_bytes", -1), "expected shared_bytes");
  EXPECT_ERROR(changed("entry", ""), "expected the name of an entry");
  EXPECT_ERROR(changed("entry", "a;b"), "got 'a;b'");
  EXPECT_ERROR(changed("grid", "x"), "got string");
  EXPECT_ERROR(changed("facts", 1), "expected an array of size expressions");
  EXPECT_ERROR(changed("facts", Json(std::vector<int>(500, 1))),
               "expected at most 4096 bytes of parameters");
  Json none = good;
  none["kernels"] = Json::array();
  EXPECT_ERROR(LaunchPlan::parse(none, ranks), "expected 1 to 64 kernels, got 0");
  EXPECT_ERROR(LaunchPlan::parse(good, std::vector<int64_t>(30, 8)), "bytes of parameters");
}

} // namespace
