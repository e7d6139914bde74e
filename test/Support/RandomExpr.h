//===- RandomExpr.h - random score and mask expressions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Seeded, well-typed expressions with captured arrays, for comparing compiled kernels with the
// reference. Scores stay moderate, and no branch depends on a rounded float: comparisons are of
// integers or of captured values, so that float64 and f32 evaluations take the same branches.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_SUPPORT_RANDOMEXPR_H
#define FLASHC_TEST_SUPPORT_RANDOMEXPR_H

#include "runtime/Expr/AST.h"
#include "runtime/Support/HostArray.h"

#include <random>

namespace flashc::test {

/// The problem that expressions are for: captures get matching sizes (and sometimes others).
struct ExprSizes {
  int64_t b = 1, h = 1, sq = 1, sk = 1;
};

/// Generates expressions. The same seed gives the same texts and arrays (with one compiler).
class RandomExpr {
public:
  struct Capture {
    std::string name;
    HostArray array;
  };

  /// \param nonFinite  let a score expression make some scores -inf, +inf or NaN, rarely.
  RandomExpr(uint64_t seed, ExprSizes sizes, bool nonFinite = false);

  /// A score expression, nested at most some 4 * depth deep.
  std::string score(int depth = 3);
  /// A mask expression; half of them conjunctions of the named families (causal, window, ...).
  std::string mask(int depth = 3);

  /// The arrays that the expressions so far read.
  const std::vector<Capture> &captures() const { return arrays; }
  std::vector<CaptureInfo> captureInfos() const;

private:
  uint64_t below(uint64_t bound) { return engine() % bound; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  std::string pick(std::initializer_list<const char *> choices);
  std::string variable() { return pick({"b", "h", "i", "j", "sq", "sk"}); }
  std::string literal(int64_t limit) { return std::to_string(below(limit)); }
  std::string decimal();
  std::string integer(int depth);
  std::string boolean(int depth);
  std::string bounded(int depth); ///< A float of magnitude below some 10.
  std::string family();
  /// A read of a captured array of some type of that kind: 'b'ool, 'i'nteger or 'f'loat.
  std::string read(char kind, int depth);

  std::mt19937_64 engine;
  ExprSizes sizes;
  bool nonFinite;
  std::vector<Capture> arrays;
  std::vector<std::string> subscripts; ///< The matching index list of each array.
};

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_RANDOMEXPR_H
