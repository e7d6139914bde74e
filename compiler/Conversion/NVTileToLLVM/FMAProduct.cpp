//===- FMAProduct.cpp - products without tensor cores ---------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// f32 inputs are multiplied in f32, and so is bf16 where tensor cores do not know it. Both operands are read
// from shared memory, in a loop over the terms of the sums; a left operand in registers is written there first,
// to a place of its warp's own. Which terms count is known to threads as bits, one per term of each of their rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Target/SharedLayout.h"

using namespace mlir;
using namespace flashc;

/// Terms that an iteration takes: 16 bytes of f32.
static constexpr int64_t kTerms = 4;
static constexpr int64_t kWordBits = 32;

SmallVector<Value> Distributor::loadSharedFloats(Value address, int64_t count, Type element) {
  Type type = VectorType::get(count, element);
  Value vector = LLVM::LoadOp::create(b, t.loc, type, t.sharedPointer(address),
                                      count * element.getIntOrFloatBitWidth() / 8);
  SmallVector<Value> values;
  for (int64_t k = 0; k < count; ++k) {
    Value value = LLVM::ExtractElementOp::create(b, t.loc, vector, t.constant(k));
    values.push_back(element.isF32() ? value
                                     : Value(arith::ExtFOp::create(b, t.loc, t.f32, value)));
  }
  return values;
}

SmallVector<Value> Distributor::loadTerms(Value buffer, Value stage, Value row, Value column,
                                          int64_t count) {
  Type element = cast<nvtile::SharedType>(buffer.getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, perChunk = kChunkBytes / bytes;
  Value address = sharedAddress(buffer, stage, row, t.div(column, perChunk));
  address = t.add(address, t.mul(t.rem(column, perChunk), bytes));
  return loadSharedFloats(address, count, element);
}

SmallVector<Value> Distributor::rightPair(nvtile::DotOp op, Value stage, Value k, Value column) {
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  auto right = cast<nvtile::SharedType>(op.getB().getType());
  // Of a part that is not all there, what lies beyond is read from within, and not stored.
  int64_t columns = op.getTransposeB() ? right.getRows() : right.getPaddedColumns();
  if (tile.columnWarps * tile.warpColumns > columns)
    column = arith::MinSIOp::create(b, t.loc, column, t.constant(columns - 2));
  if (!op.getTransposeB())
    return loadTerms(op.getB(), stage, k, column, 2);
  return {loadTerms(op.getB(), stage, column, k, 1).front(),
          loadTerms(op.getB(), stage, t.add(column, 1), k, 1).front()};
}

Value Distributor::firstTerm(nvtile::DotOp op) {
  int64_t bands = op.getBands();
  if (bands == 1 || op.getTransposeB())
    return t.constant(0);
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  int64_t rows = cast<nvtile::SharedType>(op.getB().getType()).getRows();
  return t.mul(bandOf(tile, bands), rows / bands);
}

Value Distributor::spillLeft(nvtile::DotOp op) {
  auto type = cast<RankedTensorType>(op.getA().getType());
  ThreadTile tile(type);
  int64_t columns = type.getDimSize(1);
  int64_t columnWarps = ThreadTile(cast<RankedTensorType>(op.getResult().getType())).columnWarps;
  if (leftOffset < 0) {
    leftOffset = sharedBytes;
    leftPitch = columns * 4 + 16;
    sharedBytes += columnWarps * type.getDimSize(0) * leftPitch;
  }
  Value thread = t.threadId(), warp = t.div(thread, kWarpSize), lane = t.rem(thread, kWarpSize);
  // Each warp has its rows to itself: those of its part, in the copy of its columns.
  Value row = t.add(t.mul(warp, tile.warpRows), t.div(lane, 4));
  Value first = t.add(t.add(sharedSymbol(), leftOffset), t.mul(row, leftPitch));
  Value address = t.add(first, t.mul(t.rem(lane, 4), 8));
  bool isF32 = type.getElementType().isF32();
  t.syncWarp(); // all lanes have read what was there
  for (unsigned e = 0; e < tile.size(); ++e) {
    Value value = get(op.getA(), e);
    if (!isF32)
      value = arith::ExtFOp::create(b, t.loc, t.f32, value);
    LLVM::StoreOp::create(
        b, t.loc, value,
        t.sharedPointer(address, tile.rowOffset(e) * leftPitch + tile.columnOffset(e) * 4));
  }
  t.syncWarp();
  return first;
}

SmallVector<SmallVector<Value>> Distributor::keepBits(Value keep) {
  ThreadTile tile(cast<RankedTensorType>(keep.getType()));
  constexpr int64_t blocksPerWord = kWordBits / 8;
  Value firstColumn = t.mul(t.rem(t.threadId(), 4), 2);
  SmallVector<SmallVector<Value>> rows(tile.rows());
  for (auto [r, words] : llvm::enumerate(rows))
    for (int64_t from = 0; from < tile.columnBlocks; from += blocksPerWord) {
      Value word = t.constant(0);
      for (int64_t n = from; n < std::min(from + blocksPerWord, tile.columnBlocks); ++n)
        for (int64_t i = 0; i < 2; ++i) {
          Value bit = t.constant(static_cast<int32_t>(1u << ((n - from) * 8 + i)));
          Value kept = get(keep, tile.elementOfRow(r, n) + i);
          word = t.bitOr(word, t.select(kept, bit, t.constant(0)));
        }
      word = arith::ShLIOp::create(b, t.loc, word, firstColumn);
      for (int32_t mask : {1, 2}) // the four lanes that share a row
        word = t.bitOr(word, t.shuffleXor(word, mask));
      words.push_back(word);
    }
  return rows;
}

SmallVector<Value> Distributor::keptTerms(ArrayRef<Value> words, Value k, int64_t count) {
  Value bits = words.back();
  for (size_t n = words.size() - 1; n-- > 0;)
    bits = t.select(t.less(k, t.constant((n + 1) * kWordBits)), words[n], bits);
  bits = arith::ShRUIOp::create(b, t.loc, bits, t.rem(k, kWordBits));
  SmallVector<Value> kept;
  for (int64_t term = 0; term < count; ++term)
    kept.push_back(arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ne,
                                         t.bitAnd(bits, int64_t(1) << term), t.constant(0)));
  return kept;
}

void Distributor::computeFMAProduct(nvtile::DotOp op) {
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  auto right = cast<nvtile::SharedType>(op.getB().getType());
  auto leftType = dyn_cast<nvtile::SharedType>(op.getA().getType());
  Value spilled = leftType ? Value() : spillLeft(op);
  SmallVector<SmallVector<Value>> keep;
  if (op.getKeep())
    keep = keepBits(op.getKeep());
  SmallVector<Value> acc = initial(op);
  Value stage = scalar(op.getStage());
  Value aStage = op.getAStage() ? scalar(op.getAStage()) : Value();
  // The columns of scores are rows of b, those of the thread's band; else its terms are.
  int64_t bands = op.getBands();
  Value row0 =
      t.toI32(firstRow(tile, leftType ? tile.rowWarps * tile.warpRows / leftType.getRows() : 1));
  Value column0 = t.toI32(firstColumn(tile, op.getTransposeB() ? bands : 1));
  int64_t terms = op.getTransposeB() ? right.getPaddedColumns() : right.getRows() / bands;
  Value term0 = firstTerm(op);

  auto loop = scf::ForOp::create(b, t.loc, t.indexConstant(0), t.indexConstant(terms),
                                 t.indexConstant(kTerms), acc);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = t.toI32(loop.getInductionVar());
    SmallVector<SmallVector<Value>> a, kept; // per row, the terms
    for (ArrayRef<Value> words : keep)
      kept.push_back(keptTerms(words, k, kTerms));
    for (int64_t r = 0; r < tile.rows(); ++r) {
      int64_t offset = r * 8;
      if (leftType) {
        a.push_back(loadTerms(op.getA(), aStage, t.add(row0, offset), k, kTerms));
        continue;
      }
      Value address = t.add(t.add(spilled, offset * leftPitch), t.mul(k, 4));
      a.push_back(loadSharedFloats(address, kTerms, t.f32));
    }
    SmallVector<Value> sums(loop.getRegionIterArgs());
    auto accumulate = [&](unsigned e, int64_t r, int64_t term, Value y) {
      Value sum = math::FmaOp::create(b, t.loc, a[r][term], y, sums[e]);
      sums[e] = keep.empty() ? sum : t.select(kept[r][term], sum, sums[e]);
    };
    for (int64_t n = 0; n < tile.columnBlocks; ++n) {
      SmallVector<SmallVector<Value>> y; // per column of two, the terms
      if (op.getTransposeB()) {
        for (int64_t j = 0; j < 2; ++j)
          y.push_back(loadTerms(op.getB(), stage, t.add(column0, n * 8 + j), k, kTerms));
      } else {
        y.resize(2);
        Value column = t.add(column0, n * 8);
        for (int64_t term = 0; term < kTerms; ++term) {
          SmallVector<Value> pair = rightPair(op, stage, t.add(t.add(term0, k), term), column);
          y[0].push_back(pair[0]);
          y[1].push_back(pair[1]);
        }
      }
      for (int64_t term = 0; term < kTerms; ++term)
        for (int64_t r = 0; r < tile.rows(); ++r)
          for (int64_t j = 0; j < 2; ++j)
            accumulate(tile.elementOfRow(r, n) + j, r, term, y[j][term]);
    }
    scf::YieldOp::create(b, t.loc, sums);
  }
  defineAll(op.getResult(), loop.getResults());
}
