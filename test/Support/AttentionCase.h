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
#include "runtime/Reference/ErrorStats.h"
#include "test/Support/StridedTensor.h"

#include <functional>
#include <map>

namespace flashc::test {

/// The random inputs of a case before they are rounded to their types, in C order.
struct CaseInputs {
  std::vector<double> q, k, v;            ///< [rows, heads, dim]; rows counts over the batch
  std::vector<double> sinks, alibi, bias; ///< empty where absent; bias as it is before broadcasting
};

/// Arguments by their names.
using CaseTensors = std::map<std::string, StridedTensor>;

struct AttentionCase {
  AttentionDesc desc;
  /// Compiles and runs `desc` on tensors, and returns the names of its outputs; null: on this machine's processor.
  std::function<std::vector<std::string>(const AttentionDesc &desc, CaseTensors &tensors)> execute;
  bool allOutputs = true; ///< asks for lse and row max whatever desc says
  int64_t batch = 1, sq = 1, sk = 1, hq = 1, hkv = 1;
  std::vector<int64_t> lengthsQ, lengthsK; ///< packed where desc.packed
  std::vector<int64_t> used;               ///< seqused_k where desc.sequsedK
  int64_t pageRows = 1;           ///< of a page where desc.pageTable; sk is rounded up to it
  std::vector<int64_t> biasShape; ///< broadcasts to [B, Hq, Sq, Sk]; empty: that itself
  std::map<std::string, HostArray> captures;
  Strides strides = Strides::Dense;        ///< of q, k, v and o
  Strides captureStrides = Strides::Dense; ///< Dense, Padded or Negative
  double amplitude = 1.0;                  ///< standard deviation of q and k
  int threads = 2;
  uint64_t seed = 1;
  std::function<void(CaseInputs &)> edit; ///< changes the inputs to taste
  /// A kept infinite value may give NaN instead of infinity: its probability may be 0 in f32 (or in the type
  /// that P is rounded to) where it is a small number in float64.
  bool infinityMayBeNaN = false;

  std::string describe() const;
};

/// One output against the reference, beside the unfused evaluation against it.
struct Measure {
  reference::ErrorStats actual, unfused;
  reference::ErrorBar bar;
};

struct CaseOutcome {
  bool passed = false;
  std::string message;        ///< what failed, or the errors
  reference::Result actual;   ///< o, lse and row max as computed (those that were asked for)
  reference::Result expected; ///< by the reference
  std::map<std::string, Measure> measures; ///< by output
};

/// Compiles, runs and judges. Errors of flashc become a failed outcome.
CaseOutcome runCase(const AttentionCase &attention);

/// A case of one type and the usual sizes.
AttentionCase makeCase(DType type, int64_t d, int64_t dv, int64_t batch, int64_t sq, int64_t sk,
                       int64_t hq, int64_t hkv);

/// Adds a captured array of `values` to description and inputs. Values beyond 2^53 need addIntCapture.
void addCapture(AttentionCase &attention, const std::string &name, DType type,
                std::vector<int64_t> shape, const std::vector<double> &values);
void addIntCapture(AttentionCase &attention, const std::string &name, DType type,
                   std::vector<int64_t> shape, const std::vector<int64_t> &values);

/// Whether this machine can run the target ("": always).
bool canRunTarget(const std::string &name);

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_ATTENTIONCASE_H
