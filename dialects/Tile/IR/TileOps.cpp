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
  int64_t kDim = getTransposeB() ? 1 : 0;
  if (a.getDimSize(1) != b.getDimSize(kDim) || c.getDimSize(0) != a.getDimSize(0) ||
      c.getDimSize(1) != b.getDimSize(1 - kDim))
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
