//===- Explanation.h - what explain knows of a problem ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Collected once, printed twice: for people and as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_EXPLANATION_H
#define FLASHC_TOOLS_FLASHC_EXPLANATION_H

#include "tools/flashc/Compiled.h"

#include <ostream>

namespace flashc::tool {

/// The bounds of the FlashAttention paper, section 3.2, in f32 elements and per head; for Sq queries and Sk
/// keys the N of a query's side is Sq and that of a key's is Sk.
struct PaperBounds {
  double cacheElements = 0; ///< M: second-level cache, or a block's shared memory, in f32 elements
  double standard = 0;      ///< (Sq + Sk) * d + Sq * Sk
  double tiled = 0;         ///< Sq * Sk * d^2 / M
};

struct Explanation {
  const Inputs &inputs;
  const TargetInfo &target;
  Front front;
  PairCount pairs;
  double flops = 0;
  TileCounts tiles;
  std::vector<Traffic> traffic;
  double standardBytes = 0, tiledBytes = 0;
  PaperBounds paper;
  int64_t workingSet = 0; ///< bytes of a thread's tiles, or of a block's in shared memory
  int64_t registers = 0;  ///< of the micro-kernel, or of a GPU's thread
  std::vector<ScheduleCandidate> candidates;
};

/// Asks the compiler. The target of `inputs`, which must outlive the result, is named. Throws Error.
Explanation makeExplanation(const Inputs &inputs);

void printExplanation(const Explanation &explanation, std::ostream &out);
void printExplanationJson(const Explanation &explanation, std::ostream &out);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_EXPLANATION_H
