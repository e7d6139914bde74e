//===- Messages.cpp - pieces of the readers' error messages -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Escaping keeps control sequences in hostile names away from the terminal.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Messages.h"

#include "runtime/Support/Error.h"

namespace flashc {

std::string printable(std::string_view text) {
  constexpr size_t longest = 80;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
      continue;
    }
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return result + (text.size() > longest ? "...'" : "'");
}

void failMissingArray(const std::string &file, const std::string &name,
                      const std::vector<std::string> &names) {
  constexpr size_t longest = 10;
  std::string list;
  for (size_t i = 0; i < names.size() && i < longest; ++i)
    list += (i ? ", " : "") + printable(names[i]);
  if (names.size() > longest)
    list += concat(" and ", names.size() - longest, " more");
  fail(file, ": expected an array named ", printable(name), ", got ",
       names.empty() ? "a file without arrays" : list, "; choose one with FILE:NAME");
}

} // namespace flashc
