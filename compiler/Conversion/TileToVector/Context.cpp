//===- Context.cpp - the state of a kernel's lowering to vectors ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Context.h"

using namespace mlir;
using namespace flashc;

Buffer Context::allocate(Type type, bool isTransposed, bool isRow) {
  auto tile = cast<RankedTensorType>(type);
  Buffer buffer;
  buffer.isTransposed = isTransposed;
  buffer.isRow = isRow;
  buffer.rows = isRow ? 1 : tile.getDimSize(0);
  SmallVector<int64_t> shape = {buffer.rows};
  if (tile.getRank() == 2) {
    buffer.columns = isTransposed ? tile.getDimSize(1) : padded(tile.getDimSize(1));
    if (isTransposed)
      shape = {tile.getDimSize(1), padded(buffer.rows)};
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
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

Type flashc::carrierOf(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}
