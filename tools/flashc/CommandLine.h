//===- CommandLine.h - flags, their parsing and their help ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A thin layer over Boost.Program_options: flags are rows of tables, nothing is abbreviated, every flag
// but the repeatable ones is given once, and an error names the flag that was probably meant.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_COMMANDLINE_H
#define FLASHC_TOOLS_FLASHC_COMMANDLINE_H

#include "runtime/Support/Error.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc::tool {

/// One flag.
struct Flag {
  std::string name;    ///< without dashes
  std::string operand; ///< placeholder of the value in help: "L,R"; "" for a switch
  std::string help;
  bool repeatable = false;
  char letter = 0; ///< short form, 0 for none
};

/// Flags under one heading of the help.
struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

/// A command line that cannot be understood; no run has begun.
class UsageError : public Error {
public:
  using Error::Error;
};

/// What a command line gives.
class Arguments {
public:
  bool has(std::string_view flag) const { return values.find(flag) != values.end(); }
  /// The flag's value, or nothing where it is not given ("" for a switch that is).
  std::optional<std::string> find(std::string_view flag) const;
  /// All values of a repeatable flag, in order.
  std::vector<std::string> all(std::string_view flag) const;
  const std::vector<std::string> &positional() const { return words; }
  /// The names of all flags that are given.
  std::vector<std::string> given() const;

  /// The flag's value as an integer in [least, most], or `otherwise`. Throws UsageError.
  int64_t integer(std::string_view flag, int64_t least, int64_t most, int64_t otherwise) const;

private:
  friend Arguments parseArguments(const std::string &, std::span<const FlagGroup>,
                                  std::span<const std::string>, size_t);
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  std::vector<std::string> words;
};

/// Parses what follows the subcommand `command`. At most `maxPositional` words may stand outside flags.
/// Throws UsageError.
Arguments parseArguments(const std::string &command, std::span<const FlagGroup> groups,
                         std::span<const std::string> args, size_t maxPositional = 0);

/// The groups as a table for people.
std::string describeFlags(std::span<const FlagGroup> groups);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_COMMANDLINE_H
