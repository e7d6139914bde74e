//===- ErrorStats.h - how far results are from the reference -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Error measures against float64, and the rule that a compiled kernel must satisfy: within twice
// the error of an ordinary unfused evaluation of the same inputs, in both measures.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_ERRORSTATS_H
#define FLASHC_RUNTIME_REFERENCE_ERRORSTATS_H

#include "runtime/Reference/Attention.h"

#include <span>
#include <string>

namespace flashc::reference {

/// Absolute errors over the elements where both values are finite.
struct ErrorStats {
  int64_t count = 0; ///< Elements compared, all of them.
  double rms = 0;    ///< Root of the mean square error.
  double p999 = 0;   ///< 99.9th percentile (nearest rank: the maximum below 1000 elements).
  double max = 0;
  /// Elements where one value is NaN or infinite and the other is not the same.
  int64_t mismatches = 0;
  int64_t firstMismatch = -1; ///< Its flat index.
  double referenceRms = 0;    ///< Of the reference's finite values.
  double referenceP999 = 0;   ///< 99.9th percentile of their magnitude.
};

/// Compares element by element; throws flashc::Error where the lengths differ.
ErrorStats compare(std::span<const double> actual, std::span<const double> reference);

/// What the rule allows, see errorBar.
struct ErrorBar {
  double rms = 0, p999 = 0;
};

/// What the results are and how well conditioned they are, for the slack of small samples.
struct BarContext {
  DType type = DType::F32; ///< Of the result that was compared.
  int64_t rows = 0;        ///< Independent softmax rows behind it.
  double slack = 0;        ///< An error that one row may have by bad luck.

  /// For o of a kernel with q, k, v and P of `type`. An error of half a unit in the last place of
  /// every P, or of every score, moves o by up to that fraction of the values.
  static BarContext forOutput(const Result &reference, DType type);
  /// For lse and rowMax (f32), which move as the scores do.
  static BarContext forScores(const Result &reference);
};

/// The largest errors that pass:
///
///   2 * (the unfused evaluation's error) + (half a unit in the last place of the result's type at
///   the reference's magnitude) + slack
///
/// The second term is what any rounded result has, even where the unfused one is exact by luck (one
/// key: o = v). The third exists because both errors are samples of few rows: an unfused evaluation
/// of one row can be ten times better than its expected error. For the rms it is the context's
/// slack * 4 / sqrt(rows), and 0 from 256 rows on; for the percentile, which single rows decide for
/// longer, slack * 8 / sqrt(rows), and 0 from 4096 rows on. There the rule is the plain factor 2.
ErrorBar errorBar(const ErrorStats &unfused, const BarContext &context);

/// Whether the errors are within the bar and every NaN and infinity is where the reference has it.
bool withinBar(const ErrorStats &actual, const ErrorStats &unfused, const BarContext &context);

/// "rms 1.2e-07 (bar 2.1e-07), 99.9% 3.4e-07 (bar 6.0e-07), max ..., 2 NaN/inf mismatches (first at
/// 17)".
std::string describe(const ErrorStats &actual, const ErrorBar &bar);

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_ERRORSTATS_H
