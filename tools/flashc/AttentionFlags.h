//===- AttentionFlags.h - the flags that describe attention -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One set of flags for every subcommand, made from the one table of AttentionDesc's fields. A field that
// only says that an array is there becomes a flag that takes the array.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_ATTENTIONFLAGS_H
#define FLASHC_TOOLS_FLASHC_ATTENTIONFLAGS_H

#include "tools/flashc/CommandLine.h"

#include <span>

namespace flashc::tool {

/// An input array: the flag that gives it and the kernel argument that it is.
struct ArrayFlag {
  const char *flag;
  const char *argument;
};

/// The arrays beside q, k and v. User captures are not among them.
std::span<const ArrayFlag> arrayFlags();

/// Whether the value of the field `key` is given as text by the flag of the same name.
bool isPlainField(std::string_view key);

/// Flags of inputs and of what is computed.
std::vector<FlagGroup> attentionFlags();

/// What the help of every subcommand says about inputs, expressions and results.
std::string attentionNotes();

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_ATTENTIONFLAGS_H
