//===- IntForms.h - integers of a mask as functions of i and j --*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The key-range solver's abstract integers. A leaf is
//
//   cj*j + ci*i + rest + s*((nj*j + ni*i + nrest) / d)
//
// with constant coefficients; a rest is an interval of emitted values over the queries of the box,
// of one value where it does not depend on the query ("uniform"). Minima, maxima and selects stay
// symbolic, and comparisons are later pushed through them. All is exact i64 arithmetic: a static
// bound on every magnitude shows that nothing wraps, except among uniform values, which wrap as the
// mask itself does.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_INTFORMS_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_INTFORMS_H

#include "dialects/Flash/Transforms/IndexEmitter.h"
#include "dialects/Flash/Transforms/KeyRanges.h"

#include <memory>

namespace flashc::flash {

/// How something changes as the query grows; a set of bits.
enum Trend : unsigned { kConstant = 0, kRises = 1, kFalls = 2 };
unsigned flipped(unsigned trend);

/// j*key + i*query + rest, rest in [lo, hi]; uniform where key = query = 0 and trend = kConstant.
struct Linear {
  int64_t key = 0, query = 0;
  mlir::Value lo, hi;         ///< the same value where trend is kConstant
  unsigned trend = kConstant; ///< of rest
  uint64_t magnitude = 0;     ///< |rest| is at most this

  bool isUniform() const { return key == 0 && query == 0 && trend == kConstant; }
  /// Bound of the whole sum's absolute value, saturating.
  uint64_t bound() const;
};

struct IntForm;
using IntPtr = std::shared_ptr<const IntForm>;

struct IntForm {
  enum class Kind { Unknown, Leaf, Min, Max, Select };
  Kind kind = Kind::Leaf;

  // Leaf: linear + scale * (quotient / divisor), scale = 0 without quotient.
  Linear linear;
  int64_t scale = 0, divisor = 1;
  bool roundsDown = false; ///< else toward zero
  Linear quotient;

  // Min, Max; Select with `condition`, an i1 of the mask region.
  IntPtr a, b;
  mlir::Value condition;
  unsigned size = 1; ///< nodes of the tree

  std::string why; ///< Unknown: the reason

  bool isLeaf() const { return kind == Kind::Leaf; }
  bool isUniform() const { return isLeaf() && scale == 0 && linear.isUniform(); }
  bool isKeyFree() const { return isLeaf() && scale == 0 && linear.key == 0; }
  /// Bound of the absolute value; of a tree, of all its known leaves.
  uint64_t bound() const;
};

/// Coordinates and lengths are below this.
constexpr uint64_t kCoordinateLimit = uint64_t(1) << 40;
/// Whatever depends on a query or a key is below this.
constexpr uint64_t kIntLimit = uint64_t(1) << 60;

/// Makes forms. Emits code for the rests as it goes.
class IntForms {
public:
  IntForms(IndexEmitter &emitter, const QueryBox &box);

  IntPtr unknown(std::string why) const;
  IntPtr uniform(mlir::Value value, uint64_t magnitude) const;
  IntPtr constant(int64_t value) const;
  IntPtr query() const;
  IntPtr key() const;

  IntPtr add(const IntPtr &a, const IntPtr &b);
  IntPtr subtract(const IntPtr &a, const IntPtr &b) { return add(a, scale(b, -1)); }
  IntPtr scale(const IntPtr &a, int64_t factor);
  IntPtr multiply(const IntPtr &a, const IntPtr &b);
  /// a / d, a % d; only a constant d is known.
  IntPtr divide(const IntPtr &a, const IntPtr &d);
  IntPtr remainder(const IntPtr &a, const IntPtr &d);
  /// floor(a / d) for a constant d in 1..2^60: a shift to the right.
  IntPtr divideDown(const IntPtr &a, int64_t d) { return divideBy(a, d, true); }
  IntPtr minimum(const IntPtr &a, const IntPtr &b) { return extremum(a, b, IntForm::Kind::Min); }
  IntPtr maximum(const IntPtr &a, const IntPtr &b) { return extremum(a, b, IntForm::Kind::Max); }
  IntPtr select(mlir::Value condition, const IntPtr &a, const IntPtr &b) const;

  /// The form's value if it is a constant.
  static std::optional<int64_t> constantOf(const IntForm &form);
  /// A leaf that may take part in arithmetic with queries and keys: a huge uniform value is
  /// clamped, and all results hold only where `guard` does.
  IntPtr bounded(const IntPtr &form);
  /// The interval of a sum without key over the queries of the box: key = query = 0 in the result.
  Linear overQueries(const Linear &linear);
  Linear sum(const Linear &a, const Linear &b);
  Linear times(const Linear &a, int64_t factor);

  IndexEmitter &emitter;
  /// An i1 under which the forms are right, or null: always.
  mlir::Value guard;

private:
  IntPtr leaf(IntForm form) const;
  IntPtr divideBy(const IntPtr &a, int64_t d, bool roundsDown);
  IntPtr extremum(const IntPtr &a, const IntPtr &b, IntForm::Kind kind);
  /// The tree with bounded leaves, or unknown if one leaf is unknown (and may wrap).
  IntPtr withoutWrapping(const IntPtr &form);
  IntPtr node(IntForm::Kind kind, const IntPtr &a, const IntPtr &b) const;

  mlir::Value first, last; ///< queries of the box
};

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_INTFORMS_H
