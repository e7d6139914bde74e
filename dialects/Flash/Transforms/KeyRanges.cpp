//===- KeyRanges.cpp - which keys a mask keeps, in closed form ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Abstract interpretation of a mask region, on demand from what it yields: integers become
// IntForms, truth values KeySets. Negation is pushed down to the comparisons, comparisons through
// min, max and select, so that what reaches KeySets::lessThan are leaves.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KeyRanges.h"
#include "dialects/Flash/Transforms/KeySets.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc::flash;

using Kind = IntForm::Kind;
using Predicate = arith::CmpIPredicate;

namespace {

/// Limits that keep hostile masks from exhausting stack or code size.
constexpr unsigned kMaxDepth = 500;
constexpr unsigned kMaxSteps = 2000;

enum MaskArgument : unsigned { kB, kH, kI, kJ, kSq, kSk };

class MaskAnalysis {
public:
  MaskAnalysis(OpBuilder &builder, Location loc, Region &mask, const QueryBox &box,
               ValueRange captures)
      : emitter(builder, loc), forms(emitter, box), sets(forms, box.sk), mask(mask), box(box),
        captures(captures) {}

  KeyRanges run();

private:
  IntPtr integer(Value value);
  IntPtr computeInteger(Value value);
  IntPtr argument(BlockArgument value);
  IntPtr read(ReadOp op);
  IntPtr bitwise(Operation *op, const IntPtr &a, const IntPtr &b);
  IntPtr shift(Operation *op, const IntPtr &a, const IntPtr &amount);
  IntPtr fit(const IntPtr &form, Type type);
  IntPtr chosen(Value condition, const IntPtr &a, const IntPtr &b);

  /// The keys for which `value`, an i1, is `wanted`.
  KeySet keysWhere(Value value, bool wanted);
  KeySet computeKeys(Value value, bool wanted);
  KeySet conditional(Value condition, const KeySet &a, const KeySet &b);
  KeySet equal(Value a, Value b, bool wanted);
  KeySet compare(Predicate predicate, const IntPtr &a, const IntPtr &b);
  KeySet lessThan(const IntPtr &a, const IntPtr &b, bool strict);

  bool dependsOn(Value value, unsigned argument) const;
  std::string captureName(unsigned index) const;
  std::string describe(Operation *op) const;

  IndexEmitter emitter;
  IntForms forms;
  KeySets sets;
  Region &mask;
  const QueryBox &box;
  ValueRange captures;
  llvm::DenseMap<Value, IntPtr> integers;
  llvm::DenseMap<std::pair<Value, int>, KeySet> truths;
  unsigned depth = 0, steps = 0;
};

/// One more level of recursion for as long as it lives.
struct Level {
  explicit Level(unsigned &depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }
  unsigned &depth;
};

//===--- names ---===//

bool MaskAnalysis::dependsOn(Value value, unsigned argument) const {
  llvm::SetVector<Value> work;
  work.insert(value);
  for (unsigned n = 0; n < work.size(); ++n) {
    if (work[n] == mask.getArgument(argument))
      return true;
    if (Operation *op = work[n].getDefiningOp())
      for (Value operand : op->getOperands())
        work.insert(operand);
  }
  return false;
}

std::string MaskAnalysis::captureName(unsigned index) const {
  BlockArgument inner = mask.getArgument(kMaskArguments + index);
  if (auto named = dyn_cast<NameLoc>(inner.getLoc()))
    return "'" + named.getName().str() + "'";
  // The function's argument that the op captures, as far as it is one.
  if (Operation *op = mask.getParentOp()) {
    for (Value operand : op->getOperands()) {
      auto outer = dyn_cast<BlockArgument>(operand);
      if (!outer || operand.getType() != inner.getType())
        continue;
      auto func = dyn_cast_or_null<FunctionOpInterface>(outer.getOwner()->getParentOp());
      unsigned last = op->getNumOperands() - (mask.getNumArguments() - kMaskArguments) + index;
      if (func && last < op->getNumOperands() && op->getOperand(last) == operand)
        if (auto name = func.getArgAttrOfType<StringAttr>(outer.getArgNumber(), "flash.name"))
          return "'" + name.str() + "'";
    }
  }
  return "number " + std::to_string(index);
}

/// Why an op is beyond the solver.
std::string MaskAnalysis::describe(Operation *op) const {
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto array = dyn_cast<BlockArgument>(read.getArray());
    std::string name =
        array ? captureName(array.getArgNumber() - kMaskArguments) : std::string("array");
    auto anyDependsOn = [&](unsigned argument) {
      return llvm::any_of(read.getIndices(), [&](Value v) { return dependsOn(v, argument); });
    };
    if (anyDependsOn(kJ))
      return "reads capture " + name + " at a key index";
    if (anyDependsOn(kI))
      return "reads capture " + name + " at a query index";
    if (captures.empty())
      return "depends on the contents of capture " + name;
    return "reads capture " + name + " at an index that is not understood";
  }
  // Float code hides what it reads; a captured array is the better reason.
  llvm::SetVector<Operation *> work;
  work.insert(op);
  for (unsigned n = 0; n < work.size(); ++n) {
    if (isa<ReadOp>(work[n]))
      return describe(work[n]);
    for (Value operand : work[n]->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        work.insert(producer);
  }
  if (isa<arith::CmpFOp>(op))
    return "compares floating-point numbers";
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return "rounds a floating-point number to an integer";
  return "uses " + op->getName().getStringRef().str();
}

//===--- integers ---===//

/// `form` as a value of `type`: exact if its width holds every value.
IntPtr MaskAnalysis::fit(const IntPtr &form, Type type) {
  if (form->kind == Kind::Unknown || type.isIndex() || type.getIntOrFloatBitWidth() == 64)
    return form;
  if (!form->isLeaf())
    return forms.unknown("uses min, max or select on narrow integers");
  if (form->bound() < uint64_t(1) << (std::min(type.getIntOrFloatBitWidth(), 62u) - 1))
    return form;
  return forms.unknown("narrows an integer");
}

IntPtr MaskAnalysis::integer(Value value) {
  auto it = integers.find(value);
  if (it != integers.end())
    return it->second;
  if (depth > kMaxDepth)
    return forms.unknown("is nested too deeply");
  Level level(depth);
  IntPtr result = fit(computeInteger(value), value.getType());
  integers[value] = result;
  return result;
}

IntPtr MaskAnalysis::argument(BlockArgument value) {
  switch (value.getArgNumber()) {
  case kB:
    return forms.uniform(box.b, kCoordinateLimit);
  case kH:
    return forms.uniform(box.h, kCoordinateLimit);
  case kI:
    return forms.query();
  case kJ:
    return forms.key();
  case kSq:
    return forms.uniform(box.sq, kCoordinateLimit);
  case kSk:
    return forms.uniform(box.sk, kCoordinateLimit);
  default:
    return forms.unknown("uses a capture as a number");
  }
}

IntPtr MaskAnalysis::read(ReadOp op) {
  auto array = dyn_cast<BlockArgument>(op.getArray());
  Type type = cast<ShapedType>(op.getArray().getType()).getElementType();
  if (!array || captures.empty() || !isa<IntegerType>(type))
    return forms.unknown(describe(op));
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    IntPtr form = integer(index);
    if (!form->isUniform())
      return forms.unknown(describe(op));
    indices.push_back(form->linear.lo);
  }
  OpBuilder &builder = emitter.builder;
  Value element = ReadOp::create(builder, op.getLoc(), builder.getI64Type(),
                                 captures[array.getArgNumber() - kMaskArguments], indices);
  return forms.uniform(
      arith::IndexCastOp::create(builder, op.getLoc(), builder.getIndexType(), element),
      uint64_t(1) << (type.getIntOrFloatBitWidth() - 1));
}

IntPtr MaskAnalysis::bitwise(Operation *op, const IntPtr &a, const IntPtr &b) {
  if (a->kind == Kind::Unknown)
    return a;
  if (b->kind == Kind::Unknown)
    return b;
  if (a->kind == Kind::Select)
    return forms.select(a->condition, bitwise(op, a->a, b), bitwise(op, a->b, b));
  if (b->kind == Kind::Select)
    return bitwise(op, b, a);
  if (a->isUniform() && b->isUniform()) {
    Value x = a->linear.lo, y = b->linear.lo;
    Value result = isa<arith::AndIOp>(op)  ? emitter.emit<arith::AndIOp>(x, y)
                   : isa<arith::OrIOp>(op) ? emitter.emit<arith::OrIOp>(x, y)
                                           : emitter.emit<arith::XOrIOp>(x, y);
    return forms.uniform(result, llvm::SaturatingAdd(a->bound(), b->bound()));
  }
  std::optional<int64_t> bits = IntForms::constantOf(*b);
  if (!bits)
    return IntForms::constantOf(*a) ? bitwise(op, b, a) : forms.unknown(describe(op));
  if (isa<arith::XOrIOp>(op) && *bits == -1) // ~x = -x - 1
    return forms.add(forms.scale(a, -1), forms.constant(-1));
  // Clearing low bits rounds down to a multiple; keeping low bits is what that takes away.
  int64_t limit = kIntLimit;
  if (isa<arith::AndIOp>(op) && *bits < 0 && *bits > -limit && llvm::isPowerOf2_64(-*bits))
    return forms.scale(forms.divideDown(a, -*bits), -*bits);
  if (isa<arith::AndIOp>(op) && *bits >= 0 && *bits < limit - 1 && llvm::isPowerOf2_64(*bits + 1))
    return forms.subtract(a, forms.scale(forms.divideDown(a, *bits + 1), *bits + 1));
  return forms.unknown(describe(op));
}

IntPtr MaskAnalysis::shift(Operation *op, const IntPtr &a, const IntPtr &amount) {
  std::optional<int64_t> count = IntForms::constantOf(*amount);
  if (!count || !(op->getResult(0).getType().isIndex() || op->getResult(0).getType().isInteger(64)))
    return forms.unknown("shifts by an amount that is not constant");
  bool isLeft = isa<arith::ShLIOp>(op);
  if (*count < 0 || *count > 63) {
    if (isLeft)
      return forms.constant(0);
    return forms.unknown("shifts by 64 or more");
  }
  if (*count > 59)
    return forms.unknown("shifts by 60 or more");
  return isLeft ? forms.scale(a, int64_t(1) << *count) : forms.divideDown(a, int64_t(1) << *count);
}

IntPtr MaskAnalysis::chosen(Value condition, const IntPtr &a, const IntPtr &b) {
  KeySet keys = keysWhere(condition, true);
  if (keys.uniform) {
    if (std::optional<int64_t> known = IndexEmitter::constantOf(keys.uniform))
      return *known ? a : b;
    if (a->isUniform() && b->isUniform())
      return forms.uniform(emitter.select(keys.uniform, a->linear.lo, b->linear.lo),
                           std::max(a->linear.magnitude, b->linear.magnitude));
  }
  return forms.select(condition, a, b);
}

IntPtr MaskAnalysis::computeInteger(Value value) {
  if (auto blockArgument = dyn_cast<BlockArgument>(value))
    return argument(blockArgument);
  Operation *op = value.getDefiningOp();
  if (op->getNumResults() != 1 || !value.getType().isIntOrIndex() ||
      (value.getType().isInteger() && value.getType().getIntOrFloatBitWidth() > 64))
    return forms.unknown(describe(op));
  if (std::optional<int64_t> known = IndexEmitter::constantOf(value))
    return forms.constant(*known);
  auto operand = [&](unsigned index) { return integer(op->getOperand(index)); };
  return llvm::TypeSwitch<Operation *, IntPtr>(op)
      .Case<ReadOp>([&](auto read) { return this->read(read); })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](auto cast) -> IntPtr {
        if (cast.getIn().getType().isInteger(1))
          return forms.unknown(describe(op));
        return operand(0);
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto extend) -> IntPtr {
        if (!extend.getIn().getType().isInteger(1))
          return forms.unknown(describe(op));
        return chosen(extend.getIn(), forms.constant(1), forms.constant(0));
      })
      .Case<arith::AddIOp>([&](auto) { return forms.add(operand(0), operand(1)); })
      .Case<arith::SubIOp>([&](auto) { return forms.subtract(operand(0), operand(1)); })
      .Case<arith::MulIOp>([&](auto) { return forms.multiply(operand(0), operand(1)); })
      .Case<arith::DivSIOp>([&](auto) { return forms.divide(operand(0), operand(1)); })
      .Case<arith::RemSIOp>([&](auto) { return forms.remainder(operand(0), operand(1)); })
      .Case<arith::MinSIOp>([&](auto) { return forms.minimum(operand(0), operand(1)); })
      .Case<arith::MaxSIOp>([&](auto) { return forms.maximum(operand(0), operand(1)); })
      .Case<math::AbsIOp>(
          [&](auto) { return forms.maximum(operand(0), forms.scale(operand(0), -1)); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto) { return bitwise(op, operand(0), operand(1)); })
      .Case<arith::ShLIOp, arith::ShRSIOp>([&](auto) { return shift(op, operand(0), operand(1)); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        return chosen(select.getCondition(), operand(1), operand(2));
      })
      .Default([&](Operation *) { return forms.unknown(describe(op)); });
}

//===--- truth values ---===//

KeySet MaskAnalysis::keysWhere(Value value, bool wanted) {
  auto it = truths.find({value, wanted});
  if (it != truths.end())
    return it->second;
  if (depth > kMaxDepth)
    return sets.unknown("is nested too deeply");
  Level level(depth);
  KeySet result = computeKeys(value, wanted);
  truths[{value, wanted}] = result;
  return result;
}

/// a where `condition` holds, else b.
KeySet MaskAnalysis::conditional(Value condition, const KeySet &a, const KeySet &b) {
  KeySet keys = keysWhere(condition, true);
  if (keys.uniform)
    return sets.choose(keys.uniform, a, b);
  if (a.uniform && b.uniform)
    return sets.choose(a.uniform, sets.choose(b.uniform, sets.constant(true), keys),
                       sets.choose(b.uniform, keysWhere(condition, false), sets.constant(false)));
  return sets.either(sets.both(keys, a), sets.both(keysWhere(condition, false), b));
}

/// The keys where the truth values a and b are equal (or, not wanted, differ).
KeySet MaskAnalysis::equal(Value a, Value b, bool wanted) {
  return conditional(a, keysWhere(b, wanted), keysWhere(b, !wanted));
}

KeySet MaskAnalysis::computeKeys(Value value, bool wanted) {
  if (std::optional<int64_t> known = IndexEmitter::constantOf(value))
    return sets.constant((*known != 0) == wanted);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return sets.unknown(op ? describe(op) : "uses a capture as a condition");
  return llvm::TypeSwitch<Operation *, KeySet>(op)
      .Case<arith::AndIOp, arith::OrIOp>([&](auto) {
        KeySet a = keysWhere(op->getOperand(0), wanted), b = keysWhere(op->getOperand(1), wanted);
        return isa<arith::AndIOp>(op) == wanted ? sets.both(a, b) : sets.either(a, b);
      })
      .Case<arith::XOrIOp>([&](auto xorOp) {
        for (auto [a, b] :
             {std::pair(xorOp.getLhs(), xorOp.getRhs()), std::pair(xorOp.getRhs(), xorOp.getLhs())})
          if (std::optional<int64_t> known = IndexEmitter::constantOf(b))
            return keysWhere(a, (*known != 0) != wanted);
        return equal(xorOp.getLhs(), xorOp.getRhs(), !wanted);
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        if (!select.getCondition().getType().isInteger(1))
          return sets.unknown(describe(op));
        return conditional(select.getCondition(), keysWhere(select.getTrueValue(), wanted),
                           keysWhere(select.getFalseValue(), wanted));
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        Predicate predicate = cmp.getPredicate();
        if (cmp.getLhs().getType().isInteger(1)) {
          if (predicate == Predicate::eq || predicate == Predicate::ne)
            return equal(cmp.getLhs(), cmp.getRhs(), (predicate == Predicate::eq) == wanted);
          return sets.unknown(describe(op));
        }
        if (!wanted)
          predicate = arith::invertPredicate(predicate);
        IntPtr a = integer(cmp.getLhs()), b = integer(cmp.getRhs());
        return compare(predicate, a, b);
      })
      .Default([&](Operation *) { return sets.unknown(describe(op)); });
}

KeySet MaskAnalysis::compare(Predicate predicate, const IntPtr &a, const IntPtr &b) {
  if (++steps > kMaxSteps)
    return sets.unknown("has too many cases");
  if (a->isUniform() && b->isUniform())
    return sets.uniform(emitter.compare(predicate, a->linear.lo, b->linear.lo));
  if (a->kind == Kind::Select)
    return conditional(a->condition, compare(predicate, a->a, b), compare(predicate, a->b, b));
  if (b->kind == Kind::Select)
    return conditional(b->condition, compare(predicate, a, b->a), compare(predicate, a, b->b));
  switch (predicate) {
  case Predicate::eq:
    return sets.both(lessThan(a, b, false), lessThan(b, a, false));
  case Predicate::ne:
    return sets.either(lessThan(a, b, true), lessThan(b, a, true));
  case Predicate::slt:
    return lessThan(a, b, true);
  case Predicate::sle:
    return lessThan(a, b, false);
  case Predicate::sgt:
    return lessThan(b, a, true);
  case Predicate::sge:
    return lessThan(b, a, false);
  default:
    return sets.unknown("compares unsigned integers");
  }
}

KeySet MaskAnalysis::lessThan(const IntPtr &a, const IntPtr &b, bool strict) {
  if (++steps > kMaxSteps)
    return sets.unknown("has too many cases");
  Predicate predicate = strict ? Predicate::slt : Predicate::sle;
  if (a->kind == Kind::Select || b->kind == Kind::Select)
    return compare(predicate, a, b);
  auto split = [&](Kind kind, const KeySet &x, const KeySet &y, Kind conjunction) {
    return kind == conjunction ? sets.both(x, y) : sets.either(x, y);
  };
  // max(x, y) <= b and a <= min(x, y) demand both; min(x, y) <= b and a <= max(x, y) either.
  if (a->kind == Kind::Min || a->kind == Kind::Max)
    return split(a->kind, lessThan(a->a, b, strict), lessThan(a->b, b, strict), Kind::Max);
  if (b->kind == Kind::Min || b->kind == Kind::Max)
    return split(b->kind, lessThan(a, b->a, strict), lessThan(a, b->b, strict), Kind::Min);
  return sets.lessThan(a, b, strict);
}

KeyRanges MaskAnalysis::run() {
  KeySet keys = mask.empty()
                    ? sets.constant(true)
                    : keysWhere(cast<YieldOp>(mask.front().getTerminator()).getValue(), true);
  if (forms.guard) {
    KeySet anything = sets.unknown("");
    bool exact = keys.exact;
    std::string why = keys.why;
    keys = sets.choose(forms.guard, keys, anything);
    keys.exact = exact;
    keys.why = why;
  }
  KeyRanges ranges;
  ranges.exact = keys.exact;
  ranges.why = keys.exact ? "" : "the mask " + keys.why;
  ranges.maybeBegin = keys.maybe.begin;
  ranges.maybeEnd = emitter.max(keys.maybe.begin, keys.maybe.end);
  ranges.fullBegin = emitter.clamp(keys.full.begin, ranges.maybeBegin, ranges.maybeEnd);
  ranges.fullEnd = emitter.clamp(keys.full.end, ranges.fullBegin, ranges.maybeEnd);
  return ranges;
}

} // namespace

KeyRanges flashc::flash::emitKeyRanges(OpBuilder &builder, Location loc, Region &mask,
                                       const QueryBox &box, ValueRange captures) {
  return MaskAnalysis(builder, loc, mask, box, captures).run();
}
