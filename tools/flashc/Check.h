//===- Check.h - results against float64 ------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What --check does. It is the only place that knows the reference; a build without runtime/Reference has
// everything but --check.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_CHECK_H
#define FLASHC_TOOLS_FLASHC_CHECK_H

#include "tools/flashc/Inputs.h"

#include <map>

namespace flashc::tool {

/// How one result compares.
struct CheckLine {
  std::string result; ///< "o", "lse", "row_max"
  bool passed = false;
  std::string details; ///< errors beside what is allowed
};

/// Compares results (by argument name, in the user's layout) with the float64 reference. The bar is twice
/// the error of an unfused f32 evaluation of the same inputs. Throws Error.
std::vector<CheckLine> checkResults(const Inputs &inputs,
                                    const std::map<std::string, HostArray> &results, int threads);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_CHECK_H
