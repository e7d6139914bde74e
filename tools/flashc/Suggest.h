//===- Suggest.h - the name that was meant ----------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// An unknown flag, subcommand or target is answered with the known name that it resembles.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_SUGGEST_H
#define FLASHC_TOOLS_FLASHC_SUGGEST_H

#include <span>
#include <string>
#include <string_view>

namespace flashc::tool {

/// The one of `names` that `text` was probably meant to be: it begins with `text`, or differs from it by
/// few insertions, deletions, changes and swaps of letters. "" where none is close.
std::string closestName(std::string_view text, std::span<const std::string> names);

/// "; did you mean 'x'?" with `prefix` before the name, or "" where no name is close.
std::string didYouMean(std::string_view text, std::span<const std::string> names,
                       std::string_view prefix = "");

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_SUGGEST_H
