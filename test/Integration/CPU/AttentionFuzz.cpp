//===- AttentionFuzz.cpp - random compositions against the reference ------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Environment: FLASHC_FUZZ_CASES (150) compositions, each compiled once and run at three sizes;
// FLASHC_FUZZ_SEED (1); FLASHC_FUZZ_INDEX: only that composition, simplified where it fails;
// FLASHC_FUZZ_FIRST (0): the composition to begin with.
//
//===----------------------------------------------------------------------===//

#include "test/Integration/CPU/RandomAttention.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

using namespace flashc;
using namespace flashc::test;

namespace {

uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The outputs that failed, or what was wrong: what a simplified case must keep.
std::string kindOf(const CaseOutcome &outcome) {
  if (outcome.measures.empty())
    return outcome.message.substr(0, 40);
  std::string kind;
  for (const char *name : {"o FAILED", "lse FAILED", "row_max FAILED", "NaN/inf", "wrote outside"})
    if (outcome.message.find(name) != std::string::npos)
      kind += std::string(kind.empty() ? "" : ", ") + name;
  return kind;
}

TEST(AttentionFuzz, Compositions) {
  uint64_t seed = numberFrom("FLASHC_FUZZ_SEED", 1), first = numberFrom("FLASHC_FUZZ_FIRST", 0);
  uint64_t count = numberFrom("FLASHC_FUZZ_CASES", 150);
  bool single = std::getenv("FLASHC_FUZZ_INDEX") != nullptr;
  if (single)
    first = numberFrom("FLASHC_FUZZ_INDEX", 0), count = 1;
  for (uint64_t index = first; index < first + count; ++index) {
    if (count > 500 && (index - first) % 250 == 0) {
      std::printf("composition %llu of %llu\n", static_cast<unsigned long long>(index - first),
                  static_cast<unsigned long long>(count));
      std::fflush(stdout);
    }
    int size = 0;
    for (const AttentionCase &attention : randomAttention(seed, index)) {
      if (single) {
        std::printf("%s\n", attention.describe().c_str());
        std::fflush(stdout);
      }
      CaseOutcome outcome = runCase(attention);
      if (!outcome.passed) {
        ADD_FAILURE() << "FLASHC_FUZZ_SEED=" << seed << " FLASHC_FUZZ_INDEX=" << index << " size "
                      << size << ": " << outcome.message << "\n"
                      << attention.describe();
        if (single) {
          AttentionCase simple = simplify(attention, [&](const AttentionCase &candidate) {
            CaseOutcome other = runCase(candidate);
            return !other.passed && kindOf(other) == kindOf(outcome);
          });
          std::printf("simplified%s: %s\n%s\n", simple.edit ? " (with NaN or inf)" : "",
                      simple.describe().c_str(), runCase(simple).message.c_str());
        }
        break; // the other sizes mostly fail alike
      }
      ++size;
    }
  }
}

} // namespace
