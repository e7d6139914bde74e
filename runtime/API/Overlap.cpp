//===- Overlap.cpp - do strided views share memory? -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Both questions become "is there x with sum(coefficient * x) = target and
// 0 <= x <= limit?", searched depth first from the largest coefficient down,
// cut by the reach of the smaller ones and by their greatest common divisor.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace flashc {
namespace {

__extension__ using Wide = __int128;

struct Term {
  int64_t coefficient; ///< > 0
  int64_t limit;       ///< > 0
  int64_t avoid = -1;  ///< the value of this unknown in the solution that does not count
};

/// The bounded equation; `terms` sorted by falling coefficient.
class Equation {
public:
  explicit Equation(std::vector<Term> unsorted) : terms(std::move(unsorted)) {
    std::sort(terms.begin(), terms.end(),
              [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    reach.resize(terms.size() + 1, 0);
    divisor.resize(terms.size() + 1, 0);
    for (size_t t = terms.size(); t-- > 0;) {
      reach[t] = reach[t + 1] + Wide(terms[t].coefficient) * terms[t].limit;
      divisor[t] = std::gcd(divisor[t + 1], terms[t].coefficient);
    }
  }

  /// True if there is a solution (other than all `avoid` when `nontrivial`) or the search gets
  /// too long.
  bool maySolve(Wide target, bool nontrivial) {
    steps = 0;
    return search(0, target, nontrivial);
  }

private:
  /// `onAvoided`: all unknowns so far have the value to avoid.
  bool search(size_t t, Wide target, bool onAvoided) {
    if (target < 0 || target > reach[t])
      return false;
    if (t == terms.size())
      return !onAvoided; // target is 0 here
    if (target % divisor[t] != 0)
      return false;
    if (++steps > maxSteps)
      return true;
    const Term &term = terms[t];
    const Wide rest = target - reach[t + 1];
    const Wide low = rest > 0 ? (rest + term.coefficient - 1) / term.coefficient : Wide(0);
    const Wide high = std::min<Wide>(term.limit, target / term.coefficient);
    for (Wide x = low; x <= high; ++x) {
      if (search(t + 1, target - x * term.coefficient, onAvoided && x == term.avoid))
        return true;
      if (++steps > maxSteps)
        return true;
    }
    return false;
  }

  static constexpr int64_t maxSteps = 100000;
  std::vector<Term> terms;
  std::vector<Wide> reach;      ///< largest sum of the terms from t on
  std::vector<int64_t> divisor; ///< greatest common divisor of the coefficients from t on
  int64_t steps = 0;
};

/// Merges equal coefficients, which keeps the search short for views of one buffer.
void addTerm(std::vector<Term> &terms, int64_t coefficient, int64_t limit) {
  for (Term &term : terms)
    if (term.coefficient == coefficient) {
      term.limit += limit;
      return;
    }
  terms.push_back({coefficient, limit});
}

bool isEmpty(const StridedView &view) {
  return std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

/// First byte and the byte after the last.
struct Range {
  Wide begin, end;
};

Range rangeOf(const StridedView &view) {
  Range range{Wide(reinterpret_cast<uintptr_t>(view.base)), 0};
  range.end = range.begin + view.elementBytes;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    const Wide span = Wide(view.shape[d] - 1) * view.strides[d] * view.elementBytes;
    (span < 0 ? range.begin : range.end) += span;
  }
  return range;
}

} // namespace

bool mayOverlap(const StridedView &a, const StridedView &b) {
  if (isEmpty(a) || isEmpty(b))
    return false;
  const Range rangeA = rangeOf(a), rangeB = rangeOf(b);
  if (rangeA.end <= rangeB.begin || rangeB.end <= rangeA.begin)
    return false;
  // A byte of a, counted from a's first byte upwards, equals one of b, counted from b's last byte
  // downwards: begin(a) + sum(a) = end(b) - 1 - sum(b). Signs of strides vanish by that.
  std::vector<Term> terms;
  for (const StridedView *view : {&a, &b}) {
    for (size_t d = 0; d < view->shape.size(); ++d)
      if (view->shape[d] > 1 && view->strides[d] != 0)
        addTerm(terms, std::abs(view->strides[d]) * view->elementBytes, view->shape[d] - 1);
    if (view->elementBytes > 1)
      addTerm(terms, 1, view->elementBytes - 1);
  }
  return Equation(std::move(terms)).maySolve(rangeB.end - 1 - rangeA.begin, false);
}

bool mayOverlapItself(const StridedView &view) {
  if (isEmpty(view))
    return false;
  std::vector<Term> terms;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    const int64_t last = view.shape[d] - 1;
    if (last == 0)
      continue;
    if (view.strides[d] == 0)
      return true;
    // The difference of two indices lies in -last..last; shifted by last, so is the trivial one.
    terms.push_back({std::abs(view.strides[d]), 2 * last, last});
  }
  // Nested strides, as slices and transpositions of dense arrays have, cannot meet.
  std::sort(terms.begin(), terms.end(),
            [](const Term &a, const Term &b) { return a.coefficient < b.coefficient; });
  Wide inner = 0, target = 0;
  bool nested = true;
  for (const Term &term : terms) {
    nested = nested && term.coefficient > inner;
    inner += Wide(term.coefficient) * term.avoid;
    target += Wide(term.coefficient) * term.avoid;
  }
  return !nested && Equation(std::move(terms)).maySolve(target, true);
}

} // namespace flashc
