//===- AttentionCase.h - one attention, run and judged ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Builds inputs for a description and sizes, compiles and runs the kernel on poisoned outputs, and judges
// it by the float64 reference. Sweeps and the fuzzer are lists of cases.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_SUPPORT_ATTENTIONCASE_H
#define FLASHC_TEST_SUPPORT_ATTENTIONCASE_H

#include "runtime/API/AttentionDesc.h"
#include "runtime/Support/HostArray.h"
#include "runtime/Reference/Attention.h"

#include <functional>
#include <map>
#include <random>

namespace flashc::test {

/// How q, k, v and o lie in memory.
enum class Strides { Dense, HeadsFirst, Padded, Negative, ZeroKeyHeads };

struct AttentionCase {
  AttentionDesc desc; ///< lse and row max are always asked for
  int64_t batch = 1, sq = 1, sk = 1, hq = 1, hkv = 1;
  std::vector<int64_t> lengthsQ, lengthsK; ///< packed where not empty
  std::vector<int64_t> used;               ///< seqused_k where not empty
  std::vector<int64_t> biasShape;          ///< where desc.bias: broadcasts to [B, Hq, Sq, Sk]
  std::map<std::string, HostArray> captures;
  Strides strides = Strides::Dense;
  double amplitude = 1.0; ///< standard deviation of q and k
  int threads = 2;
  uint64_t seed = 1;
  /// Changes the inputs (q, k, v, before rounding to the type; [rows, heads, dim] each) to taste.
  std::function<void(std::vector<double> &q, std::vector<double> &k, std::vector<double> &v)> edit;

  std::string describe() const;
};

struct CaseOutcome {
  bool passed = false;
  std::string message;      ///< what failed, or the errors
  double errorRatio = 0;    ///< rms of o over the bar's
  reference::Result actual; ///< o, lse and row max as computed
};

/// Compiles, runs and judges. Errors of flashc become a failed outcome.
CaseOutcome runCase(const AttentionCase &attention);

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_ATTENTIONCASE_H
