//===- MaskFixture.cpp - masks, solved and by brute force -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Flash/MaskFixture.h"
#include "compiler/Driver/ExprToRegion.h"
#include "mlir/IR/Matchers.h"
#include "runtime/Expr/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc::test {

MLIRContext &maskContext() {
  static MLIRContext *context = [] {
    auto *made = new MLIRContext(MLIRContext::Threading::DISABLED);
    made->loadDialect<flash::FlashDialect, arith::ArithDialect, math::MathDialect>();
    return made;
  }();
  return *context;
}

std::ostream &operator<<(std::ostream &os, const Borders &borders) {
  return os << "maybe [" << borders.maybeBegin << ", " << borders.maybeEnd << ") full ["
            << borders.fullBegin << ", " << borders.fullEnd << ")";
}

MaskFixture::MaskFixture(const std::string &text, std::vector<RandomExpr::Capture> arrays)
    : captures(std::move(arrays)) {
  std::vector<CaptureInfo> infos;
  std::vector<reference::NamedTensor> tensors;
  SmallVector<mlir::Type> types(6, IndexType::get(&maskContext()));
  for (const RandomExpr::Capture &capture : captures) {
    infos.push_back({capture.name, capture.array.dtype, static_cast<int>(capture.array.rank())});
    tensors.push_back({capture.name, reference::viewOf(capture.array)});
    types.push_back(RankedTensorType::get(capture.array.shape,
                                          storageType(&maskContext(), capture.array.dtype)));
  }
  TypedExpr expr = parseExpression(text, ExprKind::Mask, infos);
  evaluator.emplace(expr, tensors);

  OpBuilder builder(&maskContext());
  Location loc = builder.getUnknownLoc();
  for (mlir::Type type : types)
    code.addArgument(type, loc);
  ValueRange outer = code.getArguments().drop_front(6);
  holder = ModuleOp::create(loc);
  mask().getBlocks().clear();
  Block *block = flash::addMaskBlock(mask(), outer, loc);
  for (size_t n = 0; n < captures.size(); ++n)
    block->getArgument(flash::kMaskArguments + n)
        .setLoc(NameLoc::get(builder.getStringAttr(captures[n].name)));
  RegionScope scope(*block, ExprKind::Mask);
  flash::YieldOp::create(scope.builder, loc, scope.emit(expr));

  builder.setInsertionPointToStart(&code);
  emitted = flash::emitKeyRanges(builder, loc, mask(),
                                 {code.getArgument(0), code.getArgument(1), code.getArgument(2),
                                  code.getArgument(3), code.getArgument(4), code.getArgument(5)},
                                 outer);
}

MaskFixture::~MaskFixture() = default;

int64_t MaskFixture::read(flash::ReadOp op,
                          const llvm::DenseMap<mlir::Value, int64_t> &values) const {
  const HostArray &array = captures[cast<BlockArgument>(op.getArray()).getArgNumber() - 6].array;
  int64_t flat = 0;
  for (auto [index, size] : llvm::zip(op.getIndices(), array.shape)) {
    int64_t at = values.lookup(index);
    if (at < 0 || at >= size)
      return 0;
    flat = flat * size + at;
  }
  int64_t element = array.intAt(flat);
  return array.dtype == DType::U8 ? int64_t(int8_t(element)) : element;
}

Borders MaskFixture::solve(const BoxSizes &box) const {
  llvm::DenseMap<mlir::Value, int64_t> values;
  int64_t inputs[] = {box.b, box.h, box.i0, box.iEnd, box.sq, box.sk};
  for (unsigned n = 0; n < 6; ++n)
    values[code.getArgument(n)] = inputs[n];
  for (Operation &op : code) {
    SmallVector<int64_t, 3> x;
    for (mlir::Value operand : op.getOperands())
      x.push_back(values.lookup(operand));
    APInt constant;
    auto wrapped = [](uint64_t value) { return int64_t(value); };
    int64_t result =
        llvm::TypeSwitch<Operation *, int64_t>(&op)
            .Case<arith::ConstantOp>([&](auto) {
              matchPattern(&op, m_ConstantInt(&constant));
              return constant.getBitWidth() == 1 ? constant.getZExtValue()
                                                 : constant.getSExtValue();
            })
            .Case<flash::ReadOp>([&](auto op) { return read(op, values); })
            .Case<arith::IndexCastOp>([&](auto) { return x[0]; })
            .Case<arith::AddIOp>([&](auto) { return wrapped(uint64_t(x[0]) + uint64_t(x[1])); })
            .Case<arith::SubIOp>([&](auto) { return wrapped(uint64_t(x[0]) - uint64_t(x[1])); })
            .Case<arith::MulIOp>([&](auto) { return wrapped(uint64_t(x[0]) * uint64_t(x[1])); })
            .Case<arith::DivSIOp>([&](auto) { return x[0] / x[1]; })
            .Case<arith::RemSIOp>([&](auto) { return x[0] % x[1]; })
            .Case<arith::MinSIOp>([&](auto) { return std::min(x[0], x[1]); })
            .Case<arith::MaxSIOp>([&](auto) { return std::max(x[0], x[1]); })
            .Case<arith::AndIOp>([&](auto) { return x[0] & x[1]; })
            .Case<arith::OrIOp>([&](auto) { return x[0] | x[1]; })
            .Case<arith::XOrIOp>([&](auto) { return x[0] ^ x[1]; })
            .Case<arith::ShRSIOp>([&](auto) { return x[0] >> x[1]; })
            .Case<arith::SelectOp>([&](auto) { return x[0] ? x[1] : x[2]; })
            .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
              return int64_t(arith::applyCmpPredicate(cmp.getPredicate(), APInt(64, uint64_t(x[0])),
                                                      APInt(64, uint64_t(x[1]))));
            });
    values[op.getResult(0)] = result;
  }
  return {values.lookup(emitted.maybeBegin), values.lookup(emitted.maybeEnd),
          values.lookup(emitted.fullBegin), values.lookup(emitted.fullEnd)};
}

std::optional<Borders> MaskFixture::fold(const BoxSizes &box) {
  Block block;
  OpBuilder builder(&maskContext());
  builder.setInsertionPointToEnd(&block);
  Location loc = builder.getUnknownLoc();
  auto constant = [&](int64_t value) -> mlir::Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  flash::KeyRanges ranges =
      flash::emitKeyRanges(builder, loc, mask(),
                           {constant(box.b), constant(box.h), constant(box.i0), constant(box.iEnd),
                            constant(box.sq), constant(box.sk)},
                           {});
  mlir::Value results[] = {ranges.maybeBegin, ranges.maybeEnd, ranges.fullBegin, ranges.fullEnd};
  int64_t folded[4];
  for (auto [result, value] : llvm::zip(results, folded)) {
    APInt known;
    if (!matchPattern(result, m_ConstantInt(&known)))
      return std::nullopt;
    value = known.getSExtValue();
  }
  return Borders{folded[0], folded[1], folded[2], folded[3]};
}

void MaskFixture::keys(const BoxSizes &box, std::vector<uint8_t> &some, std::vector<uint8_t> &all,
                       bool *hasEmptyRow) const {
  some.assign(box.sk, 0);
  all.assign(box.sk, 1);
  reference::ExprEvaluator<double>::Scratch scratch;
  constexpr int64_t block = reference::ExprEvaluator<double>::kBlock;
  for (int64_t i = box.i0; i < box.iEnd; ++i) {
    bool isEmpty = true;
    for (int64_t j0 = 0; j0 < box.sk; j0 += block) {
      uint8_t keep[block];
      std::fill(std::begin(keep), std::end(keep), 1);
      int64_t count = std::min(block, box.sk - j0);
      evaluator->evaluateMask({box.b, box.h, i, box.sq, box.sk}, j0, count, keep, scratch);
      for (int64_t n = 0; n < count; ++n) {
        some[j0 + n] |= keep[n];
        all[j0 + n] &= keep[n];
        isEmpty &= !keep[n];
      }
    }
    if (hasEmptyRow)
      *hasEmptyRow |= isEmpty;
  }
}

Borders MaskFixture::bruteForce(const BoxSizes &box, bool *hasGap) const {
  std::vector<uint8_t> some, all;
  keys(box, some, all);
  auto hull = [&](const std::vector<uint8_t> &set) -> std::pair<int64_t, int64_t> {
    int64_t begin = 0, end = set.size();
    while (begin < end && !set[begin])
      ++begin;
    while (begin < end && !set[end - 1])
      --end;
    for (int64_t n = begin; n < end; ++n)
      if (hasGap)
        *hasGap |= !set[n];
    return {begin, end};
  };
  auto [maybeBegin, maybeEnd] = hull(some);
  auto [fullBegin, fullEnd] = hull(all);
  return {maybeBegin, maybeEnd, fullBegin, fullEnd};
}

} // namespace flashc::test
