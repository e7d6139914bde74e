//===- Context.cpp - the state of a kernel's lowering to vectors ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Context.h"

using namespace mlir;
using namespace flashc;

Buffer Context::allocate(Type type, bool isTransposed, bool isBlock) {
  auto tile = cast<RankedTensorType>(type);
  Buffer buffer;
  buffer.isTransposed = isTransposed;
  buffer.isBlock = isBlock;
  buffer.rows = isBlock ? lanes : tile.getDimSize(0);
  // Rows are padded too: values of rank 1 are computed a vector of rows at a time.
  SmallVector<int64_t> shape = {padded(buffer.rows)};
  if (tile.getRank() == 2) {
    buffer.columns = isTransposed ? tile.getDimSize(1) : padded(tile.getDimSize(1));
    if (isTransposed)
      shape.insert(shape.begin(), tile.getDimSize(1));
    else
      shape.push_back(buffer.columns);
  }
  OpBuilder entry(scratchUser);
  auto memoryType = MemRefType::get(shape, b.getF32Type());
  Value offset = arith::ConstantIndexOp::create(entry, loc, scratchBytes);
  buffer.memory = memref::ViewOp::create(entry, loc, memoryType, scratch, offset, ValueRange{});
  scratchBytes += llvm::alignTo(memoryType.getNumElements() * sizeof(float), 64);
  return buffer;
}

Value Buffer::rowIn(Context &c, Value row) const {
  return isBlock ? Index(c.b, c.loc).rem(row, Index(c.b, c.loc).constant(c.lanes)) : row;
}

Value Context::rowsOf(Value tile) {
  if (Value rows = demand->lookup(tile))
    return scalars.lookup(rows);
  return Index(b, loc).constant(tileRows(tile));
}

Value Context::f32(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value Context::zeroVector() {
  auto type = vectorOf(b.getF32Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
}

bool flashc::isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !tile::isTile(op->getResult(0).getType()))
    return false;
  if (isa<tile::BroadcastOp, tile::CoordsOp, tile::GatherOp, tensor::SplatOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

Type flashc::carrierOf(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}
