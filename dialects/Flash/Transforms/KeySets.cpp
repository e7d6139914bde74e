//===- KeySets.cpp - which keys a condition keeps -------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Why combinations are tight: where all conditions grow with the query, the last query of the box
// decides what may be kept and the first what all keep, whatever the combination; likewise where
// they shrink. Where the ends of an interval move the same way (a window), the intervals of
// successive queries overlap or touch, so that the outermost ends bound the union.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KeySets.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc::flash;

using Predicate = arith::CmpIPredicate;

namespace {

constexpr llvm::StringLiteral kMixed =
    "combines conditions of which some hold for later and some for earlier queries";
constexpr llvm::StringLiteral kGap = "may keep keys on both sides of a gap";

KeySet combined(const KeySet &a, const KeySet &b, StringRef loss) {
  KeySet result;
  result.moves = a.moves & b.moves;
  result.wholeRows = a.wholeRows && b.wholeRows;
  result.exact = a.exact && b.exact && loss.empty();
  result.why = !a.exact ? a.why : !b.exact ? b.why : loss.str();
  return result;
}

} // namespace

KeySets::KeySets(IntForms &forms, Value sk)
    : forms(forms), emitter(forms.emitter), zero(emitter.constant(0)), sk(emitter.unique(sk)) {}

KeySet KeySets::uniform(Value condition) {
  KeySet set;
  set.uniform = emitter.unique(condition);
  set.maybe = set.full = {zero, emitter.select(set.uniform, sk, zero)};
  set.wholeRows = true;
  return set;
}

KeySet KeySets::constant(bool keeps) { return uniform(emitter.boolean(keeps)); }

KeySet KeySets::unknown(std::string why) {
  KeySet set;
  set.maybe = {zero, sk};
  set.full = {zero, zero};
  set.moves = 0;
  set.exact = false;
  set.why = std::move(why);
  return set;
}

Value KeySets::smaller(Value a, Value b) {
  if (a == zero || b == sk)
    return a;
  return b == zero || a == sk ? b : emitter.min(a, b);
}

Value KeySets::larger(Value a, Value b) {
  if (a == sk || b == zero)
    return a;
  return b == sk || a == zero ? b : emitter.max(a, b);
}

Interval KeySets::intersect(const Interval &a, const Interval &b) {
  return {larger(a.begin, b.begin), smaller(a.end, b.end)};
}

Interval KeySets::hull(const Interval &a, const Interval &b) {
  if (a.begin == zero && b.begin == zero)
    return {zero, larger(a.end, b.end)};
  if (a.end == sk && b.end == sk)
    return {smaller(a.begin, b.begin), sk};
  // An empty interval becomes [sk, 0), the neutral one.
  auto normalized = [&](const Interval &x) -> Interval {
    Value isEmpty = emitter.compare(Predicate::sge, x.begin, x.end);
    return {emitter.select(isEmpty, sk, x.begin), emitter.select(isEmpty, zero, x.end)};
  };
  Interval x = normalized(a), y = normalized(b);
  return {smaller(x.begin, y.begin), larger(x.end, y.end)};
}

Interval KeySets::unite(const Interval &a, const Interval &b) {
  if ((a.begin == zero && b.begin == zero) || (a.end == sk && b.end == sk))
    return hull(a, b);
  // Intervals that touch. An empty one may seem to touch, so emptiness is looked at first.
  auto isEmpty = [&](const Interval &x) { return emitter.compare(Predicate::sge, x.begin, x.end); };
  Value touches = emitter.both(emitter.compare(Predicate::sle, a.begin, b.end),
                               emitter.compare(Predicate::sle, b.begin, a.end));
  touches = emitter.both(touches, emitter.invert(emitter.either(isEmpty(a), isEmpty(b))));
  Value isLonger =
      emitter.compare(Predicate::sge, emitter.sub(a.end, a.begin), emitter.sub(b.end, b.begin));
  auto pick = [&](Value united, Value x, Value y) {
    return emitter.select(touches, united, emitter.select(isLonger, x, y));
  };
  return {pick(smaller(a.begin, b.begin), a.begin, b.begin),
          pick(larger(a.end, b.end), a.end, b.end)};
}

/// `a` where the condition holds, else nothing; stays a prefix or a suffix.
Interval KeySets::restrict(Value condition, const Interval &a) {
  if (a.begin != zero && a.end == sk)
    return {emitter.select(condition, a.begin, sk), sk};
  return {a.begin, emitter.select(condition, a.end, zero)};
}

KeySet KeySets::both(const KeySet &a, const KeySet &b) {
  if (a.uniform && b.uniform)
    return uniform(emitter.both(a.uniform, b.uniform));
  if (b.uniform)
    return both(b, a);
  if (a.uniform) {
    if (std::optional<int64_t> known = IndexEmitter::constantOf(a.uniform))
      return *known ? b : a;
    KeySet result = b;
    result.maybe = restrict(a.uniform, b.maybe);
    result.full = restrict(a.uniform, b.full);
    return result;
  }
  KeySet result = combined(a, b, (a.moves & b.moves) ? "" : kMixed);
  result.maybe = intersect(a.maybe, b.maybe);
  result.full = intersect(a.full, b.full);
  return result;
}

/// Whether the sets are all prefixes or all suffixes of the keys, so that their unions have no gap.
bool KeySets::sameSide(const KeySet &a, const KeySet &b) const {
  const Interval *all[] = {&a.maybe, &a.full, &b.maybe, &b.full};
  return a.wholeRows || b.wholeRows ||
         llvm::all_of(all, [&](const Interval *x) { return x->begin == zero; }) ||
         llvm::all_of(all, [&](const Interval *x) { return x->end == sk; });
}

KeySet KeySets::either(const KeySet &a, const KeySet &b) {
  if (a.uniform && b.uniform)
    return uniform(emitter.either(a.uniform, b.uniform));
  if (b.uniform)
    return either(b, a);
  if (a.uniform) {
    if (std::optional<int64_t> known = IndexEmitter::constantOf(a.uniform))
      return *known ? a : b;
    KeySet result = b;
    for (Interval *x : {&result.maybe, &result.full})
      *x = {emitter.select(a.uniform, zero, x->begin), emitter.select(a.uniform, sk, x->end)};
    return result;
  }
  bool monotone = a.moves & b.moves & (kGrows | kShrinks);
  bool standsBeside = (a.moves == kStands || b.moves == kStands) && (a.moves & b.moves);
  StringRef loss = !sameSide(a, b) ? kGap : !monotone && !standsBeside ? kMixed : "";
  KeySet result = combined(a, b, loss);
  result.maybe = hull(a.maybe, b.maybe);
  result.full = unite(a.full, b.full);
  return result;
}

KeySet KeySets::choose(Value condition, const KeySet &a, const KeySet &b) {
  if (std::optional<int64_t> known = IndexEmitter::constantOf(condition))
    return *known ? a : b;
  if (a.uniform && b.uniform)
    return uniform(emitter.select(condition, a.uniform, b.uniform));
  KeySet result = combined(a, b, "");
  auto pick = [&](const Interval &x, const Interval &y) -> Interval {
    return {emitter.select(condition, x.begin, y.begin), emitter.select(condition, x.end, y.end)};
  };
  result.maybe = pick(a.maybe, b.maybe);
  result.full = pick(a.full, b.full);
  return result;
}

KeySet KeySets::lessThan(const IntPtr &a, const IntPtr &b, bool strict) {
  if (!a->isLeaf())
    return unknown(a->why);
  if (!b->isLeaf())
    return unknown(b->why);
  if (a->isUniform() && b->isUniform())
    return uniform(
        emitter.compare(strict ? Predicate::slt : Predicate::sle, a->linear.lo, b->linear.lo));
  // A huge uniform value compares like one just beyond the other side's bound.
  auto tamed = [&](const IntPtr &x, const IntPtr &other) -> IntPtr {
    if (!x->isUniform() || x->linear.magnitude < kIntLimit)
      return x;
    int64_t limit = other->bound() + 1;
    return forms.uniform(
        emitter.clamp(x->linear.lo, emitter.constant(-limit), emitter.constant(limit)), limit);
  };
  IntPtr difference = forms.subtract(tamed(a, b), tamed(b, a));
  if (strict)
    difference = forms.add(difference, forms.constant(1));
  if (!difference->isLeaf())
    return unknown(difference->why);
  return notPositive(*difference);
}

/// The keys with sum <= 0.
KeySet KeySets::notPositive(const Linear &sum) {
  Linear rest = sum;
  rest.key = 0;
  rest = forms.overQueries(rest);
  auto isNotPositive = [&](Value value) { return emitter.compare(Predicate::sle, value, zero); };
  if (sum.key == 0 && rest.trend == kConstant)
    return uniform(isNotPositive(rest.lo));

  KeySet set;
  unsigned inclusion = rest.trend == kConstant ? kGrows | kShrinks
                       : rest.trend == kRises  ? kShrinks
                       : rest.trend == kFalls  ? kGrows
                                               : 0u;
  set.exact = inclusion != 0;
  if (!set.exact)
    set.why = "depends on the query index in a way that neither grows nor falls";
  auto bounds = [&](auto &&of) -> std::pair<Value, Value> {
    Value low = of(rest.lo);
    return {low, rest.trend == kConstant ? low : of(rest.hi)};
  };
  if (sum.key == 0) {
    auto [maybe, full] =
        bounds([&](Value value) { return emitter.select(isNotPositive(value), sk, zero); });
    set.maybe = {zero, maybe};
    set.full = {zero, full};
    set.moves = inclusion;
    set.wholeRows = true;
    return set;
  }
  bool isPrefix = sum.key > 0;
  auto [maybe, full] = bounds([&](Value value) {
    Value border = isPrefix ? emitter.add(emitter.divideDown(emitter.negate(value), sum.key), 1)
                            : emitter.divideUp(value, -sum.key);
    return emitter.clamp(border, zero, sk);
  });
  set.maybe = isPrefix ? Interval{zero, maybe} : Interval{maybe, sk};
  set.full = isPrefix ? Interval{zero, full} : Interval{full, sk};
  unsigned up = isPrefix ? kGrows : kShrinks, down = isPrefix ? kShrinks : kGrows;
  set.moves = inclusion | (inclusion & up ? kMovesUp : 0) | (inclusion & down ? kMovesDown : 0);
  return set;
}

/// The keys with linear + scale * (quotient / divisor) <= 0: the quotient is at most (scale > 0) or
/// at least some y, which bounds its dividend.
KeySet KeySets::notPositive(const IntForm &leaf) {
  if (leaf.scale == 0)
    return notPositive(leaf.linear);
  if (leaf.linear.key != 0)
    return unknown("mixes the key index with a rounded quotient of it");
  Linear rest = forms.overQueries(leaf.linear);
  bool isUpper = leaf.scale > 0;
  int64_t d = leaf.divisor, slope = std::abs(leaf.scale);
  // Quotients beyond the reachable ones need not be told apart; keeps the products small.
  int64_t reachable = leaf.quotient.bound() / d + 2;
  bool mayOverflow = llvm::SaturatingMultiply<uint64_t>(rest.magnitude / slope + 2, d) >= kIntLimit;
  auto dividend = [&](Value value) {
    Value y =
        isUpper ? emitter.divideDown(emitter.negate(value), slope) : emitter.divideUp(value, slope);
    if (mayOverflow)
      y = emitter.clamp(y, emitter.constant(-reachable), emitter.constant(reachable));
    Value exactly = emitter.mul(y, d);
    if (leaf.roundsDown)
      return isUpper ? emitter.add(exactly, d - 1) : exactly;
    // Toward zero: the quotients of one sign are stretched away from it.
    Value widened = emitter.add(exactly, isUpper ? d - 1 : 1 - d);
    Value hasSign = emitter.compare(isUpper ? Predicate::sge : Predicate::sle, y, zero);
    return emitter.select(hasSign, widened, exactly);
  };
  Linear border;
  border.trend = isUpper ? flipped(rest.trend) : rest.trend;
  border.lo = dividend(isUpper ? rest.hi : rest.lo);
  border.hi = border.trend == kConstant ? border.lo : dividend(isUpper ? rest.lo : rest.hi);
  return isUpper ? notPositive(forms.sum(leaf.quotient, forms.times(border, -1)))
                 : notPositive(forms.sum(border, forms.times(leaf.quotient, -1)));
}
