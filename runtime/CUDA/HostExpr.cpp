//===- HostExpr.cpp - sizes that a kernel computes from shapes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/HostExpr.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/JsonInteger.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace flashc::cuda {
namespace {

using Json = nlohmann::json;

constexpr int maxDepth = 64;
constexpr size_t maxTerms = 4096;

constexpr const char *names[] = {"", "dim", "add", "sub", "mul", "div", "rem", "max", "min"};

} // namespace

struct HostExpr::Parser {
  std::span<const int64_t> ranks;
  std::vector<Node> nodes = {};
  std::map<Node, uint32_t> numbers = {};
  size_t numTerms = 0; ///< of the expression, which may share nodes

  HostExpr finish(std::vector<uint32_t> results) {
    HostExpr expression;
    expression.nodes = std::move(nodes);
    expression.results = std::move(results);
    return expression;
  }

  uint32_t parseWhole(const Json &json) {
    numTerms = 0;
    return parse(json, 1);
  }

  /// Returns the node's index.
  uint32_t parse(const Json &json, int depth) {
    if (++numTerms > maxTerms)
      fail("kernel object: expected a size expression of at most ", maxTerms,
           " parts, got a larger one");
    if (depth > maxDepth)
      fail("kernel object: expected a size expression at most ", maxDepth,
           " deep, got a deeper one");
    const Node node = json.is_array() ? parseArray(json, depth) : parseInteger(json);
    const auto [known, isNew] = numbers.try_emplace(node, static_cast<uint32_t>(nodes.size()));
    if (isNew)
      nodes.push_back(node);
    return known->second;
  }

  static Node parseInteger(const Json &json) {
    return {Op::Constant, integerOf(json, "or an array in a size expression"), 0, 0};
  }

  Node parseArray(const Json &json, int depth) {
    if (json.size() != 3 || !json[0].is_string())
      fail("kernel object: expected an operation and two operands in a size expression, got an "
           "array of ",
           json.size());
    const std::string &name = json[0].get_ref<const std::string &>();
    const auto found = std::find(std::begin(names) + 1, std::end(names), name);
    if (found == std::end(names))
      fail("kernel object: expected dim, add, sub, mul, div, rem, max or min in a size expression, "
           "got '",
           name.substr(0, 40), "'");
    const Op op = static_cast<Op>(found - std::begin(names));
    if (op == Op::Dim)
      return parseDim(json);
    const uint32_t first = parse(json[1], depth + 1);
    return {op, 0, first, parse(json[2], depth + 1)};
  }

  Node parseDim(const Json &json) const {
    const int64_t argument = parseInteger(json[1]).value, dimension = parseInteger(json[2]).value;
    if (argument < 0 || argument >= static_cast<int64_t>(ranks.size()) || dimension < 0 ||
        dimension >= ranks[argument])
      fail("kernel object: expected an extent of an argument in a size expression, got dimension ",
           dimension, " of argument ", argument);
    return {Op::Dim, 0, static_cast<uint32_t>(argument), static_cast<uint32_t>(dimension)};
  }
};

HostExpr HostExpr::parse(const Json &json, std::span<const int64_t> ranks) {
  Parser parser{ranks};
  const uint32_t result = parser.parseWhole(json);
  return parser.finish({result});
}

HostExpr HostExpr::parseAll(const Json &list, std::span<const int64_t> ranks) {
  if (!list.is_array())
    fail("kernel object: expected an array of size expressions, got ", list.type_name());
  Parser parser{ranks};
  std::vector<uint32_t> results;
  for (const Json &json : list)
    results.push_back(parser.parseWhole(json));
  return parser.finish(std::move(results));
}

int64_t HostExpr::apply(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  switch (op) {
  case Op::Constant:
  case Op::Dim:
    break;
  case Op::Add:
    overflows = __builtin_add_overflow(a, b, &result);
    break;
  case Op::Sub:
    overflows = __builtin_sub_overflow(a, b, &result);
    break;
  case Op::Mul:
    overflows = __builtin_mul_overflow(a, b, &result);
    break;
  case Op::Div:
    // INT64_MIN / -1 traps; as a negation it is seen to overflow.
    if (b == -1)
      overflows = __builtin_sub_overflow(int64_t(0), a, &result);
    else
      result = b == 0 ? 0 : a / b;
    break;
  case Op::Rem:
    result = b == 0 || b == -1 ? 0 : a % b;
    break;
  case Op::Max:
    result = std::max(a, b);
    break;
  case Op::Min:
    result = std::min(a, b);
    break;
  }
  if (overflows)
    fail("expected sizes whose products are 64-bit integers, got ", a, " ",
         names[static_cast<size_t>(op)], " ", b, "; use smaller tensors");
  return result;
}

std::vector<int64_t> HostExpr::evaluateAll(ArgumentShapes shapes) const {
  std::vector<int64_t> values;
  values.reserve(nodes.size());
  for (const Node &node : nodes) {
    if (node.op == Op::Constant)
      values.push_back(node.value);
    else if (node.op == Op::Dim)
      values.push_back(shapes[node.first][node.second]);
    else
      values.push_back(apply(node.op, values[node.first], values[node.second]));
  }
  std::vector<int64_t> all;
  all.reserve(results.size());
  for (const uint32_t result : results)
    all.push_back(values[result]);
  return all;
}

} // namespace flashc::cuda
