//===- ErrorStats.cpp - how far results are from the reference ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The measures and the bar; the reasons for each term stand in the header.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/ErrorStats.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace flashc::reference {

/// The 99.9th percentile by nearest rank; 0 for none. Reorders the values.
static double percentile999(std::vector<double> &values) {
  if (values.empty())
    return 0;
  const size_t rank = (values.size() * 999 + 999) / 1000; // ceil(0.999 n), at least 1
  std::nth_element(values.begin(), values.begin() + (rank - 1), values.end());
  return values[rank - 1];
}

static double rootMeanSquare(const std::vector<double> &values) {
  // Scaled, so that no square overflows.
  double largest = 0, sum = 0;
  for (double value : values)
    largest = std::max(largest, std::fabs(value));
  if (largest == 0)
    return 0;
  for (double value : values)
    sum += (value / largest) * (value / largest);
  return largest * std::sqrt(sum / static_cast<double>(values.size()));
}

ErrorStats compare(std::span<const double> actual, std::span<const double> reference) {
  if (actual.size() != reference.size())
    fail("expected ", reference.size(), " elements to compare, got ", actual.size());
  ErrorStats stats;
  stats.count = static_cast<int64_t>(actual.size());
  std::vector<double> errors, magnitudes;
  errors.reserve(actual.size());
  magnitudes.reserve(actual.size());
  for (size_t n = 0; n < actual.size(); ++n) {
    const double a = actual[n], r = reference[n];
    if (std::isfinite(r))
      magnitudes.push_back(std::fabs(r));
    if (std::isfinite(a) && std::isfinite(r)) {
      errors.push_back(std::fabs(a - r));
      stats.max = std::max(stats.max, errors.back());
    } else if (!(std::isnan(a) && std::isnan(r)) && a != r) {
      if (stats.mismatches++ == 0)
        stats.firstMismatch = static_cast<int64_t>(n);
    }
  }
  stats.rms = rootMeanSquare(errors);
  stats.referenceRms = rootMeanSquare(magnitudes);
  stats.p999 = percentile999(errors);
  stats.referenceP999 = percentile999(magnitudes);
  return stats;
}

/// Half the distance between 1 and the next larger value of the type.
static double unitRoundoff(DType type) {
  switch (type) {
  case DType::BF16:
    return 0x1p-8;
  case DType::F16:
    return 0x1p-11;
  case DType::F32:
    return 0x1p-24;
  default:
    return 0x1p-53;
  }
}

/// Half a unit in the last place of the type at the magnitude.
static double halfUlp(DType type, double magnitude) {
  const double least = type == DType::F16    ? 0x1p-25
                       : type == DType::BF16 ? 0x1p-134
                       : type == DType::F32  ? 0x1p-150
                                             : 0; // half the least subnormal
  if (magnitude == 0)
    return least;
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude in [2^(exponent - 1), 2^exponent)
  return std::max(least, std::ldexp(unitRoundoff(type), exponent - 1));
}

/// Error of an f32 score: that of the rounded dot product, and half a unit in its own last place.
static double scoreError(const Result &reference) {
  return 0x1p-24 * (1 + std::max(reference.maxAbsScore, reference.maxScoreTerms));
}

static int64_t rowsOf(const Result &reference) {
  return static_cast<int64_t>(reference.lse.size());
}

BarContext BarContext::forOutput(const Result &reference, DType type) {
  // Larger errors of exp(s - max) leave no meaningful answer; the slack must not hide gross errors.
  constexpr double worst = 0x1p-6;
  return {type, rowsOf(reference),
          (unitRoundoff(type) + std::min(scoreError(reference), worst)) * reference.maxAbsValue};
}

BarContext BarContext::forScores(const Result &reference) {
  return {DType::F32, rowsOf(reference), scoreError(reference)};
}

ErrorBar errorBar(const ErrorStats &unfused, const BarContext &context) {
  auto slack = [&](double factor, int64_t enoughRows) {
    if (context.rows < 1 || context.rows >= enoughRows)
      return 0.0;
    return context.slack * factor / std::sqrt(static_cast<double>(context.rows));
  };
  return {2 * unfused.rms + halfUlp(context.type, unfused.referenceRms) + slack(4, 256),
          2 * unfused.p999 + halfUlp(context.type, unfused.referenceP999) + slack(8, 4096)};
}

bool withinBar(const ErrorStats &actual, const ErrorStats &unfused, const BarContext &context) {
  const ErrorBar bar = errorBar(unfused, context);
  return actual.mismatches == 0 && actual.rms <= bar.rms && actual.p999 <= bar.p999;
}

std::string describe(const ErrorStats &actual, const ErrorBar &bar) {
  char text[256];
  std::snprintf(text, sizeof(text), "rms %.2g (bar %.2g), 99.9%% %.2g (bar %.2g), max %.2g",
                actual.rms, bar.rms, actual.p999, bar.p999, actual.max);
  std::string result = text;
  if (actual.mismatches)
    result += concat(", ", actual.mismatches, " NaN/inf mismatches (first at ",
                     actual.firstMismatch, ")");
  return result;
}

} // namespace flashc::reference
