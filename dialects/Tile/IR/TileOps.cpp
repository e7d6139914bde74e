//===- TileOps.cpp - registration and verifiers of tile -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The labels, (L1) and so on, are those of the op descriptions in TileOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace flashc::tile;

#include "dialects/Tile/IR/TileDialect.cpp.inc"
#include "dialects/Tile/IR/TileEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/IR/TileOps.cpp.inc"
      >();
}

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static LogicalResult verifyAccess(Operation *op, RankedTensorType tile, MemRefType memory,
                                  size_t offsets, size_t valid, ArrayRef<int64_t> dims) {
  if (static_cast<int64_t>(offsets) != memory.getRank())
    return op->emitOpError() << "(L1) expected " << memory.getRank()
                             << " offsets, one per dimension of " << memory << ", got " << offsets;
  llvm::SmallDenseSet<int64_t> distinct(dims.begin(), dims.end());
  bool inRange = llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < memory.getRank(); });
  if (!inRange || distinct.size() != dims.size() ||
      static_cast<int64_t>(dims.size()) != tile.getRank() || valid != dims.size())
    return op->emitOpError() << "(L2) expected " << tile.getRank()
                             << " distinct dims of the memory and as many valid sizes, got dims ["
                             << dims << "] and " << valid << " valid sizes";
  if (tile.getElementType() != memory.getElementType())
    return op->emitOpError() << "(L3) expected one element type, got " << memory.getElementType()
                             << " in memory and " << tile.getElementType() << " in the tile";
  return success();
}

LogicalResult LoadOp::verify() {
  if (bool(getTable()) != bool(getTableRow()) ||
      (getTable() && !getDims().empty() && getDims()[0] == 0))
    return emitOpError() << "(L4) expected a table with its row, and a first dim other than 0";
  return verifyAccess(*this, tensorOf(getTile()), cast<MemRefType>(getSource().getType()),
                      getOffsets().size(), getValid().size(), getDims());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, tensorOf(getTile()), cast<MemRefType>(getDest().getType()),
                      getOffsets().size(), getValid().size(), getDims());
}

LogicalResult DotOp::verify() {
  RankedTensorType a = tensorOf(getA()), b = tensorOf(getB()), c = tensorOf(getResult());
  if (a.getRank() != 2 || b.getRank() != 2 || c.getRank() != 2)
    return emitOpError() << "(D1) expected tiles of rank 2";
  int64_t bands = getBands();
  if (bands < 1 || c.getDimSize(0) % bands != 0 || b.getDimSize(0) % bands != 0)
    return emitOpError() << "(D4) expected bands that divide the rows of b and of the result, got "
                         << bands << " for " << b << " and " << c;
  int64_t terms = b.getDimSize(getTransposeB() ? 1 : 0),
          columns = b.getDimSize(getTransposeB() ? 0 : 1);
  (getTransposeB() ? columns : terms) /= bands;
  bool areRows = c.getDimSize(0) == a.getDimSize(0) ||
                 (getTransposeB() && c.getDimSize(0) == bands * a.getDimSize(0));
  if (a.getDimSize(1) != terms || !areRows || c.getDimSize(1) != columns)
    return emitOpError() << "(D1) expected agreeing shapes, got " << a << ", " << b << " and " << c;
  if (a.getElementType() != b.getElementType() || !isa<FloatType>(a.getElementType()) ||
      !c.getElementType().isF32())
    return emitOpError() << "(D1) expected float inputs of one element type and an f32 result, got "
                         << a << ", " << b << " and " << c;
  if (getInit() && getInit().getType() != c)
    return emitOpError() << "(D2) expected init of type " << c << ", got " << getInit().getType();
  if (getKeep() && (!tensorOf(getKeep()).getElementType().isInteger(1) ||
                    tensorOf(getKeep()).getShape() != a.getShape()))
    return emitOpError() << "(D2) expected keep of i1 in the shape of a, got "
                         << getKeep().getType();
  if (!getKeep() && (getIdleRows() || getLoose()))
    return emitOpError() << "(D3) expected keep beside " << (getIdleRows() ? "idle_rows" : "loose")
                         << ", got none";
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getRank() != 2 || result.getRank() != 1 ||
      source.getDimSize(0) != result.getDimSize(0) || !source.getElementType().isF32() ||
      !result.getElementType().isF32())
    return emitOpError() << "(E1) expected (r, c) to (r) of f32, got " << source << " and "
                         << result;
  return success();
}

/// Whether the rows of `small` divide those of `large`, which is alike else.
static bool isBandOf(RankedTensorType small, RankedTensorType large) {
  return small.getRank() == large.getRank() && small.getElementType() == large.getElementType() &&
         small.getDimSize(0) > 0 && large.getDimSize(0) % small.getDimSize(0) == 0 &&
         small.getShape().drop_front() == large.getShape().drop_front();
}

LogicalResult FoldOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (!isBandOf(result, source) || !source.getElementType().isF32())
    return emitOpError() << "(Q1) expected a tile of f32 to one with rows that divide its own, got "
                         << source << " and " << result;
  return success();
}

LogicalResult RepeatOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (!isBandOf(source, result) || source.getRank() != 1)
    return emitOpError() << "(N1) expected a tile of rank 1 to one of the same element type with "
                            "rows that its own divide, got "
                         << source << " and " << result;
  return success();
}

LogicalResult AllOp::verify() {
  if (!tensorOf(getSource()).getElementType().isInteger(1))
    return emitOpError() << "(U1) expected a tile of i1, got " << getSource().getType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getRank() != 1 || result.getRank() != 2 ||
      source.getDimSize(0) != result.getDimSize(0) ||
      source.getElementType() != result.getElementType())
    return emitOpError() << "(B1) expected (r) to (r, c) of one element type, got " << source
                         << " and " << result;
  return success();
}

LogicalResult CoordsOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  if (!result.getElementType().isIndex() || static_cast<int64_t>(getDim()) < 0 ||
      static_cast<int64_t>(getDim()) >= result.getRank())
    return emitOpError() << "(C1) expected a tile of index with dimension " << getDim() << ", got "
                         << result;
  int64_t bands = getBands();
  if (bands < 1 || result.getDimSize(0) % bands != 0 || (bands > 1 && result.getRank() != 2))
    return emitOpError() << "(C2) expected bands that divide the rows of a tile of rank 2, got "
                         << bands << " for " << result;
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  RankedTensorType result = tensorOf(getResult());
  if (source.getRank() != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "(G1) expected " << source.getRank() << " indices, got "
                         << getIndices().size();
  for (Type type : getIndices().getTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!type.isIndex() &&
        !(tensor && tensor.getElementType().isIndex() && tensor.getShape() == result.getShape()))
      return emitOpError() << "(G1) expected an index or a tile of index of shape ["
                           << result.getShape() << "], got " << type;
  }
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "(G2) expected one element type, got " << source.getElementType()
                         << " and " << result.getElementType();
  return success();
}
