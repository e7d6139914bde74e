//===- Error.h - the one exception type of the runtime -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every failure of the runtime that a user can cause is a flashc::Error whose
// message reads "expected X, got Y; remedy". Tools print it once and exit 1.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_ERROR_H
#define FLASHC_RUNTIME_SUPPORT_ERROR_H

#include <sstream>
#include <stdexcept>
#include <string>

namespace flashc {

/// A failure with a message for the user: lower case, no trailing full stop.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Streams all `parts` into one string: `concat("expected rank ", 4, ", got ", rank)`.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Throws Error with the concatenation of `parts`.
template <typename... Parts> [[noreturn]] void fail(const Parts &...parts) {
  throw Error(concat(parts...));
}

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_ERROR_H
