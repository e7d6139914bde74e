//===- HostExpr.h - sizes that a kernel computes from shapes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// How many blocks a GPU kernel is launched with, and how much workspace it
// needs, depends on the extents of its arguments. The compiler says how, as a
// small expression beside the code; the host evaluates it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_HOSTEXPR_H
#define FLASHC_RUNTIME_CUDA_HOSTEXPR_H

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace flashc::cuda {

/// The extents of every argument, in argument order.
using ArgumentShapes = std::span<const std::span<const int64_t>>;

/// An integer, an extent, or an operation on two expressions. In JSON: 5, ["dim", argument,
/// dimension], or [OP, EXPR, EXPR] with OP one of add, sub, mul, div, rem, max and min. 64-bit
/// signed; div and rem truncate, and give 0 for a divisor of 0. Or several of these, which are
/// computed at once.
class HostExpr {
public:
  /// The integer 0.
  HostExpr() : nodes{{Op::Constant, 0, 0, 0}}, results{0} {}

  /// Reads JSON; `ranks` are those of the arguments. Throws Error where it is malformed, deeper
  /// than 64 or of more than 4096 parts, or names an extent that is not there.
  static HostExpr parse(const nlohmann::json &json, std::span<const int64_t> ranks);
  /// The same for an array of expressions.
  static HostExpr parseAll(const nlohmann::json &list, std::span<const int64_t> ranks);

  /// How many expressions it is.
  size_t size() const { return results.size(); }

  /// Throws Error where a 64-bit integer does not hold the result or a step on the way.
  int64_t evaluate(ArgumentShapes shapes) const { return evaluateAll(shapes).front(); }
  std::vector<int64_t> evaluateAll(ArgumentShapes shapes) const;

private:
  enum class Op : uint8_t { Constant, Dim, Add, Sub, Mul, Div, Rem, Max, Min };
  struct Node {
    Op op;
    int64_t value;          ///< of a constant
    uint32_t first, second; ///< argument and dimension, or the operands' nodes (before this one)
    auto operator<=>(const Node &) const = default;
  };
  struct Parser;

  static int64_t apply(Op op, int64_t a, int64_t b);

  std::vector<Node> nodes; ///< each once, operands first
  std::vector<uint32_t> results;
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_HOSTEXPR_H
