//===- JsonInteger.h - whole numbers of JSON --------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_SUPPORT_JSONINTEGER_H
#define FLASHC_RUNTIME_SUPPORT_JSONINTEGER_H

#include "runtime/Support/Error.h"

#include <nlohmann/json.hpp>

namespace flashc {

/// `json` as a 64-bit integer. Throws Error for anything else: nlohmann::json converts every number, without a look at
/// fractions, at signs or at what the type holds. `what` says in the error which number of a kernel object it is.
inline int64_t integerOf(const nlohmann::json &json, std::string_view what) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX)))
    fail("kernel object: expected a 64-bit integer ", what, ", got ",
         json.is_number() ? "another number" : json.type_name());
  return json.get<int64_t>();
}

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_JSONINTEGER_H
