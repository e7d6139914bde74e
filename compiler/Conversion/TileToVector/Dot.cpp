//===- Dot.cpp - tile.dot as a register micro-kernel ----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Dot.h"

using namespace mlir;
using namespace flashc;

namespace {

class DotEmitter {
public:
  DotEmitter(Context &c, tile::DotOp op, const Buffer &result)
      : c(c), op(op), a(c.buffers.lookup(op.getA())), b(c.buffers.lookup(op.getB())),
        result(result), depth(tileColumns(op.getA())) {}

  void emit() {
    Value rows = c.rowsOf(op.getResult());
    Value finite = c.allFinite.lookup(op.getB());
    if (!op.getKeep() || !finite)
      return op.getKeep() ? emitSelecting(rows) : emitBlocks(rows);
    auto branch = scf::IfOp::create(c.b, c.loc, finite, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(branch.thenBlock());
    emitBlocks(rows);
    c.b.setInsertionPointToStart(branch.elseBlock());
    emitSelecting(rows);
  }

private:
  Value loadVector(const Buffer &buffer, Value row, Value column) {
    return vector::LoadOp::create(c.b, c.loc, c.vectorOf(c.b.getF32Type()), buffer.memory,
                                  ValueRange{row, column});
  }

  Value initAt(Value row, Value column) {
    if (!op.getInit())
      return c.zeroVector();
    return Evaluator(c, row, column, c.lanes).matrix(op.getInit());
  }

  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(c.b, c.loc, c.vectorOf(c.b.getF32Type()), scalar);
  }

  /// The result in blocks: columns outside, so that a block of b's columns stays in cache.
  void emitBlocks(Value rows) {
    Index x(c.b, c.loc);
    int64_t columns = c.padded(result.columns), whole = columns / c.microColumns * c.microColumns;
    Value blockRows = x.roundUp(rows, c.microRows);
    if (whole > 0) {
      auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(whole),
                                     x.constant(c.microColumns));
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(loop.getBody());
      emitColumnBlock(blockRows, loop.getInductionVar(), c.microColumns / c.lanes);
    }
    if (columns > whole)
      emitColumnBlock(blockRows, x.constant(whole), (columns - whole) / c.lanes);
  }

  void emitColumnBlock(Value rows, Value column, int64_t vectors) {
    Index x(c.b, c.loc);
    auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), rows, x.constant(c.microRows));
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    Index y(c.b, c.loc);

    SmallVector<Value> sums;
    for (int64_t r = 0; r < c.microRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(initAt(y.add(row, r), y.add(column, v * c.lanes)));
    auto sum = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(depth), y.constant(1),
                                  sums);
    {
      OpBuilder::InsertionGuard inner(c.b);
      c.b.setInsertionPointToStart(sum.getBody());
      Index z(c.b, c.loc);
      Value k = sum.getInductionVar();
      SmallVector<Value> right, next;
      for (int64_t v = 0; v < vectors; ++v)
        right.push_back(loadVector(b, k, z.add(column, v * c.lanes)));
      for (int64_t r = 0; r < c.microRows; ++r) {
        Value left = broadcast(
            memref::LoadOp::create(c.b, c.loc, a.memory, ValueRange{z.add(row, r), k}));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(math::FmaOp::create(c.b, c.loc, left, right[v],
                                             sum.getRegionIterArgs()[r * vectors + v]));
      }
      scf::YieldOp::create(c.b, c.loc, next);
    }
    for (int64_t r = 0; r < c.microRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        vector::StoreOp::create(c.b, c.loc, sum.getResult(r * vectors + v), result.memory,
                                ValueRange{y.add(row, r), y.add(column, v * c.lanes)});
  }

  /// One row and vector at a time, each term selected by keep.
  void emitSelecting(Value rows) {
    Index x(c.b, c.loc);
    auto rowLoop = scf::ForOp::create(c.b, c.loc, x.constant(0), rows, x.constant(1));
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(rowLoop.getBody());
    auto columnLoop =
        scf::ForOp::create(c.b, c.loc, x.constant(0), Index(c.b, c.loc).constant(result.columns),
                           Index(c.b, c.loc).constant(c.lanes));
    c.b.setInsertionPointToStart(columnLoop.getBody());
    Value row = rowLoop.getInductionVar(), column = columnLoop.getInductionVar();
    Index y(c.b, c.loc);
    auto sum = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(depth), y.constant(1),
                                  ValueRange{initAt(row, column)});
    {
      OpBuilder::InsertionGuard inner(c.b);
      c.b.setInsertionPointToStart(sum.getBody());
      Value k = sum.getInductionVar(), old = sum.getRegionIterArgs()[0];
      Value keep = Evaluator(c, row, k, 1).matrix(op.getKeep());
      Value left = broadcast(memref::LoadOp::create(c.b, c.loc, a.memory, ValueRange{row, k}));
      Value added = math::FmaOp::create(c.b, c.loc, left, loadVector(b, k, column), old);
      scf::YieldOp::create(c.b, c.loc,
                           arith::SelectOp::create(c.b, c.loc, keep, added, old).getResult());
    }
    vector::StoreOp::create(c.b, c.loc, sum.getResult(0), result.memory, ValueRange{row, column});
  }

  Context &c;
  tile::DotOp op;
  Buffer a, b;
  const Buffer &result;
  int64_t depth;
};

} // namespace

void flashc::lowerDot(Context &c, tile::DotOp op, const Buffer &result) {
  DotEmitter(c, op, result).emit();
}
