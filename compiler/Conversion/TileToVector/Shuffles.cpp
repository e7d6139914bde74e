//===- Shuffles.cpp - transposing blocks of vectors -----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Shuffles.h"

using namespace mlir;
using namespace flashc;

/// From vectors a and b: lanes whose bit s is 0 of both (`low`), or those whose bit is 1.
static Value exchange(Context &c, Value a, Value b, int64_t s, bool low) {
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < c.lanes; ++lane) {
    bool fromB = lane & s;
    int64_t source = low ? lane & ~s : lane | s;
    mask.push_back(fromB ? c.lanes + source : source);
  }
  return vector::ShuffleOp::create(c.b, c.loc, a, b, mask);
}

SmallVector<Value> flashc::emitZip(Context &c, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return {vectors[0]};
  SmallVector<Value> even, odd, result;
  for (auto [index, vector] : llvm::enumerate(vectors))
    (index % 2 ? odd : even).push_back(vector);
  for (auto [a, b] : llvm::zip(emitZip(c, even), emitZip(c, odd)))
    for (int64_t first : {int64_t(0), c.lanes / 2}) {
      SmallVector<int64_t> mask;
      for (int64_t lane = first; lane < first + c.lanes / 2; ++lane) {
        mask.push_back(lane);
        mask.push_back(c.lanes + lane);
      }
      result.push_back(vector::ShuffleOp::create(c.b, c.loc, a, b, mask));
    }
  return result;
}

SmallVector<Value> flashc::emitTranspose(Context &c, ArrayRef<Value> block) {
  SmallVector<Value> rows(block);
  for (int64_t s = c.lanes / 2; s > 0; s /= 2)
    for (int64_t i = 0; i < c.lanes; ++i)
      if (!(i & s)) {
        Value a = rows[i], b = rows[i + s];
        rows[i] = exchange(c, a, b, s, true);
        rows[i + s] = exchange(c, a, b, s, false);
      }
  return rows;
}

Value flashc::emitReduceLanes(Context &c, ArrayRef<Value> block,
                              llvm::function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> rows(block);
  for (int64_t s = c.lanes / 2; s > 0; s /= 2) {
    for (int64_t i = 0; i < s; ++i)
      rows[i] = combine(exchange(c, rows[i], rows[i + s], s, true),
                        exchange(c, rows[i], rows[i + s], s, false));
  }
  return rows[0];
}
