//===- TileCounts.cpp - how many tiles a mask leaves, for `explain` -------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Emits the key ranges once and evaluates the emitted code for every tile of queries, by a small
// interpreter, so that what is counted is what kernels do. The same code, asked for one query at a
// time, gives the exact borders of that query's keys; from these follows whether a tile's ranges
// are tight.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KeyRanges.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc::flash;

namespace {

/// Beyond this many queries, whether counts are tight is taken from the analysis alone.
constexpr int64_t kMaxCheckedQueries = 1 << 20;

/// Straight-line code on i64 slots. Slots 0 to 3 are b, h, i0 and iEnd.
class Program {
public:
  Program(Block &block, ArrayRef<Value> results) {
    for (Value argument : block.getArguments())
      slotOf(argument);
    for (Operation &op : block)
      compile(op);
    for (Value result : results)
      outputs.push_back(slotOf(result));
  }

  struct Borders {
    int64_t maybeBegin, maybeEnd, fullBegin, fullEnd;
    bool isEmpty() const { return maybeBegin == maybeEnd; }
    bool isInterval() const {
      return isEmpty() || (maybeBegin == fullBegin && maybeEnd == fullEnd);
    }
  };

  Borders run(int64_t b, int64_t h, int64_t i0, int64_t iEnd);

private:
  enum class Code { Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shr, Cmp, Select };
  struct Instruction {
    Code code;
    arith::CmpIPredicate predicate;
    unsigned result, operands[3];
  };

  unsigned slotOf(Value value) {
    auto [it, isNew] = slots.try_emplace(value, values.size());
    if (isNew)
      values.push_back(0);
    return it->second;
  }
  void compile(Operation &op);
  static Code codeOf(Operation &op);
  int64_t evaluate(const Instruction &instruction) const;

  llvm::DenseMap<Value, unsigned> slots;
  std::vector<int64_t> values;
  std::vector<Instruction> code;
  std::vector<unsigned> outputs;
};

Program::Code Program::codeOf(Operation &op) {
  using namespace arith;
  return llvm::TypeSwitch<Operation *, Code>(&op)
      .Case<AddIOp>([](auto) { return Code::Add; })
      .Case<SubIOp>([](auto) { return Code::Sub; })
      .Case<MulIOp>([](auto) { return Code::Mul; })
      .Case<DivSIOp>([](auto) { return Code::Div; })
      .Case<RemSIOp>([](auto) { return Code::Rem; })
      .Case<MinSIOp>([](auto) { return Code::Min; })
      .Case<MaxSIOp>([](auto) { return Code::Max; })
      .Case<AndIOp>([](auto) { return Code::And; })
      .Case<OrIOp>([](auto) { return Code::Or; })
      .Case<XOrIOp>([](auto) { return Code::Xor; })
      .Case<ShRSIOp>([](auto) { return Code::Shr; })
      .Case<CmpIOp>([](auto) { return Code::Cmp; })
      .Case<SelectOp>([](auto) { return Code::Select; })
      .Default([](Operation *op) -> Code {
        llvm::report_fatal_error("key ranges emitted " + op->getName().getStringRef() +
                                 ", which tile counting does not know");
      });
}

void Program::compile(Operation &op) {
  unsigned result = slotOf(op.getResult(0));
  llvm::APInt constant;
  if (matchPattern(&op, m_ConstantInt(&constant))) {
    // Truth values are 0 and 1.
    values[result] =
        constant.getBitWidth() == 1 ? constant.getZExtValue() : constant.getSExtValue();
    return;
  }
  Instruction instruction{codeOf(op), {}, result, {}};
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = cmp.getPredicate();
  for (auto [n, operand] : llvm::enumerate(op.getOperands()))
    instruction.operands[n] = slotOf(operand);
  code.push_back(instruction);
}

int64_t Program::evaluate(const Instruction &instruction) const {
  int64_t a = values[instruction.operands[0]], b = values[instruction.operands[1]];
  switch (instruction.code) {
  case Code::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case Code::Sub:
    return int64_t(uint64_t(a) - uint64_t(b));
  case Code::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Code::Div: // divisors are positive constants
    return a / b;
  case Code::Rem:
    return a % b;
  case Code::Min:
    return std::min(a, b);
  case Code::Max:
    return std::max(a, b);
  case Code::And:
    return a & b;
  case Code::Or:
    return a | b;
  case Code::Xor:
    return a ^ b;
  case Code::Shr:
    return a >> b;
  case Code::Cmp:
    return arith::applyCmpPredicate(instruction.predicate, llvm::APInt(64, uint64_t(a)),
                                    llvm::APInt(64, uint64_t(b)));
  case Code::Select:
    return a ? b : values[instruction.operands[2]];
  }
  llvm_unreachable("unknown code");
}

Program::Borders Program::run(int64_t b, int64_t h, int64_t i0, int64_t iEnd) {
  int64_t inputs[] = {b, h, i0, iEnd};
  std::copy(std::begin(inputs), std::end(inputs), values.begin());
  for (const Instruction &instruction : code)
    values[instruction.result] = evaluate(instruction);
  return {values[outputs[0]], values[outputs[1]], values[outputs[2]], values[outputs[3]]};
}

/// Whether the borders of the queries [i0, iEnd) are tight: every single query keeps an interval,
/// these touch one another, and their union and intersection are the borders.
bool isTight(Program &program, int64_t b, int64_t h, int64_t i0, int64_t iEnd,
             const Program::Borders &box, int64_t sk) {
  int64_t begin = sk, end = 0, fullBegin = 0, fullEnd = sk;
  for (int64_t i = i0; i < iEnd; ++i) {
    Program::Borders row = program.run(b, h, i, i + 1);
    if (!row.isInterval())
      return false;
    if (row.isEmpty()) {
      fullEnd = fullBegin;
      continue;
    }
    if (begin < end && (row.maybeBegin > end || row.maybeEnd < begin))
      return false;
    begin = std::min(begin, row.maybeBegin);
    end = std::max(end, row.maybeEnd);
    fullBegin = std::max(fullBegin, row.fullBegin);
    fullEnd = std::min(fullEnd, row.fullEnd);
  }
  bool tightHull = begin >= end ? box.isEmpty() : begin == box.maybeBegin && end == box.maybeEnd;
  bool tightFull = fullBegin >= fullEnd ? box.fullBegin == box.fullEnd
                                        : fullBegin == box.fullBegin && fullEnd == box.fullEnd;
  return tightHull && tightFull;
}

} // namespace

FailureOr<TileCounts> flashc::flash::countTiles(Region &mask, int64_t batch, int64_t heads,
                                                int64_t sq, int64_t sk, int64_t br, int64_t bc) {
  if (batch < 0 || heads < 0 || sq < 0 || sk < 0 || br < 1 || bc < 1)
    return failure();
  MLIRContext *context = mask.getContext();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  Block block;
  for (unsigned n = 0; n < 4; ++n)
    block.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&block);
  QueryBox box{block.getArgument(0),
               block.getArgument(1),
               block.getArgument(2),
               block.getArgument(3),
               arith::ConstantIndexOp::create(builder, loc, sq),
               arith::ConstantIndexOp::create(builder, loc, sk)};
  KeyRanges ranges = emitKeyRanges(builder, loc, mask, box, {});
  Program program(block, {ranges.maybeBegin, ranges.maybeEnd, ranges.fullBegin, ranges.fullEnd});

  // Where the ranges do not depend on b and h, one problem stands for all.
  bool same = block.getArgument(0).use_empty() && block.getArgument(1).use_empty();
  int64_t problems = batch * heads, distinct = same ? std::min<int64_t>(problems, 1) : problems;
  int64_t weight = same ? problems : 1;
  bool checked = distinct * sq <= kMaxCheckedQueries;
  TileCounts counts;
  counts.exact = ranges.exact || checked;
  counts.why = ranges.exact ? "the mask combines conditions of which some hold for later and some "
                              "for earlier queries"
                            : ranges.why;
  int64_t tiles = llvm::divideCeil(sk, bc);
  for (int64_t problem = 0; problem < distinct; ++problem) {
    int64_t b = problem / std::max<int64_t>(heads, 1), h = problem % std::max<int64_t>(heads, 1);
    for (int64_t i0 = 0; i0 < sq; i0 += br) {
      int64_t iEnd = std::min(i0 + br, sq);
      Program::Borders borders = program.run(b, h, i0, iEnd);
      int64_t visited =
          borders.isEmpty() ? 0 : llvm::divideCeil(borders.maybeEnd, bc) - borders.maybeBegin / bc;
      int64_t firstFull = llvm::divideCeil(borders.fullBegin, bc);
      int64_t lastFull = borders.fullEnd / bc;
      int64_t full = std::max<int64_t>(lastFull - firstFull, 0);
      counts.empty += weight * (tiles - visited);
      counts.full += weight * full;
      counts.partial += weight * (visited - full);
      if (checked && counts.exact)
        counts.exact = isTight(program, b, h, i0, iEnd, borders, sk);
    }
  }
  if (counts.exact)
    counts.why.clear();
  return counts;
}
