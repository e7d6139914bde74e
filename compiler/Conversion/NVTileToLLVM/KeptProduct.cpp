//===- KeptProduct.cpp - products of which terms are dropped --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Weights of dropped terms are 0, which is enough where b is finite: tensor cores multiply all. Otherwise, which is
// rare, so that what counts is that the code is short, terms are added one after another on FMA units. All threads
// need a term's weights at a time, of which each has those of two terms in 8: they come by a shuffle.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"

using namespace mlir;
using namespace flashc;

/// Terms of a block whose weights lie in the four lanes of a row, two in a word of each.
static constexpr int64_t kBlockTerms = 8;

void Distributor::computeKept(nvtile::DotOp op) {
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  SmallVector<Value> acc = initial(op);
  int64_t slices = sliceCount(op);
  Fragments p;
  for (int64_t slice = 0; slice < slices; ++slice)
    for (int64_t m = 0; m < tile.rowBlocks; ++m)
      p.push_back(leftFragment(op, m, slice));
  computeAll(op.getKeep());
  SmallVector<Type> types(acc.size(), t.f32);
  auto branch = scf::IfOp::create(b, t.loc, types, scalar(op.getFinite()), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, auto body) {
    b.setInsertionPointToStart(block);
    memo.emplace_back();
    scf::YieldOp::create(b, t.loc, body());
    memo.pop_back();
  };
  fill(branch.thenBlock(), [&] {
    SmallVector<Value> sums = acc;
    for (int64_t slice = 0; slice < slices; ++slice) {
      auto first = p.begin() + slice * tile.rowBlocks;
      multiplySlice(op, sums, Fragments(first, first + tile.rowBlocks), slice, 0, tile.warpColumns);
    }
    return sums;
  });
  fill(branch.elseBlock(), [&] {
    ThreadBuilder::RareScope rare(t);
    return multiplyTerms(op, acc, p);
  });
  defineAll(op.getResult(), branch.getResults());
}

SmallVector<Value> Distributor::leftTerm(nvtile::DotOp op, const Fragments &p, Value k) {
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  Type element = cast<nvtile::SharedType>(op.getB().getType()).getElementType();
  Value block = t.div(k, kBlockTerms), inBlock = t.rem(k, kBlockTerms);
  Value firstLane = t.bitAnd(t.rem(t.threadId(), kWarpSize), ~3);
  Value lane = t.add(firstLane, t.div(inBlock, 2));
  Value shift = t.mul(t.rem(k, 2), 16);
  SmallVector<Value> rows;
  for (int64_t r = 0; r < tile.rows(); ++r) {
    Value word;
    for (int64_t n = sliceCount(op) * 2; n-- > 0;) {
      Value other = p[n / 2 * tile.rowBlocks + r / 2][n % 2 * 2 + r % 2];
      word = word ? t.select(t.less(block, t.constant(n + 1)), other, word) : other;
    }
    word = arith::ShRUIOp::create(b, t.loc, t.shuffle(word, lane), shift);
    Value half = arith::TruncIOp::create(b, t.loc, t.i16, word);
    half = arith::BitcastOp::create(b, t.loc, element, half);
    rows.push_back(arith::ExtFOp::create(b, t.loc, t.f32, half));
  }
  return rows;
}

SmallVector<Value> Distributor::multiplyTerms(nvtile::DotOp op, ValueRange acc,
                                              const Fragments &p) {
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  auto right = cast<nvtile::SharedType>(op.getB().getType());
  SmallVector<SmallVector<Value>> keep = keepBits(op.getKeep());
  Value stage = scalar(op.getStage()), column0 = t.toI32(firstColumn(tile));
  int64_t terms = op.getTransposeB() ? right.getColumns() : right.getRows() / op.getBands();
  Value term0 = firstTerm(op);
  auto loop = scf::ForOp::create(b, t.loc, t.indexConstant(0), t.indexConstant(terms),
                                 t.indexConstant(1), acc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  t.keepRolled();
  Value k = t.toI32(loop.getInductionVar());
  Value one = t.f32Constant(1.0f);
  SmallVector<Value> weights = leftTerm(op, p, k), wholes, kept;
  for (Value weight : weights) {
    Value isNaN = arith::CmpFOp::create(b, t.loc, arith::CmpFPredicate::UNO, weight, weight);
    wholes.push_back(t.select(isNaN, weight, one));
  }
  for (ArrayRef<Value> words : keep)
    kept.push_back(keptTerms(words, k, 1).front());
  SmallVector<Value> sums(loop.getRegionIterArgs());
  for (int64_t n = 0; n < tile.columnBlocks; ++n)
    for (auto [j, y] :
         llvm::enumerate(rightPair(op, stage, t.add(term0, k), t.add(column0, n * 8)))) {
      // A weight that underflowed is not 0: an infinity counts where it is kept.
      Value isSpecial = arith::CmpFOp::create(
          b, t.loc, arith::CmpFPredicate::UEQ, math::AbsFOp::create(b, t.loc, y),
          t.f32Constant(std::numeric_limits<float>::infinity()));
      for (int64_t r = 0; r < tile.rows(); ++r) {
        Value &sum = sums[tile.elementOfRow(r, n) + j];
        Value weight = t.select(isSpecial, wholes[r], weights[r]);
        sum = t.select(kept[r], math::FmaOp::create(b, t.loc, weight, y, sum), sum);
      }
    }
  scf::YieldOp::create(b, t.loc, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}
