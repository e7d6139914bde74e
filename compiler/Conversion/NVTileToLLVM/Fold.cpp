//===- Fold.cpp - bands of rows reduced through shared memory -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"

using namespace mlir;
using namespace flashc;

void Distributor::lowerFold(nvtile::FoldOp op) {
  ThreadTile from(cast<RankedTensorType>(op.getSource().getType()));
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ThreadTile to(type);
  auto memory = cast<nvtile::SharedType>(op.getThrough().getType());
  int64_t bands = from.rowWarps / to.rowWarps, pitch = memory.getRowBytes();
  constexpr int64_t kBytes = 4;
  Value base = t.add(sharedSymbol(), bufferOffsets.lookup(op.getThrough()));
  auto place = [&](Value row, Value column) {
    return t.add(t.add(base, t.mul(row, pitch)), t.mul(column, kBytes));
  };
  // How many neighbouring elements a thread has, and where the first of them lies.
  int64_t width = from.isMatrix ? 2 : 1;
  auto offset = [&](const ThreadTile &tile, unsigned e) {
    return tile.rowOffset(e) * pitch + (tile.isMatrix ? tile.columnOffset(e) * kBytes : 0);
  };

  computeProductsBefore(op);
  computeAll(op.getSource());
  storeFetched();
  {
    OpBuilder::InsertionGuard guard(b);
    Value own;
    if (from.isMatrix) {
      own = place(t.toI32(firstRow(from)), t.toI32(firstColumn(from)));
    } else {
      // A row's lanes hold copies, as do the warps along the columns of other tiles.
      own = place(t.toI32(firstRow(from, bands)), bandOf(from, bands));
      Value isFirst =
          t.both(isFirstInRow(from), t.less(t.threadId(), t.constant(from.rowWarps * kWarpSize)));
      auto branch = scf::IfOp::create(b, t.loc, isFirst, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    for (unsigned e = 0; e < from.size(); e += width) {
      Value value = get(op.getSource(), e);
      if (width == 2) {
        Value pair = LLVM::PoisonOp::create(b, t.loc, VectorType::get(2, t.f32));
        pair = LLVM::InsertElementOp::create(b, t.loc, pair, value, t.constant(0));
        value = LLVM::InsertElementOp::create(b, t.loc, pair, get(op.getSource(), e + 1),
                                              t.constant(1));
      }
      LLVM::StoreOp::create(b, t.loc, value, t.sharedPointer(own, offset(from, e)), width * kBytes);
    }
  }
  t.barrier();

  // Of rows, the bands lie side by side; of matrices, one above the other.
  Value first =
      place(t.toI32(firstRow(to)), to.isMatrix ? t.toI32(firstColumn(to)) : t.constant(0));
  int64_t step = to.isMatrix ? type.getDimSize(0) * pitch : kBytes;
  for (unsigned e = 0; e < to.size(); e += width) {
    SmallVector<Value> sums;
    for (int64_t band = 0; band < bands; ++band) {
      Value address = t.add(first, offset(to, e) + band * step);
      SmallVector<Value> values = loadSharedFloats(address, width, t.f32);
      if (sums.empty())
        sums = values;
      else
        for (auto [sum, value] : llvm::zip(sums, values))
          sum = t.reduce(op.getKind(), sum, value);
    }
    for (auto [n, sum] : llvm::enumerate(sums))
      define(op.getResult(), e + n, sum);
  }
}
