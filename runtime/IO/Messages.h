//===- Messages.h - pieces of the readers' error messages -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Names in array files come from others: they are escaped before they are
// printed, and a missing one is answered with those that the file does hold.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_MESSAGES_H
#define FLASHC_RUNTIME_IO_MESSAGES_H

#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// `text` in single quotes, with control and non-ASCII bytes escaped and the end of a long
/// text cut, so that names from hostile files are safe to print.
std::string printable(std::string_view text);

/// Throws Error: `file` holds `names` (the first few are listed), but not `name`.
[[noreturn]] void failMissingArray(const std::string &file, const std::string &name,
                                   const std::vector<std::string> &names);

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_MESSAGES_H
