//===- IntForms.cpp - integers of a mask as functions of i and j ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/IntForms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc::flash;

using Kind = IntForm::Kind;

namespace {

constexpr uint64_t kAnyInt = uint64_t(1) << 63;
constexpr unsigned kMaxTreeSize = 64;

constexpr llvm::StringLiteral kTooLarge = "computes an integer that may reach 2^60";

uint64_t absolute(int64_t value) { return value < 0 ? -uint64_t(value) : uint64_t(value); }

uint64_t product(uint64_t a, uint64_t b) { return llvm::SaturatingMultiply(a, b); }
uint64_t sumOf(uint64_t a, uint64_t b) { return llvm::SaturatingAdd(a, b); }

bool sameLinear(const Linear &a, const Linear &b) {
  return a.key == b.key && a.query == b.query && a.lo == b.lo && a.hi == b.hi;
}

/// Whether the sum is known not to be negative (coordinates never are).
bool isNonNegative(const Linear &a) {
  std::optional<int64_t> low = IndexEmitter::constantOf(a.lo);
  return a.key >= 0 && a.query >= 0 && low && *low >= 0;
}

} // namespace

unsigned flashc::flash::flipped(unsigned trend) {
  return (trend & kRises ? kFalls : 0) | (trend & kFalls ? kRises : 0);
}

uint64_t Linear::bound() const {
  return sumOf(product(sumOf(absolute(key), absolute(query)), kCoordinateLimit), magnitude);
}

uint64_t IntForm::bound() const {
  if (kind == Kind::Unknown)
    return 0;
  if (kind != Kind::Leaf)
    return std::max(a->bound(), b->bound());
  if (scale == 0)
    return linear.bound();
  return sumOf(linear.bound(), product(absolute(scale), quotient.bound() / divisor + 1));
}

IntForms::IntForms(IndexEmitter &emitter, const QueryBox &box)
    : emitter(emitter), first(emitter.unique(box.i0)), last(emitter.add(box.iEnd, -1)) {}

IntPtr IntForms::leaf(IntForm form) const {
  if (!form.isUniform() && form.bound() >= kIntLimit)
    return unknown(kTooLarge.str());
  return std::make_shared<IntForm>(std::move(form));
}

IntPtr IntForms::unknown(std::string why) const {
  IntForm form;
  form.kind = Kind::Unknown;
  form.why = std::move(why);
  return std::make_shared<IntForm>(std::move(form));
}

IntPtr IntForms::uniform(Value value, uint64_t magnitude) const {
  IntForm form;
  form.linear.lo = form.linear.hi = emitter.unique(value);
  form.linear.magnitude = std::min(magnitude, kAnyInt);
  return leaf(std::move(form));
}

IntPtr IntForms::constant(int64_t value) const {
  return uniform(emitter.constant(value), absolute(value));
}

IntPtr IntForms::query() const {
  IntForm form = *constant(0);
  form.linear.query = 1;
  return leaf(std::move(form));
}

IntPtr IntForms::key() const {
  IntForm form = *constant(0);
  form.linear.key = 1;
  return leaf(std::move(form));
}

std::optional<int64_t> IntForms::constantOf(const IntForm &form) {
  if (!form.isUniform())
    return std::nullopt;
  return IndexEmitter::constantOf(form.linear.lo);
}

IntPtr IntForms::node(Kind kind, const IntPtr &a, const IntPtr &b) const {
  IntForm form;
  form.kind = kind;
  form.a = a;
  form.b = b;
  form.size = a->size + b->size;
  if (form.size > kMaxTreeSize)
    return unknown("nests too many min, max, abs or select");
  return std::make_shared<IntForm>(std::move(form));
}

IntPtr IntForms::select(Value condition, const IntPtr &a, const IntPtr &b) const {
  IntPtr result = node(Kind::Select, a, b);
  if (result->kind == Kind::Unknown)
    return result;
  auto form = std::make_shared<IntForm>(*result);
  form->condition = condition;
  return form;
}

IntPtr IntForms::bounded(const IntPtr &form) {
  if (!form->isUniform() || form->linear.magnitude < kIntLimit)
    return form;
  if (constantOf(*form))
    return unknown(kTooLarge.str());
  int64_t limit = kCoordinateLimit;
  Value value = form->linear.lo;
  Value clamped = emitter.clamp(value, emitter.constant(-limit), emitter.constant(limit));
  Value inRange = emitter.compare(arith::CmpIPredicate::eq, value, clamped);
  guard = guard ? emitter.both(guard, inRange) : inRange;
  return uniform(clamped, kCoordinateLimit);
}

IntPtr IntForms::withoutWrapping(const IntPtr &form) {
  if (form->kind == Kind::Unknown)
    return form;
  if (form->isLeaf())
    return bounded(form);
  IntPtr a = withoutWrapping(form->a), b = withoutWrapping(form->b);
  if (a->kind == Kind::Unknown)
    return a;
  if (b->kind == Kind::Unknown)
    return b;
  return form->kind == Kind::Select ? select(form->condition, a, b) : node(form->kind, a, b);
}

Linear IntForms::sum(const Linear &a, const Linear &b) {
  Linear result;
  result.key = a.key + b.key;
  result.query = a.query + b.query;
  result.trend = a.trend | b.trend;
  result.lo = emitter.add(a.lo, b.lo);
  result.hi = result.trend ? emitter.add(a.hi, b.hi) : result.lo;
  result.magnitude = std::min(sumOf(a.magnitude, b.magnitude), kAnyInt);
  return result;
}

Linear IntForms::times(const Linear &a, int64_t factor) {
  Linear result;
  result.key = a.key * factor;
  result.query = a.query * factor;
  result.trend = factor < 0 ? flipped(a.trend) : a.trend;
  result.lo = emitter.mul(factor < 0 ? a.hi : a.lo, factor);
  result.hi = result.trend ? emitter.mul(factor < 0 ? a.lo : a.hi, factor) : result.lo;
  result.magnitude = std::min(product(a.magnitude, absolute(factor)), kAnyInt);
  return result;
}

Linear IntForms::overQueries(const Linear &linear) {
  if (linear.query == 0)
    return linear;
  Linear result = linear;
  bool rises = linear.query > 0;
  result.query = 0;
  result.lo = emitter.add(linear.lo, emitter.mul(rises ? first : last, linear.query));
  result.hi = emitter.add(linear.hi, emitter.mul(rises ? last : first, linear.query));
  result.trend |= rises ? kRises : kFalls;
  result.magnitude = linear.bound();
  return result;
}

IntPtr IntForms::add(const IntPtr &a, const IntPtr &b) {
  if (a->kind == Kind::Unknown)
    return a;
  if (b->kind == Kind::Unknown)
    return b;
  const IntPtr &tree = a->isLeaf() ? b : a, &other = a->isLeaf() ? a : b;
  if (tree->kind == Kind::Select)
    return select(tree->condition, add(tree->a, other), add(tree->b, other));
  if (!tree->isLeaf()) {
    // Only a sum that does not wrap is monotone.
    IntPtr x = withoutWrapping(tree), y = withoutWrapping(other);
    if (x->kind == Kind::Unknown)
      return x;
    if (y->kind == Kind::Unknown)
      return y;
    return node(tree->kind, add(x->a, y), add(x->b, y));
  }

  if (a->isUniform() && b->isUniform())
    return uniform(emitter.add(a->linear.lo, b->linear.lo),
                   sumOf(a->linear.magnitude, b->linear.magnitude));
  IntPtr x = bounded(a), y = bounded(b);
  if (!x->isLeaf() || !y->isLeaf() || sumOf(x->bound(), y->bound()) >= kIntLimit)
    return unknown(kTooLarge.str());
  IntForm form = x->scale ? *x : *y;
  form.linear = sum(x->linear, y->linear);
  if (x->scale && y->scale) {
    if (x->divisor != y->divisor || x->roundsDown != y->roundsDown ||
        !sameLinear(x->quotient, y->quotient))
      return unknown("combines two rounded quotients of the key index");
    form.scale = x->scale + y->scale;
  }
  return leaf(std::move(form));
}

IntPtr IntForms::scale(const IntPtr &a, int64_t factor) {
  if (a->kind == Kind::Unknown || factor == 1)
    return a;
  if (factor == 0)
    return constant(0);
  if (a->kind == Kind::Select)
    return select(a->condition, scale(a->a, factor), scale(a->b, factor));
  if (!a->isLeaf()) {
    IntPtr x = withoutWrapping(a);
    if (x->kind == Kind::Unknown)
      return x;
    if (product(x->bound(), absolute(factor)) >= kIntLimit)
      return unknown(kTooLarge.str());
    Kind other = a->kind == Kind::Min ? Kind::Max : Kind::Min;
    return node(factor < 0 ? other : a->kind, scale(x->a, factor), scale(x->b, factor));
  }
  if (a->isUniform())
    return uniform(emitter.mul(a->linear.lo, factor),
                   product(a->linear.magnitude, absolute(factor)));
  if (product(a->bound(), absolute(factor)) >= kIntLimit)
    return unknown(kTooLarge.str());
  IntForm form = *a;
  form.linear = times(a->linear, factor);
  form.scale = a->scale * factor;
  return leaf(std::move(form));
}

IntPtr IntForms::multiply(const IntPtr &a, const IntPtr &b) {
  if (a->kind == Kind::Unknown)
    return a;
  if (b->kind == Kind::Unknown)
    return b;
  if (std::optional<int64_t> factor = constantOf(*a))
    return scale(b, *factor);
  if (std::optional<int64_t> factor = constantOf(*b))
    return scale(a, *factor);
  if (a->isUniform() && b->isUniform())
    return uniform(emitter.mul(a->linear.lo, b->linear.lo),
                   product(a->linear.magnitude, b->linear.magnitude));
  if (!a->isKeyFree() || !b->isKeyFree())
    return unknown("multiplies by a value that is not constant");
  IntPtr p = bounded(a), q = bounded(b);
  uint64_t bound = product(p->bound(), q->bound());
  if (!p->isLeaf() || !q->isLeaf() || bound >= kIntLimit)
    return unknown(kTooLarge.str());
  Linear x = overQueries(p->linear), y = overQueries(q->linear);
  Value corners[] = {emitter.mul(x.lo, y.lo), emitter.mul(x.lo, y.hi), emitter.mul(x.hi, y.lo),
                     emitter.mul(x.hi, y.hi)};
  IntForm form;
  form.linear.trend = kRises | kFalls;
  form.linear.lo = form.linear.hi = corners[0];
  for (Value corner : corners) {
    form.linear.lo = emitter.min(form.linear.lo, corner);
    form.linear.hi = emitter.max(form.linear.hi, corner);
  }
  form.linear.magnitude = bound;
  return leaf(std::move(form));
}

IntPtr IntForms::divideBy(const IntPtr &a, int64_t d, bool roundsDown) {
  if (a->kind == Kind::Unknown || d == 1)
    return a;
  // Division by a positive number is monotone, so it commutes with minima and maxima.
  if (a->kind == Kind::Select)
    return select(a->condition, divideBy(a->a, d, roundsDown), divideBy(a->b, d, roundsDown));
  if (!a->isLeaf())
    return node(a->kind, divideBy(a->a, d, roundsDown), divideBy(a->b, d, roundsDown));
  auto divided = [&](Value value) {
    return roundsDown ? emitter.divideDown(value, d) : emitter.divide(value, d);
  };
  if (a->isUniform())
    return uniform(divided(a->linear.lo), a->linear.magnitude / d + 1);
  if (uint64_t(d) >= kIntLimit)
    return unknown("divides by 2^60 or more");
  if (a->isKeyFree()) {
    Linear range = overQueries(a->linear);
    IntForm form;
    form.linear.trend = range.trend;
    form.linear.lo = divided(range.lo);
    form.linear.hi = divided(range.hi);
    form.linear.magnitude = range.magnitude / d + 1;
    return leaf(std::move(form));
  }
  if (a->scale != 0)
    return unknown("divides a rounded quotient of the key index");
  IntForm form = *constant(0);
  form.scale = 1;
  form.divisor = d;
  form.roundsDown = roundsDown || isNonNegative(a->linear);
  form.quotient = a->linear;
  return leaf(std::move(form));
}

IntPtr IntForms::divide(const IntPtr &a, const IntPtr &d) {
  std::optional<int64_t> divisor = constantOf(*d);
  if (!divisor || *divisor == INT64_MIN)
    return unknown("divides by a value that is not constant");
  if (*divisor == 0)
    return constant(0);
  IntPtr quotient = divideBy(a, std::abs(*divisor), /*roundsDown=*/false);
  return *divisor < 0 ? scale(quotient, -1) : quotient;
}

IntPtr IntForms::remainder(const IntPtr &a, const IntPtr &d) {
  std::optional<int64_t> divisor = constantOf(*d);
  if (!divisor || *divisor == INT64_MIN)
    return unknown("takes a remainder by a value that is not constant");
  if (*divisor == 0)
    return constant(0);
  int64_t size = std::abs(*divisor);
  if (a->isUniform())
    return uniform(emitter.emit<arith::RemSIOp>(a->linear.lo, emitter.constant(size)), size);
  return subtract(a, scale(divideBy(a, size, /*roundsDown=*/false), size));
}

IntPtr IntForms::extremum(const IntPtr &a, const IntPtr &b, Kind kind) {
  if (a->isUniform() && b->isUniform())
    return uniform(kind == Kind::Min ? emitter.min(a->linear.lo, b->linear.lo)
                                     : emitter.max(a->linear.lo, b->linear.lo),
                   std::max(a->linear.magnitude, b->linear.magnitude));
  return node(kind, a, b);
}
