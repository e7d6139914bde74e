//===- CompileCommand.cpp - flashc compile --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compile.h"
#include "runtime/IO/AtomicFile.h"
#include "runtime/IO/ByteSource.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Inputs.h"
#include "tools/flashc/Outputs.h"
#include "tools/flashc/Report.h"
#include "tools/flashc/Suggest.h"

#include <iostream>
#include <iterator>
#include <unistd.h>

namespace flashc::tool {
namespace {

/// MLIR files beyond this are refused unread, as the compiler refuses the text.
constexpr uint64_t mostTextBytes = uint64_t(64) << 20;

Stage parseStageFlag(const Arguments &arguments, const char *flag, Stage otherwise, bool onlyMLIR) {
  const std::optional<std::string> text = arguments.find(flag);
  if (!text)
    return otherwise;
  const std::optional<Stage> stage = parseStage(*text);
  if (stage && (isMLIR(*stage) || !onlyMLIR))
    return *stage;
  const std::vector<std::string> names(std::begin(kStageNames), std::end(kStageNames));
  throw UsageError(concat("--", flag, ": expected a stage out of ", listStages(onlyMLIR), ", got '",
                          *text, "'", stage ? "" : didYouMean(*text, names)));
}

std::string readText(const std::string &path) {
  std::string text;
  if (path == "-") {
    char buffer[65536];
    while (std::cin.read(buffer, sizeof(buffer)), std::cin.gcount() > 0) {
      text.append(buffer, static_cast<size_t>(std::cin.gcount()));
      if (text.size() > mostTextBytes)
        fail("standard input: expected at most ", mostTextBytes, " bytes of MLIR, got more");
    }
    return text;
  }
  const auto file = ByteSource::openFile(path, {mostTextBytes});
  text.resize(file->size());
  file->readAt(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// A stage of a file.
std::string compileFile(const Arguments &arguments, const CompileOptions &options) {
  const std::string &path = arguments.positional()[0];
  for (const std::string &flag : arguments.given())
    if (flag != "target" && flag != "emit" && flag != "from" && flag != "dump-stages" &&
        flag != "output")
      fail("expected either a file or flags of attention, got '", path, "' and --", flag,
           "; the file says what is computed");
  const Stage from = parseStageFlag(arguments, "from", Stage::Flash, true);
  return compileText(readText(path), path == "-" ? "standard input" : path, from,
                     arguments.find("target").value_or(""), options);
}

/// A stage of what the flags describe.
std::string compileFlags(Invocation &invocation, const CompileOptions &options) {
  const Arguments &arguments = invocation.arguments;
  if (arguments.has("from"))
    fail("--from: expected a file to start from, got none; give FILE.mlir");
  Inputs inputs = loadInputs(arguments, Need::Types);
  printNotes(inputs);
  inputs.desc.target = resolveTarget(inputs.desc.target);
  if (!arguments.has("target"))
    invocation.settled = {"--target", inputs.desc.target};
  return compileAttention(inputs.desc, options);
}

void compile(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  CompileOptions options;
  options.emit = parseStageFlag(arguments, "emit", Stage::Obj, false);
  options.dumpStages = arguments.find("dump-stages").value_or("");
  const std::string output = arguments.find("output").value_or("");
  const bool toStandardOutput = output.empty() || output == "-";
  if (options.emit == Stage::Obj && output.empty() && options.dumpStages.empty())
    throw UsageError("expected a file for the object, got none; give -o FILE.o (-o - for standard "
                     "output), or --emit STAGE for text (" +
                     listStages() + ")");
  if (options.emit == Stage::Obj && output == "-" && isatty(STDOUT_FILENO))
    fail("expected a file or a pipe for the object, got a terminal; give -o FILE.o");
  if (!toStandardOutput)
    checkWritable("output", output);
  const std::string result = arguments.positional().empty() ? compileFlags(invocation, options)
                                                            : compileFile(arguments, options);
  if (!toStandardOutput)
    writeFileAtomically(output, {std::as_bytes(std::span(result))});
  else if (options.emit != Stage::Obj || output == "-")
    std::cout << result;
}

} // namespace

Command compileCommand() {
  Command command;
  command.name = "compile";
  command.summary = "Compile attention, or MLIR of any stage, to any later stage.";
  command.usage = "(FILE.mlir | FLAGS...) [--target T] [--emit STAGE] [-o OUT]";
  command.description = R"(
The stages are flash, online, tiled, tile, vector, llvm (MLIR), llvm-ir, asm (text) and obj: an
x86-64 ELF object that needs nothing else, for 'flashc run --object' and the runtime. Sizes of batches,
sequences and heads stay open; D and Dv come from --head-dim and --value-dim, from --random or from files.

  flashc compile --head-dim 64 --dtype bf16 --causal bottom-right --emit tiled
  flashc compile --head-dim 128 --target x86-64-v3 -o attention.o
  flashc compile --from tiled --emit asm dumps/02-tiled.mlir -o attention.s
)";
  command.ownFlags = {
      {"Compiling",
       {{"emit", "STAGE", "Stop at this stage (default obj)."},
        {"from", "STAGE", "The stage that FILE.mlir is at (default flash)."},
        {"output", "OUT", "Write here; - is standard output, the default for text.", false, 'o'},
        {"dump-stages", "DIR", "Write every stage on the way to this folder."}}}};
  command.maxPositional = 1;
  command.run = compile;
  return command;
}

} // namespace flashc::tool
