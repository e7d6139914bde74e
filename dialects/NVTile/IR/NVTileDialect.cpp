//===- NVTileDialect.cpp - registration and verifiers of nvtile -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The labels, (F1) and so on, are those of the descriptions in NVTileOps.td.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SharedLayout.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc::nvtile;

#include "dialects/NVTile/IR/NVTileDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NVTile/IR/NVTileAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/NVTile/IR/NVTileTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/NVTile/IR/NVTileOps.cpp.inc"

void NVTileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NVTile/IR/NVTileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/NVTile/IR/NVTileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NVTile/IR/NVTileOps.cpp.inc"
      >();
}

LogicalResult FragmentAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                   int64_t rowWarps, int64_t columnWarps) {
  if (rowWarps >= 1 && columnWarps >= 1)
    return success();
  return emitError() << "(F1) expected positive numbers of warps, got [" << rowWarps << ", "
                     << columnWarps << "]";
}

LogicalResult OperandAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  int64_t rowWarps) {
  if (rowWarps >= 1)
    return success();
  return emitError() << "(F1) expected a positive number of warps, got " << rowWarps;
}

LogicalResult LinesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                int64_t rowWarps) {
  if (rowWarps >= 1)
    return success();
  return emitError() << "(F1) expected a positive number of warps, got " << rowWarps;
}

/// Stages, rows or columns of shared memory: so many that their product cannot wrap around.
static constexpr int64_t kMostSize = 65536;

static int64_t elementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

LogicalResult SharedType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t stages,
                                 int64_t rows, int64_t columns, Type elementType) {
  for (int64_t size : {stages, rows, columns})
    if (size < 1 || size > kMostSize)
      return emitError() << "(S1) expected sizes from 1 to " << kMostSize << ", got " << size;
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32())
    return emitError() << "(S1) expected elements of f16, bf16 or f32, got " << elementType;
  return success();
}

int64_t SharedType::getPaddedColumns() const { return flashc::paddedColumns(getColumns()); }

bool SharedType::isSwizzled() const {
  return flashc::isSwizzled(getColumns(), elementBytes(getElementType()));
}

int64_t SharedType::getRowBytes() const {
  return flashc::rowBytes(getColumns(), elementBytes(getElementType()));
}

LogicalResult AllocOp::verify() {
  if (!getOver())
    return success();
  auto below = getOver().getDefiningOp<AllocOp>();
  int64_t bytes = cast<SharedType>(getResult().getType()).getBytes();
  int64_t available = cast<SharedType>(getOver().getType()).getBytes();
  if (!below)
    return emitOpError("(A1) expected memory below that is an nvtile.alloc's, got another value");
  if (bytes > available)
    return emitOpError("(A1) expected at most ")
           << available << " bytes, those of the memory below, got " << bytes;
  return success();
}

LogicalResult CopyOp::verify() {
  auto memory = cast<MemRefType>(getSource().getType());
  auto dims = getDims();
  bool areDims = dims.size() == 2 && dims[0] != dims[1] &&
                 llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < memory.getRank(); });
  if (static_cast<int64_t>(getOffsets().size()) != memory.getRank() || !areDims ||
      getValid().size() != 2)
    return emitOpError() << "(P1) expected " << memory.getRank()
                         << " offsets, two distinct dims of " << memory
                         << " and two valid sizes, got " << getOffsets().size() << ", [" << dims
                         << "] and " << getValid().size();
  Type element = cast<SharedType>(getDest().getType()).getElementType();
  if (element != memory.getElementType())
    return emitOpError() << "(P2) expected one element type, got " << memory.getElementType()
                         << " in memory and " << element << " in the stage";
  if (bool(getTable()) != bool(getTableRow()) || (getTable() && dims[0] == 0))
    return emitOpError() << "(P3) expected a table with its row, and a first dim other than 0";
  return success();
}

LogicalResult ReadOp::verify() {
  auto source = cast<SharedType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getShape() != ArrayRef<int64_t>{source.getRows(), source.getColumns()} ||
      result.getElementType() != source.getElementType() ||
      !isa_and_nonnull<OperandAttr>(result.getEncoding()))
    return emitOpError() << "(R1) expected an operand tile in the shape of " << source << ", got "
                         << result;
  return success();
}

/// Columns that the warps along those of a fragment hold together.
static int64_t heldColumns(RankedTensorType tile) {
  int64_t warps = cast<FragmentAttr>(tile.getEncoding()).getColumnWarps();
  return flashc::paddedColumns(llvm::divideCeil(tile.getDimSize(1), warps)) * warps;
}

SharedType FoldOp::memoryFor(RankedTensorType source, RankedTensorType result) {
  int64_t rows = result.getDimSize(0), columns = source.getDimSize(0) / rows;
  if (source.getRank() == 2) {
    rows = source.getDimSize(0);
    columns = std::max(heldColumns(source), heldColumns(result));
  }
  return SharedType::get(source.getContext(), 1, rows, columns, source.getElementType());
}

LogicalResult FoldOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  auto from = dyn_cast_or_null<FragmentAttr>(source.getEncoding());
  auto to = dyn_cast_or_null<FragmentAttr>(result.getEncoding());
  bool areShapes = source.hasStaticShape() && result.hasStaticShape() && source.getRank() >= 1 &&
                   source.getRank() <= 2 && result.getRank() == source.getRank() &&
                   result.getDimSize(0) > 0 && source.getDimSize(0) % result.getDimSize(0) == 0 &&
                   source.getShape().drop_front() == result.getShape().drop_front();
  if (!from || !to || !areShapes || !source.getElementType().isF32() ||
      !result.getElementType().isF32() ||
      from.getRowWarps() != source.getDimSize(0) / result.getDimSize(0) * to.getRowWarps())
    return emitOpError() << "(Q1) expected fragments of f32, and of the result the rows and the "
                            "warps along them of a band, got "
                         << source << " and " << result;
  if (auto expected = memoryFor(source, result); getThrough().getType() != expected)
    return emitOpError() << "(Q2) expected memory of type " << expected << ", got "
                         << getThrough().getType();
  return success();
}

/// Rows, columns and element type of a register or shared tile.
static std::tuple<int64_t, int64_t, Type> describe(Type type) {
  if (auto shared = dyn_cast<SharedType>(type))
    return {shared.getRows(), shared.getColumns(), shared.getElementType()};
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 2)
    return {0, 0, Type()};
  return {tensor.getDimSize(0), tensor.getDimSize(1), tensor.getElementType()};
}

LogicalResult DotOp::verify() {
  auto [aRows, aColumns, aType] = describe(getA().getType());
  auto [bRows, bColumns, bType] = describe(getB().getType());
  auto [rows, columns, type] = describe(getResult().getType());
  if (getTransposeB())
    std::swap(bRows, bColumns);
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t bands = getBands();
  if (bands < 1 || rows % bands != 0 || (getTransposeB() ? bColumns : bRows) % bands != 0)
    return emitOpError() << "(D3) expected bands that divide the rows of b and of the result, got "
                         << bands << " for " << getB().getType() << " and " << result;
  (getTransposeB() ? bColumns : bRows) /= bands;
  bool areRows = aRows == rows || (getTransposeB() && aRows * bands == rows);
  // Of a b that holds columns of the result as rows, the first may do.
  bool areColumns = getTransposeB() && bands == 1 ? columns <= bColumns : columns == bColumns;
  if (!aType || aType != bType || !type || !type.isF32() || !areRows || aColumns != bRows ||
      !areColumns || !isa_and_nonnull<FragmentAttr>(result.getEncoding()))
    return emitOpError() << "(D1) expected agreeing shapes and one element type, and an f32 "
                            "fragment as result, got "
                         << getA().getType() << ", " << getB().getType() << " and " << result;
  if (bool(getAStage()) != isa<SharedType>(getA().getType()))
    return emitOpError() << "(D1) expected a stage for an a in shared memory, and only there";
  if (getInit() && getInit().getType() != result)
    return emitOpError() << "(D2) expected init of type " << result << ", got "
                         << getInit().getType();
  if (bool(getKeep()) != bool(getFinite()))
    return emitOpError() << "(D2) expected keep and finite together, got one of them";
  if (getKeep()) {
    auto keep = cast<RankedTensorType>(getKeep().getType());
    if (!keep.getElementType().isInteger(1) ||
        keep.getShape() != ArrayRef<int64_t>{aRows, aColumns})
      return emitOpError() << "(D2) expected keep of i1 in the shape of a, got " << keep;
  }
  return success();
}
