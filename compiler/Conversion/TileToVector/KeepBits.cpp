//===- KeepBits.cpp - what a mask keeps of a tile, as bits ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/KeepBits.h"
#include "compiler/Conversion/TileToVector/Evaluator.h"

using namespace mlir;
using namespace flashc;

ActiveRows flashc::emitKeepBits(Context &c, Value keep) {
  Buffer buffer = c.allocateBits(keep.getType());
  Index x(c.b, c.loc);
  Type word = c.b.getIntegerType(c.lanes);
  Value none = arith::ConstantOp::create(c.b, c.loc, c.b.getIntegerAttr(word, 0));
  Value rows = c.rowsOf(keep);
  int64_t columns = tileColumns(keep);

  auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), rows, x.constant(1),
                                 ValueRange{rows, x.constant(0)});
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    Index y(c.b, c.loc);
    Value row = loop.getInductionVar(), any = none;
    for (int64_t column = 0; column < buffer.columns; column += c.lanes) {
      Value bits = Evaluator(c, row, y.constant(column), c.lanes).value(keep);
      Value whole = vector::BitCastOp::create(c.b, c.loc, VectorType::get({1}, word), bits);
      Value value = vector::ExtractOp::create(c.b, c.loc, whole, ArrayRef<int64_t>{0});
      if (int64_t left = columns - column; left < c.lanes) // padding is no part of the tile
        value = arith::AndIOp::create(
            c.b, c.loc, value,
            arith::ConstantOp::create(c.b, c.loc, c.b.getIntegerAttr(word, (1 << left) - 1)));
      memref::StoreOp::create(c.b, c.loc, value, buffer.memory,
                              ValueRange{row, y.constant(column / c.lanes)});
      any = arith::OrIOp::create(c.b, c.loc, any, value);
    }
    Value keeps = arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::ne, any, none);
    Value first = loop.getRegionIterArgs()[0], end = loop.getRegionIterArgs()[1];
    scf::YieldOp::create(
        c.b, c.loc,
        ValueRange{y.select(keeps, y.min(first, row), first), y.select(keeps, y.add(row, 1), end)});
  }
  c.buffers[keep] = buffer;
  return {x.roundDown(loop.getResult(0), c.microRows),
          x.min(x.roundUp(loop.getResult(1), c.microRows), rows), tileRows(keep)};
}

Value flashc::loadBits(Context &c, const Buffer &buffer, Value row, Value column, int64_t width) {
  Index x(c.b, c.loc);
  Type word = c.b.getIntegerType(c.lanes);
  Value bits =
      memref::LoadOp::create(c.b, c.loc, buffer.memory, ValueRange{row, x.div(column, c.lanes)});
  if (width == 1) {
    Value place = arith::IndexCastOp::create(c.b, c.loc, word, x.rem(column, x.constant(c.lanes)));
    Value shifted = arith::ShRUIOp::create(c.b, c.loc, bits, place);
    return arith::TruncIOp::create(c.b, c.loc, c.b.getI1Type(), shifted);
  }
  Value whole = vector::BroadcastOp::create(c.b, c.loc, VectorType::get({1}, word), bits);
  return vector::BitCastOp::create(c.b, c.loc, c.vectorOf(c.b.getI1Type()), whole);
}
