//===- CheckAbsent.cpp - a build without the reference --------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Check.h"

namespace flashc::tool {

std::vector<CheckLine> checkResults(const Inputs &, const std::map<std::string, HostArray> &, int) {
  fail("--check: expected a build with the float64 reference (runtime/Reference), got one without");
}

} // namespace flashc::tool
