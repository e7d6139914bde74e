//===- Store.cpp - a thread's stores --------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"

using namespace mlir;
using namespace flashc;

static ThreadTile storedTile(tile::StoreOp op) {
  return ThreadTile(cast<RankedTensorType>(op.getTile().getType()));
}

void Distributor::lowerStore(tile::StoreOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  ThreadTile tile(type);
  ThreadMemory memory = memoryOf(op.getDest());
  computeAll(op.getTile());
  bool hasChunks = tile.isMatrix && !tile.isLines && bytesOf(memory.elementType) == 2 &&
                   tile.columnBlocks % 4 == 0 && type.getDimSize(1) % 8 == 0;
  if (!hasChunks)
    return storeElements(op);
  SmallVector<Value> words;
  for (int64_t r = 0; r < tile.rows(); ++r)
    for (int64_t n = 0; n < tile.columnBlocks; ++n)
      words.push_back(packPair(op.getTile(), tile.elementOfRow(r, n), tile.elementOfRow(r, n) + 1));
  Value chunked = isChunked(memory, op.getDims()[1]);
  auto branch = scf::IfOp::create(b, t.loc, chunked, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  storeChunks(op, words);
  b.setInsertionPointToStart(branch.elseBlock());
  storeHalves(op, words);
}

Value Distributor::storeAddress(tile::StoreOp op, Value row, Value column) {
  SmallVector<Value> offsets;
  for (Value offset : op.getOffsets())
    offsets.push_back(scalar(offset));
  return addressOf(memoryOf(op.getDest()), elementIndices(offsets, op.getDims(), row, column));
}

void Distributor::storeElements(tile::StoreOp op) {
  ThreadTile tile = storedTile(op);
  Value rowStart = firstRow(tile), columnStart = tile.isMatrix ? firstColumn(tile) : Value();
  for (unsigned e = 0; e < tile.size(); ++e) {
    Value condition = isValid(tile, op.getValid(), e);
    if (!tile.isMatrix) // of the lanes that hold a row, the first stores it
      condition = t.both(condition, isFirstInRow(tile));
    Value row = t.indexAdd(rowStart, tile.rowOffset(e));
    Value column = tile.isMatrix ? t.indexAdd(columnStart, tile.columnOffset(e)) : Value();
    t.storeIf(condition, storeAddress(op, row, column), get(op.getTile(), e));
  }
}

void Distributor::storeChunks(tile::StoreOp op, ArrayRef<Value> words) {
  ThreadTile tile = storedTile(op);
  Value rowStart = firstRow(tile), columnStart = firstColumn(tile);
  // Four lanes hold 8 columns of a row, 2 each, in each of 4 blocks. They trade, so that each holds all 8
  // columns of one block and stores 16 bytes.
  Value lane = t.rem(t.threadId(), 4);
  Value isOdd =
      arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ne, t.bitAnd(lane, 1), t.constant(0));
  Value isHigh =
      arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ne, t.bitAnd(lane, 2), t.constant(0));
  for (int64_t r = 0; r < tile.rows(); ++r)
    for (int64_t n = 0; n < tile.columnBlocks; n += 4) {
      SmallVector<Value> w(words.slice(r * tile.columnBlocks + n, 4));
      // A transpose of 4 x 4 words in two rounds: first by pairs of lanes, then by pairs of pairs.
      for (int64_t k : {0, 2}) {
        Value sent = t.select(isOdd, w[k], w[k + 1]);
        Value got = t.shuffleXor(sent, 1);
        w[k] = t.select(isOdd, got, w[k]);
        w[k + 1] = t.select(isOdd, w[k + 1], got);
      }
      for (int64_t k : {0, 1}) {
        Value sent = t.select(isHigh, w[k], w[k + 2]);
        Value got = t.shuffleXor(sent, 2);
        w[k] = t.select(isHigh, got, w[k]);
        w[k + 2] = t.select(isHigh, w[k + 2], got);
      }
      Value row = t.indexAdd(rowStart, r * 8);
      // The lane's first column has 2 for each lane; it stores block n + lane, of 8.
      Value lane8 = arith::IndexCastUIOp::create(b, t.loc, t.index, t.mul(lane, 6));
      Value column = t.indexAdd(t.indexAdd(columnStart, lane8), n * 8);
      Value condition = t.both(t.indexLess(row, scalar(op.getValid()[0])),
                               t.indexLess(column, scalar(op.getValid()[1])));
      t.storeChunkIf(condition, storeAddress(op, row, column), w);
    }
}

void Distributor::storeHalves(tile::StoreOp op, ValueRange words) {
  ThreadTile tile = storedTile(op);
  Type element = memoryOf(op.getDest()).elementType;
  // A turn per row, to which the words of the next are handed on: the code of one row is enough.
  auto loop = scf::ForOp::create(b, t.loc, t.indexConstant(0), t.indexConstant(tile.rows()),
                                 t.indexConstant(1), words);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  t.keepRolled();
  ThreadBuilder::RareScope rare(t); // addresses of columns are not kept from turn to turn
  SmallVector<Value> carried(loop.getRegionIterArgs());
  Value row = t.indexAdd(firstRow(tile), t.indexMul(loop.getInductionVar(), t.indexConstant(8)));
  Value hasRow = t.indexLess(row, scalar(op.getValid()[0])), columnStart = firstColumn(tile);
  for (int64_t n = 0; n < tile.columnBlocks; ++n)
    for (int64_t i = 0; i < 2; ++i) {
      Value column = t.indexAdd(columnStart, n * 8 + i);
      Value condition = t.both(hasRow, t.indexLess(column, scalar(op.getValid()[1])));
      Value half = i ? arith::ShRUIOp::create(b, t.loc, carried[n], t.constant(16)) : carried[n];
      half = arith::TruncIOp::create(b, t.loc, t.i16, half);
      t.storeIf(condition, storeAddress(op, row, column),
                arith::BitcastOp::create(b, t.loc, element, half));
    }
  std::rotate(carried.begin(), carried.begin() + tile.columnBlocks, carried.end());
  scf::YieldOp::create(b, t.loc, carried);
}
