//===- Pairs.cpp - bf16 operands of dots as pairs -------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Pairs.h"
#include "compiler/Conversion/TileToVector/Shuffles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace flashc;

namespace {

class PairLoader {
public:
  PairLoader(Context &c, const Source &source, const Buffer &buffer)
      : c(c), source(source), buffer(buffer),
        shape(cast<MemRefType>(buffer.memory.getType()).getShape()) {}

  void emit() {
    if (buffer.format == Format::LeftPairs)
      emitLeft();
    else if (buffer.isTransposed)
      emitTransposed();
    else
      emitInterleaved();
  }

private:
  Value constant(int64_t value) { return Index(c.b, c.loc).constant(value); }

  /// The end of the columns that vectors of `width` cover, 0 where columns are not adjacent.
  Value vectorEnd(Value valid, int64_t width) {
    Index x(c.b, c.loc);
    return x.select(source.place.columnsAreAdjacent, x.roundDown(valid, width), x.constant(0));
  }

  Value loadPairs(Value row, Value column) {
    Value halves = source.vector(c, row, column, 2 * c.lanes);
    return vector::BitCastOp::create(c.b, c.loc, c.vectorOf(c.b.getI32Type()), halves);
  }

  void store(Value pairs, Value row, Value column) {
    vector::StoreOp::create(c.b, c.loc, pairs, buffer.memory, ValueRange{row, column});
  }

  /// Puts one element at its half; a null value is 0.
  void put(Value value, Value row, Value column) {
    Index x(c.b, c.loc);
    Type i16 = c.b.getI16Type();
    Value bits = value ? Value(arith::BitcastOp::create(c.b, c.loc, i16, value))
                       : Value(arith::ConstantOp::create(c.b, c.loc, c.b.getI16IntegerAttr(0)));
    Value depth = buffer.isTransposed ? column : row, other = buffer.isTransposed ? row : column;
    SmallVector<Value> at = {row, column};
    if (buffer.format == Format::RightPairs)
      at = {x.div(depth, 2), x.add(x.mul(other, 2), x.rem(depth, x.constant(2)))};
    memref::StoreOp::create(c.b, c.loc, bits, buffer.halves, at);
  }

  void putScalars(Value row, Value from, Value to) {
    emitLoop(c, from, to, 1,
             [&](Value column) { put(source.scalar(c, row, column), row, column); });
  }

  void putZeros(Value row, Value from, Value to) {
    emitLoop(c, from, to, 1, [&](Value column) { put(Value(), row, column); });
  }

  void emitLeft() {
    Value width = constant(shape[1] * 2);
    emitLoop(c, constant(0), source.valid[0], 1, [&](Value row) {
      Value end = vectorEnd(source.valid[1], 2 * c.lanes);
      emitLoop(c, constant(0), end, 2 * c.lanes, [&](Value column) {
        store(loadPairs(row, column), row, Index(c.b, c.loc).div(column, 2));
      });
      putScalars(row, end, source.valid[1]);
      putZeros(row, source.valid[1], width);
    });
    emitLoop(c, source.valid[0], constant(source.rows), 1,
             [&](Value row) { putZeros(row, constant(0), width); });
  }

  /// A tile (n, k) to pairs [k / 2][n]: square blocks of pairs go through registers.
  void emitTransposed() {
    Index x(c.b, c.loc);
    int64_t wholeColumns = source.columns / (2 * c.lanes) * (2 * c.lanes);
    Value valid = source.valid[0], depth = constant(shape[0] * 2);
    Value covered = source.isWhole ? x.roundDown(valid, c.lanes) : x.roundUp(valid, c.lanes);
    Value rows = x.select(source.place.columnsAreAdjacent, covered, x.constant(0));
    auto finishRow = [&](Value row, int64_t from) {
      putScalars(row, constant(from), source.valid[1]);
      putZeros(row, source.valid[1], depth);
    };
    bool hasTail = wholeColumns != shape[0] * 2;
    emitLoop(c, constant(0), rows, c.lanes, [&](Value row) {
      emitLoop(c, constant(0), constant(wholeColumns), 2 * c.lanes, [&](Value column) {
        Index y(c.b, c.loc);
        SmallVector<Value> block;
        for (int64_t lane = 0; lane < c.lanes; ++lane)
          block.push_back(loadPairsOrZero(y.add(row, lane), column));
        Value pair = y.div(column, 2);
        for (auto [lane, vector] : llvm::enumerate(emitTranspose(c, block)))
          store(vector, y.add(pair, lane), row);
      });
      Index y(c.b, c.loc);
      if (hasTail)
        emitLoop(c, row, y.min(y.add(row, c.lanes), valid), 1,
                 [&](Value r) { finishRow(r, wholeColumns); });
    });
    emitLoop(c, rows, valid, 1, [&](Value row) { finishRow(row, 0); });
    emitLoop(c, hasTail ? valid : x.max(rows, valid), constant(shape[1]), 1,
             [&](Value row) { putZeros(row, constant(0), depth); });
  }

  /// Pairs of a row that may lie behind the valid ones, of which there is one.
  Value loadPairsOrZero(Value row, Value column) {
    if (source.isWhole)
      return loadPairs(row, column);
    Index x(c.b, c.loc);
    Value zero = arith::ConstantOp::create(c.b, c.loc,
                                           DenseElementsAttr::get(c.vectorOf(c.b.getI32Type()), 0));
    Value pairs = loadPairs(x.min(row, x.sub(source.valid[0], 1)), column);
    return arith::SelectOp::create(c.b, c.loc, x.lt(row, source.valid[0]), pairs, zero);
  }

  /// A tile (k, n) to pairs [k / 2][n]: two rows are interleaved.
  void emitInterleaved() {
    Value wholeRows = vectorEnd(source.valid[0], 2), width = constant(shape[1]);
    emitLoop(c, constant(0), wholeRows, 2, [&](Value row) {
      Value end = Index(c.b, c.loc).roundDown(source.valid[1], c.lanes);
      // A cache line of each row at a time, and what is left by halves.
      Value wide =
          source.columns % (2 * c.lanes) == 0 ? end : Index(c.b, c.loc).roundDown(end, 2 * c.lanes);
      emitLoop(c, constant(0), wide, 2 * c.lanes,
               [&](Value column) { interleave(row, column, 2 * c.lanes); });
      emitLoop(c, wide, end, c.lanes, [&](Value column) { interleave(row, column, c.lanes); });
      for (Value r : {row, Index(c.b, c.loc).add(row, 1)}) {
        putScalars(r, end, source.valid[1]);
        putZeros(r, source.valid[1], width);
      }
    });
    emitLoop(c, wholeRows, source.valid[0], 1, [&](Value row) {
      putScalars(row, constant(0), source.valid[1]);
      putZeros(row, source.valid[1], width);
    });
    emitLoop(c, source.valid[0], constant(shape[0] * 2), 1,
             [&](Value row) { putZeros(row, constant(0), width); });
  }

  /// Columns [column, column + width) of two rows, a vector or two of pairs.
  void interleave(Value row, Value column, int64_t width) {
    Index x(c.b, c.loc);
    Value low = source.vector(c, row, column, width);
    Value high = source.vector(c, x.add(row, 1), column, width);
    auto type = VectorType::get({2 * c.lanes}, source.element);
    for (int64_t first = 0; first < width; first += c.lanes) {
      SmallVector<int64_t> mask;
      for (int64_t lane = first; lane < first + c.lanes; ++lane) {
        mask.push_back(lane);
        mask.push_back(width + lane);
      }
      Value halves = vector::ShuffleOp::create(c.b, c.loc, type, low, high, mask);
      store(vector::BitCastOp::create(c.b, c.loc, c.vectorOf(c.b.getI32Type()), halves),
            x.div(row, 2), x.add(column, first));
    }
  }

  Context &c;
  const Source &source;
  const Buffer &buffer;
  ArrayRef<int64_t> shape;
};

/// A half of each pair as f32: a bf16 is the upper half of one.
Value halfAsF32(Context &c, Value pairs, Value isHigh) {
  Type type = pairs.getType();
  auto constant = [&](int32_t value) {
    TypedAttr attribute = c.b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(c.b, c.loc, attribute);
  };
  Value low = arith::ShLIOp::create(c.b, c.loc, pairs, constant(16));
  Value high = arith::AndIOp::create(c.b, c.loc, pairs, constant(static_cast<int32_t>(0xffff0000)));
  Value bits = arith::SelectOp::create(c.b, c.loc, isHigh, high, low);
  Type f32 = c.b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(type))
    f32 = vector.clone(f32);
  return arith::BitcastOp::create(c.b, c.loc, f32, bits);
}

Value isOdd(Context &c, Value k) {
  Index x(c.b, c.loc);
  return x.equal(x.rem(k, x.constant(2)), x.constant(1));
}

} // namespace

void flashc::emitPairLoad(Context &c, const Source &source, const Buffer &buffer) {
  PairLoader(c, source, buffer).emit();
}

Value flashc::loadHalves(Context &c, const Buffer &buffer, Value row, Value column, bool high) {
  Value pairs = vector::LoadOp::create(c.b, c.loc, c.vectorOf(c.b.getI32Type()), buffer.memory,
                                       ValueRange{row, column});
  return halfAsF32(c, pairs, arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(high)));
}

Value flashc::loadLeft(Context &c, const Buffer &buffer, Value row, Value k) {
  Value pair = memref::LoadOp::create(c.b, c.loc, buffer.memory,
                                      ValueRange{row, Index(c.b, c.loc).div(k, 2)});
  return halfAsF32(c, pair, isOdd(c, k));
}

Value flashc::loadRight(Context &c, const Buffer &buffer, Value k, Value column) {
  Value pairs = vector::LoadOp::create(c.b, c.loc, c.vectorOf(c.b.getI32Type()), buffer.memory,
                                       ValueRange{Index(c.b, c.loc).div(k, 2), column});
  return halfAsF32(c, pairs, isOdd(c, k));
}

/// What `value`, of bf16 as f32, was rounded from, or itself.
static Value beforeRounding(Value value) {
  auto wide = value.getDefiningOp<arith::ExtFOp>();
  auto rounded = wide ? wide.getIn().getDefiningOp<arith::TruncFOp>() : arith::TruncFOp();
  return rounded ? rounded.getIn() : value;
}

void flashc::storeLeft(Context &c, const Buffer &buffer, Value row, Value column,
                       ValueRange values) {
  auto type = VectorType::get({c.lanes * static_cast<int64_t>(values.size())}, c.b.getBF16Type());
  Value halves;
  if (values.size() ==
      2) // one instruction, and a whole cache line, which tile loads can be served from early
    halves = LLVM::CallIntrinsicOp::create(
                 c.b, c.loc, type, c.b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                 ValueRange{beforeRounding(values[1]), beforeRounding(values[0])})
                 .getResult(0);
  else
    halves = arith::TruncFOp::create(c.b, c.loc, type, values[0]);
  auto word = VectorType::get({type.getDimSize(0) / 2}, c.b.getI32Type());
  Value pairs = vector::BitCastOp::create(c.b, c.loc, word, halves);
  vector::StoreOp::create(c.b, c.loc, pairs, buffer.memory,
                          ValueRange{row, Index(c.b, c.loc).div(column, 2)});
}
