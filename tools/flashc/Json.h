//===- Json.h - JSON lines --------------------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_JSON_H
#define FLASHC_TOOLS_FLASHC_JSON_H

#include <nlohmann/json.hpp>

#include <cmath>
#include <ostream>

namespace flashc::tool {

/// A count as a JSON integer where it is exact as one, else as a number with a fraction or exponent.
inline nlohmann::ordered_json toJson(double count) {
  if (std::fabs(count) < 0x1p53 && count == std::floor(count))
    return static_cast<int64_t>(count);
  return count;
}

/// Prints an object on one line. Bytes that are no UTF-8, from file names, are replaced.
inline void printJsonLine(const nlohmann::ordered_json &line, std::ostream &out) {
  out << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_JSON_H
