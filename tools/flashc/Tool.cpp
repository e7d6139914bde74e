//===- Tool.cpp - the flashc command line ---------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Tool.h"
#include "tools/flashc/AttentionFlags.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Report.h"
#include "tools/flashc/Suggest.h"

#include <iostream>
#include <new>

namespace flashc::tool {
namespace {

std::vector<Command> allCommands() {
  return {runCommand(),   compileCommand(), explainCommand(),
          benchCommand(), targetsCommand(), cacheCommand()};
}

std::vector<FlagGroup> flagsOf(const Command &command) {
  std::vector<FlagGroup> groups;
  if (command.takesAttention)
    groups = attentionFlags();
  for (const FlagGroup &group : command.ownFlags)
    groups.push_back(group);
  groups.push_back({"Help", {{"help", "", "Print this.", false, 'h'}}});
  return groups;
}

void printHelp(const Command &command) {
  std::cout << "flashc " << command.name << ": " << command.summary << "\n\nUsage: flashc "
            << command.name << ' ' << command.usage << "\n"
            << command.description << describeFlags(flagsOf(command));
  if (command.takesAttention)
    std::cout << attentionNotes();
}

void printOverview() {
  std::cout << R"(flashc compiles exact attention (FlashAttention) for a machine and runs it.

Usage: flashc COMMAND [FLAGS...]

)";
  Table table;
  for (const Command &command : allCommands())
    table.add({command.name, command.summary});
  table.print(std::cout, "  ");
  std::cout << R"(
'flashc COMMAND --help' explains a command and its flags. The flags that describe attention are the
same in all of them. To begin with:

  flashc run --random 2,512,512,8,2,64,64 --causal bottom-right --check
  flashc explain --random 2,512,512,8,2,64,64 --causal bottom-right
  flashc compile --head-dim 64 --dtype bf16 --emit tiled
  flashc run --q q.npy --k k.npy --v v.npy --mask "i - j < 128 && j <= i" --out o.npy

'flashc --version' prints the version. Errors are one message on standard error, and exit code 1.
)";
}

void printError(const std::string &message) {
  std::cout.flush();
  std::cerr << "flashc: error: " << escapeControls(message) << '\n';
}

void printRepeat(std::span<const std::string> args, const std::vector<std::string> &settled) {
  std::cerr << "repeat: flashc";
  for (const std::string &arg : args)
    std::cerr << ' ' << shellQuote(arg);
  for (const std::string &arg : settled)
    std::cerr << ' ' << shellQuote(arg);
  std::cerr << '\n';
}

int runCommandLine(const Command &command, std::span<const std::string> args) {
  Invocation invocation;
  const auto failed = [&](const std::string &message) {
    printError(message);
    printRepeat(args, invocation.settled);
    return 1;
  };
  try {
    invocation.arguments =
        parseArguments(command.name, flagsOf(command), args.subspan(1), command.maxPositional);
    if (invocation.arguments.has("help"))
      printHelp(command);
    else
      command.run(invocation);
    finishOutput();
    return 0;
  } catch (const UsageError &error) {
    printError(error.what());
    return 1;
  } catch (const std::bad_alloc &) {
    return failed("expected enough memory, got none; choose smaller sizes");
  } catch (const std::exception &error) {
    return failed(error.what());
  }
}

} // namespace

int runTool(std::span<const std::string> args, const std::string &version) {
  if (args.empty()) {
    printError("expected a command (run, compile, explain, bench, targets, cache), got none; "
               "'flashc --help' explains them");
    return 1;
  }
  std::vector<std::string> names;
  for (const Command &command : allCommands()) {
    if (args[0] == command.name)
      return runCommandLine(command, args);
    names.push_back(command.name);
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    if (args.size() > 1 && args[0] == "help")
      for (const Command &command : allCommands())
        if (args[1] == command.name) {
          printHelp(command);
          return 0;
        }
    printOverview();
    return 0;
  }
  if (args[0] == "--version") {
    std::cout << "flashc " << version << '\n';
    return 0;
  }
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  printError(concat("expected a command (", list, "; 'flashc --help' explains them), got '",
                    args[0], "'", didYouMean(args[0], names)));
  return 1;
}

} // namespace flashc::tool
