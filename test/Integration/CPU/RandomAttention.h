//===- RandomAttention.h - random compositions of attention -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Draws a description with any mix of features, a few sizes to run it at, and, where one fails, looks for a
// simpler case that fails too.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_INTEGRATION_CPU_RANDOMATTENTION_H
#define FLASHC_TEST_INTEGRATION_CPU_RANDOMATTENTION_H

#include "test/Support/AttentionCase.h"

namespace flashc::test {

/// The cases of composition `index`: one description, so one compilation, at several sizes. The same seed and
/// index give the same cases (with one compiler, on one kind of host: targets are those that it can run).
std::vector<AttentionCase> randomAttention(uint64_t seed, uint64_t index);

/// A case that `fails` as `attention` does and from which no single feature can be taken away nor size halved.
/// Tries some hundred cases at most.
AttentionCase simplify(AttentionCase attention,
                       const std::function<bool(const AttentionCase &)> &fails);

} // namespace flashc::test

#endif // FLASHC_TEST_INTEGRATION_CPU_RANDOMATTENTION_H
