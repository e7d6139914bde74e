//===- Commands.h - the subcommands -----------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every subcommand is a table row: its name, its help, its flags, and the function that does it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_COMMANDS_H
#define FLASHC_TOOLS_FLASHC_COMMANDS_H

#include "tools/flashc/CommandLine.h"

namespace flashc::tool {

/// What a subcommand gets.
struct Invocation {
  Arguments arguments;
  /// Flags that the command line left open and that the run has settled, such as the target; the command
  /// that repeats a failed run gets them too.
  std::vector<std::string> settled;
};

struct Command {
  std::string name;
  std::string summary;     ///< one line
  std::string usage;       ///< after "flashc NAME "
  std::string description; ///< what it does and how, with examples
  std::vector<FlagGroup> ownFlags;
  bool takesAttention = true; ///< whether it has the flags of attentionFlags()
  size_t maxPositional = 0;
  void (*run)(Invocation &invocation); ///< throws Error
};

Command runCommand();
Command compileCommand();
Command explainCommand();
Command benchCommand();
Command targetsCommand();
Command cacheCommand();

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_COMMANDS_H
