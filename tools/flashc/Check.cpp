//===- Check.cpp - results against float64 --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Check.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Reference/ErrorStats.h"

namespace flashc::tool {
namespace {

reference::Problem makeProblem(const Inputs &inputs) {
  const AttentionDesc &desc = inputs.desc;
  const auto view = [&](const char *name) -> std::optional<reference::TensorView> {
    const HostArray *array = inputs.find(name);
    return array ? std::optional(reference::viewOf(*array)) : std::nullopt;
  };
  reference::Problem problem;
  problem.q = *view("q");
  problem.k = *view("k");
  problem.v = *view("v");
  problem.layout = inputs.bhsd ? reference::Layout::BHSD : reference::Layout::BSHD;
  problem.scale = desc.scale;
  problem.softcap = desc.softcap.value_or(0);
  problem.causal = desc.causal == Causal::TopLeft       ? reference::Causal::TopLeft
                   : desc.causal == Causal::BottomRight ? reference::Causal::BottomRight
                                                        : reference::Causal::None;
  if (desc.window) {
    problem.windowLeft = desc.window->left;
    problem.windowRight = desc.window->right;
  }
  problem.alibi = view("alibi");
  problem.bias = view("bias");
  problem.sinks = view("sinks");
  problem.cuSeqlensQ = view("cu_seqlens_q");
  problem.cuSeqlensK = view("cu_seqlens_k");
  problem.seqUsedK = view("seqused_k");
  problem.pageTable = view("page_table");
  std::vector<CaptureInfo> captures;
  for (const Capture &capture : desc.captures) {
    captures.push_back({capture.name, capture.dtype, capture.rank});
    problem.captures.push_back({capture.name, *view(capture.name.c_str())});
  }
  if (!desc.score.empty())
    problem.score = parseExpression(desc.score, ExprKind::Score, captures);
  if (!desc.mask.empty())
    problem.mask = parseExpression(desc.mask, ExprKind::Mask, captures);
  return problem;
}

std::vector<double> toDoubles(const HostArray &array) {
  std::vector<double> values(array.numElements());
  for (size_t n = 0; n < values.size(); ++n)
    values[n] = array.at(static_cast<int64_t>(n));
  return values;
}

} // namespace

std::vector<CheckLine> checkResults(const Inputs &inputs,
                                    const std::map<std::string, HostArray> &results, int threads) {
  using namespace reference;
  const Problem problem = makeProblem(inputs);
  const unsigned count = threads > 0 ? static_cast<unsigned>(threads) : 0;
  const Result exact = evaluate(problem, count);
  const Result unfused = evaluateUnfusedF32(problem, inputs.desc.dtype, count);
  struct Member {
    const char *name;
    std::vector<double> Result::*values;
    BarContext context;
  };
  const Member members[] = {
      {"o", &Result::o, BarContext::forOutput(exact, inputs.desc.dtype)},
      {"lse", &Result::lse, BarContext::forScores(exact)},
      {"row_max", &Result::rowMax, BarContext::forScores(exact)},
  };
  std::vector<CheckLine> lines;
  for (const Member &member : members) {
    const auto found = results.find(member.name);
    if (found == results.end())
      continue;
    const ErrorStats actual = compare(toDoubles(found->second), exact.*member.values);
    const ErrorStats yardstick = compare(unfused.*member.values, exact.*member.values);
    lines.push_back({member.name, withinBar(actual, yardstick, member.context),
                     describe(actual, errorBar(yardstick, member.context))});
  }
  return lines;
}

} // namespace flashc::tool
