//===- BuildAttention.cpp - from a description to the flash stage ---------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/BuildAttention.h"
#include "compiler/Driver/ExprToRegion.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Support/Error.h"

using namespace mlir;
using namespace flashc;

namespace {

/// Parses the expressions first: what can go wrong does so before there is any IR.
class AttentionBuilder {
public:
  AttentionBuilder(MLIRContext &context, const AttentionDesc &desc)
      : desc(desc), builder(&context), loc(builder.getUnknownLoc()) {
    std::vector<CaptureInfo> infos;
    for (const Capture &capture : desc.captures)
      infos.push_back({capture.name, capture.dtype, capture.rank});
    if (!desc.score.empty())
      score = parseExpression(desc.score, ExprKind::Score, infos);
    if (!desc.mask.empty())
      mask = parseExpression(desc.mask, ExprKind::Mask, infos);
  }

  OwningOpRef<ModuleOp> build(StringRef target);

private:
  struct Parameter {
    std::string name;
    mlir::Type type;
    bool isBool = false; // stored as i8
  };

  RankedTensorType tensor(int rank, DType type, int64_t lastSize = ShapedType::kDynamic);
  std::vector<Parameter> arguments();
  std::vector<Parameter> results();
  ArrayAttr nameAttributes(ArrayRef<Parameter> parameters);
  void buildScore(Region &region, ValueRange captures);
  void buildMask(Region &region, ValueRange captures);
  /// Lets diagnostics and reports name what a region reads.
  void nameCaptures(Block &block, unsigned first);
  Value diagonal(RegionScope &scope, bool bottomRight);

  const AttentionDesc &desc;
  Builder builder;
  Location loc;
  std::optional<TypedExpr> score, mask;
  std::vector<std::string> captureNames;
};

RankedTensorType AttentionBuilder::tensor(int rank, DType type, int64_t lastSize) {
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  if (rank)
    shape.back() = lastSize;
  return RankedTensorType::get(shape, storageType(builder.getContext(), type));
}

/// In the order of the kernel's arguments; sets captureNames.
std::vector<AttentionBuilder::Parameter> AttentionBuilder::arguments() {
  std::vector<Parameter> list = {{"q", tensor(4, desc.dtype, desc.headDim)},
                                 {"k", tensor(4, desc.dtype, desc.headDim)},
                                 {"v", tensor(4, desc.dtype, desc.resolvedValueDim())}};
  if (desc.sinks)
    list.push_back({"sinks", tensor(1, DType::F32)});
  if (desc.packed) {
    list.push_back({"cu_seqlens_q", tensor(1, *desc.packed)});
    list.push_back({"cu_seqlens_k", tensor(1, *desc.packed)});
  }
  if (desc.sequsedK)
    list.push_back({"seqused_k", tensor(1, *desc.sequsedK)});
  if (desc.pageTable)
    list.push_back({"page_table", tensor(2, *desc.pageTable)});
  size_t firstCapture = list.size();
  if (desc.alibi)
    list.push_back({"alibi", tensor(1, DType::F32)});
  if (desc.bias)
    list.push_back({"bias", tensor(4, *desc.bias)});
  for (const Capture &capture : desc.captures)
    list.push_back(
        {capture.name, tensor(capture.rank, capture.dtype), capture.dtype == DType::Bool});
  captureNames.clear();
  for (size_t n = firstCapture; n < list.size(); ++n)
    captureNames.push_back(list[n].name);
  return list;
}

std::vector<AttentionBuilder::Parameter> AttentionBuilder::results() {
  std::vector<Parameter> list = {{"o", tensor(4, desc.dtype, desc.resolvedValueDim())}};
  if (desc.wantLse)
    list.push_back({"lse", tensor(3, DType::F32)});
  if (desc.wantRowMax)
    list.push_back({"row_max", tensor(3, DType::F32)});
  return list;
}

ArrayAttr AttentionBuilder::nameAttributes(ArrayRef<Parameter> parameters) {
  SmallVector<Attribute> attributes;
  for (const Parameter &parameter : parameters) {
    SmallVector<NamedAttribute> list = {
        builder.getNamedAttr("flash.name", builder.getStringAttr(parameter.name))};
    if (parameter.isBool)
      list.push_back(builder.getNamedAttr("flash.dtype", builder.getStringAttr("bool")));
    attributes.push_back(builder.getDictionaryAttr(list));
  }
  return builder.getArrayAttr(attributes);
}

void AttentionBuilder::nameCaptures(Block &block, unsigned first) {
  for (auto [n, name] : llvm::enumerate(captureNames))
    block.getArgument(first + n).setLoc(NameLoc::get(builder.getStringAttr(name)));
}

/// i + o as i64, with o = sk - sq (bottom-right) or 0.
Value AttentionBuilder::diagonal(RegionScope &scope, bool bottomRight) {
  Value i = scope.coordinate(Variable::I);
  if (!bottomRight)
    return i;
  Value sq = scope.coordinate(Variable::Sq), sk = scope.coordinate(Variable::Sk);
  Value offset = arith::SubIOp::create(scope.builder, loc, sk, sq);
  return arith::AddIOp::create(scope.builder, loc, i, offset);
}

void AttentionBuilder::buildScore(Region &region, ValueRange captures) {
  if (!desc.softcap && !desc.alibi && !desc.bias && !score)
    return;
  Block *block = flash::addScoreBlock(region, captures, loc);
  nameCaptures(*block, flash::kScoreArguments);
  unsigned bias = desc.alibi, user = bias + desc.bias.has_value();
  RegionScope scope(*block, ExprKind::Score);
  OpBuilder &b = scope.builder;
  Value s = scope.score();
  if (desc.softcap) {
    Value cap = scope.constant(static_cast<float>(*desc.softcap));
    Value ratio = arith::DivFOp::create(b, loc, s, cap);
    s = arith::MulFOp::create(b, loc, cap, math::TanhOp::create(b, loc, ratio));
  }
  if (desc.alibi) {
    Value slope =
        flash::ReadOp::create(b, loc, b.getF32Type(), scope.capture(0), scope.index(Variable::H));
    Value distance = math::AbsIOp::create(
        b, loc,
        arith::SubIOp::create(b, loc, diagonal(scope, true), scope.coordinate(Variable::J)));
    Value asFloat = arith::SIToFPOp::create(b, loc, b.getF32Type(), distance);
    s = arith::SubFOp::create(b, loc, s, arith::MulFOp::create(b, loc, slope, asFloat));
  }
  if (desc.bias) {
    Value indices[] = {scope.index(Variable::B), scope.index(Variable::H), scope.index(Variable::I),
                       scope.index(Variable::J)};
    s = arith::AddFOp::create(
        b, loc, s, flash::ReadOp::create(b, loc, b.getF32Type(), scope.capture(bias), indices));
  }
  if (score)
    s = scope.emit(*score, user, s);
  flash::YieldOp::create(b, loc, s);
}

void AttentionBuilder::buildMask(Region &region, ValueRange captures) {
  bool causal = desc.causal != Causal::None;
  bool left = desc.window && desc.window->left >= 0, right = desc.window && desc.window->right >= 0;
  if (!causal && !left && !right && !mask)
    return;
  Block *block = flash::addMaskBlock(region, captures, loc);
  nameCaptures(*block, flash::kMaskArguments);
  unsigned user = unsigned(desc.alibi) + desc.bias.has_value();
  RegionScope scope(*block, ExprKind::Mask);
  OpBuilder &b = scope.builder;
  Value keep;
  auto demand = [&](Value condition) {
    keep = keep ? Value(arith::AndIOp::create(b, loc, keep, condition)) : condition;
  };
  if (causal || left || right) {
    Value j = scope.coordinate(Variable::J);
    Value center = diagonal(scope, desc.causal != Causal::TopLeft);
    using Predicate = arith::CmpIPredicate;
    if (causal)
      demand(arith::CmpIOp::create(b, loc, Predicate::sle, j, center));
    if (left) {
      Value first = arith::SubIOp::create(b, loc, center, scope.constant(desc.window->left));
      demand(arith::CmpIOp::create(b, loc, Predicate::sge, j, first));
    }
    if (right) {
      Value last = arith::AddIOp::create(b, loc, center, scope.constant(desc.window->right));
      demand(arith::CmpIOp::create(b, loc, Predicate::sle, j, last));
    }
  }
  if (mask)
    demand(scope.emit(*mask, user));
  flash::YieldOp::create(b, loc, keep);
}

OwningOpRef<ModuleOp> AttentionBuilder::build(StringRef target) {
  MLIRContext *context = builder.getContext();
  std::vector<Parameter> inputs = arguments(), outputs = results();
  auto typesOf = [](ArrayRef<Parameter> list) {
    return llvm::map_to_vector(list, [](const Parameter &parameter) { return parameter.type; });
  };
  SmallVector<mlir::Type> inputTypes = typesOf(inputs), outputTypes = typesOf(outputs);

  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr(flash::kTargetAttrName, flash::TargetAttr::get(context, target));
  b.setInsertionPointToEnd(module->getBody());
  auto func = func::FuncOp::create(b, loc, desc.name, b.getFunctionType(inputTypes, outputTypes));
  func.setArgAttrsAttr(nameAttributes(inputs));
  func.setResAttrsAttr(nameAttributes(outputs));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);

  unsigned next = 0;
  auto take = [&](bool present) -> Value {
    return present ? Value(entry->getArgument(next++)) : Value();
  };
  Value q = take(true), k = take(true), v = take(true), sinks = take(desc.sinks);
  Value cuQ = take(desc.packed.has_value()), cuK = take(desc.packed.has_value());
  Value used = take(desc.sequsedK.has_value()), table = take(desc.pageTable.has_value());
  ValueRange captures = entry->getArguments().drop_front(next);
  auto attention = flash::AttentionOp::create(
      b, loc, outputTypes[0], desc.wantLse ? outputTypes[1] : mlir::Type(),
      desc.wantRowMax ? outputTypes.back() : mlir::Type(), q, k, v, sinks, cuQ, cuK, used, table,
      captures, b.getF32FloatAttr(static_cast<float>(desc.resolvedScale())), flash::ScheduleAttr());
  buildScore(attention.getScore(), captures);
  buildMask(attention.getMask(), captures);
  func::ReturnOp::create(b, loc, attention->getResults());
  if (failed(verify(*module)))
    fail("expected a description that makes a valid attention op, got one that does not (see "
         "above)");
  return module;
}

} // namespace

OwningOpRef<ModuleOp> flashc::buildAttention(MLIRContext &context, const AttentionDesc &desc,
                                             StringRef target) {
  desc.validate();
  if (!lookupTarget({target.data(), target.size()}))
    fail("target: expected one of ", listTargetNames(), ", got '", target.take_front(100).str(),
         "'");
  context.loadDialect<flash::FlashDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect>();
  return AttentionBuilder(context, desc).build(target);
}
