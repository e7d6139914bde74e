//===- ExprFuzz.cpp - libFuzzer target of the expression parser -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Any text either parses or throws flashc::Error. What parses prints to text that parses to the
// same tree (unless the explicit conversions nest too deep), and evaluates without a trap.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/Parser.h"
#include "runtime/Reference/ExprEvaluator.h"
#include "runtime/Support/Error.h"

#include <cstdlib>

using namespace flashc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<CaptureInfo> captures = {
      {"f", DType::F32, 1}, {"n", DType::I32, 2}, {"t", DType::Bool, 1}, {"x", DType::BF16, 0}};
  static const std::vector<HostArray> arrays = {
      HostArray::zeros(DType::F32, {3}), HostArray::zeros(DType::I32, {2, 2}),
      HostArray::zeros(DType::Bool, {4}), HostArray::zeros(DType::BF16, {})};
  static const std::vector<reference::NamedTensor> tensors = [] {
    std::vector<reference::NamedTensor> result;
    for (size_t n = 0; n < arrays.size(); ++n)
      result.push_back({captures[n].name, reference::viewOf(arrays[n])});
    return result;
  }();
  if (size == 0)
    return 0;
  const ExprKind kind = data[0] & 1 ? ExprKind::Mask : ExprKind::Score;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  TypedExpr expr;
  try {
    expr = parseExpression(text, kind, captures);
  } catch (const Error &) {
    return 0;
  }
  const std::string printed = toString(expr);
  try {
    const TypedExpr again = parseExpression(printed, kind, captures);
    if (!structurallyEqual(*expr.root, *again.root))
      std::abort();
  } catch (const Error &error) {
    const std::string_view message = error.what();
    if (message.find("nesting") == message.npos && printed.size() <= kMaxExprLength)
      std::abort();
  }
  reference::ExprEvaluator<float> evaluator(expr, tensors);
  reference::ExprEvaluator<float>::Scratch scratch;
  float s[3] = {-1, 0, 1e30f};
  uint8_t keep[3] = {1, 1, 1};
  if (kind == ExprKind::Score)
    evaluator.evaluateScores({1, 2, 3, 4, 5}, 0, 3, s, scratch);
  else
    evaluator.evaluateMask({1, 2, 3, 4, 5}, 0, 3, keep, scratch);
  return 0;
}
