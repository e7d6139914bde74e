//===- ExplainCommand.cpp - flashc explain --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compile.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Explanation.h"
#include "tools/flashc/Report.h"

#include <iostream>

namespace flashc::tool {
namespace {

void explain(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  Inputs inputs = loadInputs(arguments, Need::Sizes);
  printNotes(inputs);
  inputs.desc.target = resolveTarget(inputs.desc.target, inputs.desc.dtype);
  if (!arguments.has("target"))
    invocation.settled = {"--target", inputs.desc.target};
  const Explanation explanation = makeExplanation(inputs);
  if (arguments.has("json"))
    printExplanationJson(explanation, std::cout);
  else
    printExplanation(explanation, std::cout);
}

} // namespace

Command explainCommand() {
  Command command;
  command.name = "explain";
  command.summary = "Show what attention costs and how it will be executed, without running it.";
  command.usage = "(--random SIZES | --q FILE --k FILE --v FILE) [FLAGS...]";
  command.description = R"(
Prints operations; bytes per operand through memory (beyond a core's own caches) for standard attention,
which writes the score matrix S and the probabilities P and reads them back, and for the tiled one, which
reads K and V once per tile of queries that sees them; the paper's bounds, Theta(N d + N^2) against
Theta(N^2 d^2 / M); how many tiles the mask leaves empty (never visited), full (never masked) and
partial; cache and registers; every schedule considered, with the reason where it does not fit; and the
score and mask regions that the flags become. No values are made: sizes may be larger than memory.

  flashc explain --random 1,8192,8192,32,8,128,128 --causal bottom-right
  flashc explain --random 1,8192,8192,32,8,128,128 --mask "i - j < 512 && j <= i" --target x86-64-v3

--json prints one object on one line.
)";
  command.ownFlags = {{"Output", {{"json", "", "One JSON object on one line instead of tables."}}}};
  command.run = explain;
  return command;
}

} // namespace flashc::tool
