//===- KeySets.h - which keys a condition keeps -----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The key-range solver's abstract truth values: for one condition over a box of queries, the
// interval of keys that some query may keep and an interval of keys that every query keeps, with
// conjunction, disjunction and the solution of linear inequalities.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYSETS_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYSETS_H

#include "dialects/Flash/Transforms/IntForms.h"

namespace flashc::flash {

/// Keys [begin, end) with 0 <= begin, end <= sk; empty where begin >= end.
struct Interval {
  mlir::Value begin, end;
};

/// How a condition moves with the query: the keys that it keeps grow or shrink as sets, or both
/// ends of their interval move up or down. Conditions that share a move combine without loss.
enum Move : unsigned { kGrows = 1, kShrinks = 2, kMovesUp = 4, kMovesDown = 8, kStands = 15 };

struct KeySet {
  /// An i1: the condition itself, where it depends neither on the key nor on the query. Else null.
  mlir::Value uniform;
  Interval maybe; ///< outside of it, no query keeps a key
  Interval full;  ///< inside of it, every query keeps every key
  unsigned moves = kStands;
  bool wholeRows = false; ///< depends on the query only
  bool exact = true;
  std::string why; ///< where not exact
};

class KeySets {
public:
  KeySets(IntForms &forms, mlir::Value sk);

  KeySet uniform(mlir::Value condition);
  KeySet constant(bool keeps);
  KeySet unknown(std::string why);
  KeySet both(const KeySet &a, const KeySet &b);
  KeySet either(const KeySet &a, const KeySet &b);
  /// a where the i1 `condition` holds, else b.
  KeySet choose(mlir::Value condition, const KeySet &a, const KeySet &b);
  /// The keys with a <= b, or a < b if strict; both leaves.
  KeySet lessThan(const IntPtr &a, const IntPtr &b, bool strict);

private:
  KeySet notPositive(const Linear &sum);
  KeySet notPositive(const IntForm &leaf);
  /// Extrema of values in [0, sk].
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value larger(mlir::Value a, mlir::Value b);
  Interval intersect(const Interval &a, const Interval &b);
  Interval hull(const Interval &a, const Interval &b);
  /// The union if it is an interval, else the longer one.
  Interval unite(const Interval &a, const Interval &b);
  Interval restrict(mlir::Value condition, const Interval &a);
  bool sameSide(const KeySet &a, const KeySet &b) const;

  IntForms &forms;
  IndexEmitter &emitter;
  mlir::Value zero, sk;
};

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYSETS_H
