//===- FlashDialect.cpp - registration and attributes of flash ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc::flash;

#include "dialects/Flash/IR/FlashDialect.cpp.inc"
#include "dialects/Flash/IR/FlashEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Flash/IR/FlashAttributes.cpp.inc"

void FlashDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Flash/IR/FlashAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Flash/IR/FlashOps.cpp.inc"
      >();
}

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 llvm::StringRef name) {
  if (flashc::lookupTarget(name))
    return success();
  return emitError() << "(T1) expected a known target, got '" << name
                     << "'; `flashc targets` lists them";
}

const flashc::TargetInfo *flashc::flash::targetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto target = module ? module->getAttrOfType<TargetAttr>(kTargetAttrName) : TargetAttr();
  return target ? lookupTarget(target.getName()) : nullptr;
}

static ParseResult parseSizes(AsmParser &parser, SmallVectorImpl<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    return parser.parseInteger(sizes.emplace_back());
  });
}

/// A keyword that names a case of `Enum`.
template <typename Enum>
static ParseResult parseCase(AsmParser &parser, std::optional<Enum> (*symbolize)(StringRef),
                             StringRef expected, Enum &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Enum> parsed = symbolize(name);
  if (!parsed)
    return parser.emitError(loc, "expected ") << expected << ", got '" << name << "'";
  value = *parsed;
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> tile, micro;
  Strategy strategy = Strategy::Online;
  RowKind rows = RowKind::Queries;
  Placement queries = Placement::Shared;
  ValueCopy values = ValueCopy::Ahead;
  Reference reference = Reference::Exact;
  int64_t split = 0, stages = 0, across = 1, bands = 1, blocks = 0, registers = 0;
  auto parseField = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (key == "tile")
      return parseSizes(parser, tile);
    if (key == "micro")
      return parseSizes(parser, micro);
    if (key == "split")
      return parser.parseInteger(split);
    if (key == "stages")
      return parser.parseInteger(stages);
    if (key == "across")
      return parser.parseInteger(across);
    if (key == "bands")
      return parser.parseInteger(bands);
    if (key == "blocks")
      return parser.parseInteger(blocks);
    if (key == "registers")
      return parser.parseInteger(registers);
    if (key == "strategy")
      return parseCase<Strategy>(parser, symbolizeStrategy, "online or standard", strategy);
    if (key == "rows")
      return parseCase<RowKind>(parser, symbolizeRowKind, "queries or heads", rows);
    if (key == "queries")
      return parseCase<Placement>(parser, symbolizePlacement, "shared or registers", queries);
    if (key == "values")
      return parseCase<ValueCopy>(parser, symbolizeValueCopy, "ahead, late or instead", values);
    if (key == "reference")
      return parseCase<Reference>(parser, symbolizeReference, "exact or optimistic", reference);
    return parser.emitError(loc, "expected tile, micro, strategy, rows, split, stages, across, "
                                 "bands, blocks, registers, queries, values or reference, got '")
           << key << "'";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseField))
    return {};
  return parser.getChecked<ScheduleAttr>(parser.getCurrentLocation(), parser.getContext(), tile,
                                         micro, strategy, rows, split, stages, across, bands,
                                         blocks, registers, queries, values, reference);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<tile = [" << getTile() << "], micro = [" << getMicro()
          << "], strategy = " << stringifyStrategy(getStrategy());
  if (getRows() != RowKind::Queries)
    printer << ", rows = " << stringifyRowKind(getRows());
  if (getSplit() != 0)
    printer << ", split = " << getSplit();
  if (getStages() != 0)
    printer << ", stages = " << getStages();
  if (getAcross() != 1)
    printer << ", across = " << getAcross();
  if (getBands() != 1)
    printer << ", bands = " << getBands();
  if (getBlocks() != 0)
    printer << ", blocks = " << getBlocks();
  if (getRegisters() != 0)
    printer << ", registers = " << getRegisters();
  if (getQueries() != Placement::Shared)
    printer << ", queries = " << stringifyPlacement(getQueries());
  if (getValues() != ValueCopy::Ahead)
    printer << ", values = " << stringifyValueCopy(getValues());
  if (getReference() != Reference::Exact)
    printer << ", reference = " << stringifyReference(getReference());
  printer << ">";
}

LogicalResult ScheduleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                   llvm::ArrayRef<int64_t> tile, llvm::ArrayRef<int64_t> micro,
                                   Strategy strategy, RowKind rows, int64_t split, int64_t stages,
                                   int64_t across, int64_t bands, int64_t blocks, int64_t registers,
                                   Placement, ValueCopy values, Reference reference) {
  for (auto [name, sizes] : {std::pair("tile", tile), std::pair("micro", micro)})
    if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1)
      return emitError() << "(H1) expected two positive sizes for " << name << ", got [" << sizes
                         << "]";
  if (tile[0] % micro[0] != 0)
    return emitError() << "(H2) expected tile rows that are a multiple of the " << micro[0]
                       << " micro rows, got " << tile[0];
  if (split < 0 || split % tile[1] != 0)
    return emitError() << "(H3) expected a split that is 0 or a positive multiple of the "
                       << tile[1] << " tile columns, got " << split;
  if (strategy == Strategy::Standard &&
      (rows != RowKind::Queries || split != 0 || reference != Reference::Exact))
    return emitError() << "(H4) expected rows of queries, no split and an exact reference with the "
                          "standard strategy";
  if (stages < 0 || blocks < 0 || registers < 0 || across < 1)
    return emitError() << "(H5) expected stages, blocks and registers of at least 0 and across of "
                          "at least 1, got "
                       << stages << ", " << blocks << ", " << registers << " and " << across;
  if (values == ValueCopy::Instead && stages > 1)
    return emitError() << "(H6) expected one stage with values instead of keys, got " << stages;
  if (bands < 1 || tile[1] % bands != 0)
    return emitError() << "(H7) expected a positive number of bands that divides the " << tile[1]
                       << " tile columns, got " << bands;
  if (bands > 1 && (strategy == Strategy::Standard || reference != Reference::Exact))
    return emitError() << "(H7) expected the online strategy and an exact reference with " << bands
                       << " bands";
  return success();
}
