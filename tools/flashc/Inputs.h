//===- Inputs.h - what to compute and on what -------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Turns the attention flags into a description and its arrays, with every check that can be told in terms
// of the user's own files and layout.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_INPUTS_H
#define FLASHC_TOOLS_FLASHC_INPUTS_H

#include "runtime/API/AttentionDesc.h"
#include "runtime/Support/HostArray.h"
#include "tools/flashc/CommandLine.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashc::tool {

/// How much of the inputs a subcommand needs.
enum class Need {
  Types, ///< element types, head dims, ranks
  Sizes, ///< and all extents; --random makes no values but lengths
  Data,  ///< and all values
};

/// The extents of a problem. Packed: `batch` sequences, `queries` and `keys` in all.
struct Sizes {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, headsKv = 0;
};

struct Inputs {
  AttentionDesc desc; ///< validated; its target as given
  bool bhsd = false;
  std::optional<Sizes> sizes; ///< always there for Need::Sizes and Need::Data
  /// By the kernel argument's name, in the user's layout and with the types of `desc`. Arrays made up for
  /// less than Need::Data have a shape and, lengths apart, no data.
  std::map<std::string, HostArray, std::less<>> arrays;
  std::vector<std::string> notes; ///< what the user should know, a sentence each

  bool isPacked() const { return desc.packed.has_value(); }
  const HostArray *find(std::string_view name) const;
};

/// Reads the flags of attentionFlags(). Throws Error.
Inputs loadInputs(const Arguments &arguments, Need need);

/// Throws Error when `bytes` are more than this machine has; `what` needs them.
void checkMemory(double bytes, const std::string &what);

/// A number of bytes for people: "1.5 MiB".
std::string describeBytes(double bytes);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_INPUTS_H
