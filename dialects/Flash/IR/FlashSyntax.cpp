//===- FlashSyntax.cpp - custom syntax of attention ops -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// flash.attention and flash.online_attention share their syntax: q, k, v, then clauses in a fixed order,
// then the regions with named arguments, the attributes and the types.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/IR/Flash.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace flashc::flash;

namespace {

/// Operands of one clause such as `captures(%a, %b : t, u)`, resolved at once.
ParseResult parseClause(OpAsmParser &parser, OperationState &state, StringRef keyword, bool typed,
                        int32_t &count) {
  count = 0;
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseOperandList(operands))
    return failure();
  if (typed) {
    if (parser.parseColonTypeList(types))
      return failure();
  } else {
    types.assign(operands.size(), parser.getBuilder().getIndexType());
  }
  count = operands.size();
  return failure(parser.parseRParen() ||
                 parser.resolveOperands(operands, types, loc, state.operands));
}

ParseResult parseRegionClause(OpAsmParser &parser, OperationState &state, StringRef keyword) {
  Region *region = state.addRegion();
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
    return failure();
  return parser.parseRegion(*region, arguments);
}

void printClause(OpAsmPrinter &p, StringRef keyword, OperandRange operands, bool typed) {
  if (operands.empty())
    return;
  p << ' ' << keyword << '(';
  p.printOperands(operands);
  if (typed) {
    p << " : ";
    llvm::interleaveComma(operands.getTypes(), p, [&](Type type) { p.printType(type); });
  }
  p << ')';
}

void printRegionClause(OpAsmPrinter &p, StringRef keyword, Region &region) {
  if (region.empty())
    return;
  p.printNewline();
  p << "  " << keyword << " (";
  llvm::interleaveComma(region.getArguments(), p,
                        [&](BlockArgument argument) { p.printRegionArgument(argument); });
  p << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

/// A clause of operands: its keyword and whether its types are printed (else they are index).
struct Clause {
  StringRef keyword;
  bool typed;
};

ParseResult parseAttentionLike(OpAsmParser &parser, OperationState &state, unsigned numInputs,
                               ArrayRef<Clause> clauses, StringRef segmentsName) {
  SmallVector<OpAsmParser::UnresolvedOperand> qkv;
  SMLoc qkvLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(qkv, numInputs))
    return failure();
  // The types of q, k, v come last, so their operands are spliced in at the end.
  SmallVector<int32_t> segments(numInputs, 1);
  for (const Clause &clause : clauses)
    if (parseClause(parser, state, clause.keyword, clause.typed, segments.emplace_back()))
      return failure();
  if (parseRegionClause(parser, state, "score") || parseRegionClause(parser, state, "mask") ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  SmallVector<Type> inputs, results;
  if (parser.parseColonTypeList(inputs) || parser.parseArrow() || parser.parseTypeList(results))
    return failure();
  SmallVector<Value> resolved;
  if (parser.resolveOperands(qkv, inputs, qkvLoc, resolved))
    return failure();
  state.operands.insert(state.operands.begin(), resolved.begin(), resolved.end());
  state.addTypes(results);
  state.addAttribute(segmentsName, parser.getBuilder().getDenseI32ArrayAttr(segments));
  return success();
}

void printTail(OpAsmPrinter &p, Operation *op, unsigned numInputs, Region &score, Region &mask,
               ArrayRef<NamedAttribute> attributes, ArrayRef<StringRef> elided) {
  printRegionClause(p, "score", score);
  printRegionClause(p, "mask", mask);
  if (!score.empty() || !mask.empty()) {
    p.printNewline();
    p << ' ';
  }
  p.printOptionalAttrDict(attributes, elided);
  p << " : ";
  llvm::interleaveComma(op->getOperands().take_front(numInputs).getTypes(), p,
                        [&](Type type) { p.printType(type); });
  p << " -> ";
  llvm::interleaveComma(op->getResultTypes(), p, [&](Type type) { p.printType(type); });
}

void nameArguments(Region &region, bool isScore, OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral all[] = {"s", "b", "h", "i", "j", "sq", "sk"};
  ArrayRef<StringLiteral> names(all);
  if (!isScore)
    names = names.drop_front();
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
  for (BlockArgument argument :
       region.getArguments().drop_front(std::min<size_t>(names.size(), region.getNumArguments())))
    if (auto loc = dyn_cast<NameLoc>(argument.getLoc()))
      setName(argument, loc.getName());
}

template <typename Op> void nameArguments(Op op, Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, &region == &op.getScore(), setName);
}

} // namespace

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}

void ScoresOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getO(), "o");
  if (getLse())
    setName(getLse(), "lse");
  if (getRowMax())
    setName(getRowMax(), "row_max");
}

void OnlineAttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getM(), "m");
  setName(getL(), "l");
  setName(getAcc(), "acc");
  if (getRowMax())
    setName(getRowMax(), "row_max");
}

void ScoresOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getS(), "s");
  setName(getKeep(), "keep");
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  if (parseAttentionLike(parser, state, 3,
                         {{"sinks", true},
                          {"cu_seqlens_q", true},
                          {"cu_seqlens_k", true},
                          {"seqused_k", true},
                          {"page_table", true},
                          {"captures", true}},
                         getOperandSegmentSizeAttr()))
    return failure();
  // Results are told apart by attributes: o always, then lse and row_max as `results` names them.
  int32_t count = state.types.size();
  bool hasLse = state.attributes.getNamed("lse").has_value();
  bool hasRowMax = state.attributes.getNamed("row_max").has_value();
  state.attributes.erase("lse");
  state.attributes.erase("row_max");
  if (count != 1 + hasLse + hasRowMax)
    return parser.emitError(parser.getNameLoc(), "expected ")
           << 1 + hasLse + hasRowMax << " result types (o" << (hasLse ? ", lse" : "")
           << (hasRowMax ? ", row_max" : "") << "), got " << count
           << "; name the further results by the attributes lse and row_max";
  state.addAttribute(getResultSegmentSizeAttr(),
                     parser.getBuilder().getDenseI32ArrayAttr({1, hasLse, hasRowMax}));
  return success();
}

void AttentionOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printOperands((*this)->getOperands().take_front(3));
  auto optional = [&](StringRef keyword, unsigned index) {
    printClause(p, keyword, getODSOperands(index), true);
  };
  optional("sinks", 3);
  optional("cu_seqlens_q", 4);
  optional("cu_seqlens_k", 5);
  optional("seqused_k", 6);
  optional("page_table", 7);
  optional("captures", 8);
  SmallVector<NamedAttribute> attributes((*this)->getAttrs());
  auto flag = [&](StringRef name, Value present) {
    if (present)
      attributes.emplace_back(StringAttr::get(getContext(), name), UnitAttr::get(getContext()));
  };
  flag("lse", getLse());
  flag("row_max", getRowMax());
  printTail(p, *this, 3, getScore(), getMask(), attributes,
            {getOperandSegmentSizeAttr(), getResultSegmentSizeAttr()});
}

ParseResult OnlineAttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseAttentionLike(parser, state, 3,
                            {{"init", true},
                             {"at", false},
                             {"cu_seqlens_q", true},
                             {"cu_seqlens_k", true},
                             {"seqused_k", true},
                             {"page_table", true},
                             {"captures", true}},
                            getOperandSegmentSizeAttr());
}

void OnlineAttentionOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printOperands((*this)->getOperands().take_front(3));
  printClause(p, "init", getInit(), true);
  printClause(p, "at", getAt(), false);
  printClause(p, "cu_seqlens_q", getODSOperands(5), true);
  printClause(p, "cu_seqlens_k", getODSOperands(6), true);
  printClause(p, "seqused_k", getODSOperands(7), true);
  printClause(p, "page_table", getODSOperands(8), true);
  printClause(p, "captures", getCaptures(), true);
  printTail(p, *this, 3, getScore(), getMask(), (*this)->getAttrs(), {getOperandSegmentSizeAttr()});
}

ParseResult ScoresOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseAttentionLike(parser, state, 2, {{"at", false}, {"captures", true}},
                            getOperandSegmentSizeAttr());
}

void ScoresOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printOperands((*this)->getOperands().take_front(2));
  printClause(p, "at", getAt(), false);
  printClause(p, "captures", getCaptures(), true);
  printTail(p, *this, 2, getScore(), getMask(), (*this)->getAttrs(), {getOperandSegmentSizeAttr()});
}
