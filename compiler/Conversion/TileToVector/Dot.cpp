//===- Dot.cpp - tile.dot as a register micro-kernel ----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Dot.h"
#include "compiler/Conversion/TileToVector/AMX.h"
#include "compiler/Conversion/TileToVector/Pairs.h"
#include "compiler/Conversion/TileToVector/ReadAhead.h"
#include "compiler/Conversion/TileToVector/Shuffles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace flashc;

namespace {

/// Rows that are multiplied in turn before their sums are stored side by side.
constexpr int64_t kKeysInTurn = 4;
/// The most vectors of such rows that are multiplied without a branch.
constexpr int64_t kVectorsInTurn = 2;

class DotEmitter {
public:
  DotEmitter(Context &c, tile::DotOp op, const Buffer &result)
      : c(c), op(op), a(c.buffers.lookup(op.getA())), b(c.buffers.lookup(op.getB())),
        result(result), readAhead(ReadAhead::ofDot(c, b)), isPairs(a.format != Format::F32),
        depth(tileColumns(op.getA())) {}

  void emit() {
    if (c.isProductTransposed(op))
      return emitTransposedProduct();
    begin = c.firstRowOf(op.getResult());
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
  /// Emits `block` for each micro-tile's rows. Where a tile has no others, their addresses are constants.
  void forEachBlock(Value rows, llvm::function_ref<void(Value)> block) {
    if (!c.active && tileRows(op.getA()) <= c.microRows)
      return block(Index(c.b, c.loc).constant(0));
    emitLoop(c, begin, Index(c.b, c.loc).roundUp(rows, c.microRows), c.microRows, block);
  }

  VectorType f32Vector() { return c.vectorOf(c.b.getF32Type()); }

  /// The sum's start at a vector of the result.
  Value initAt(Value row, Value column) {
    if (!op.getInit())
      return c.zeroVector();
    return Evaluator(c, row, column, c.lanes).value(op.getInit());
  }

  void storeResult(Value value, Value row, Value column) {
    vector::StoreOp::create(c.b, c.loc, value, result.memory,
                            ValueRange{result.rowIn(c, row), column});
  }

  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(c.b, c.loc, c.vectorOf(scalar.getType()), scalar);
  }

  /// One step of the sum: an f32 product, or that of a pair of bf16.
  Value multiplyAdd(Value left, Value right, Value sum) {
    if (!isPairs)
      return math::FmaOp::create(c.b, c.loc, left, right, sum);
    auto type = VectorType::get({2 * c.lanes}, c.b.getBF16Type());
    auto asHalves = [&](Value pairs) { return vector::BitCastOp::create(c.b, c.loc, type, pairs); };
    return LLVM::CallIntrinsicOp::create(c.b, c.loc, f32Vector(),
                                         c.b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                         ValueRange{sum, asHalves(left), asHalves(right)})
        .getResult(0);
  }

  /// Columns of a row of b, where it lies in memory.
  Value loadInPlace(Value row, Value column) {
    Type element = cast<MemRefType>(b.memory.getType()).getElementType();
    return widen(c, vector::LoadOp::create(c.b, c.loc, c.vectorOf(element), b.memory,
                                           ValueRange{row, column}));
  }

  /// The product with the rows of b as they lie in memory: each element is a vector's sum. As many as lanes are
  /// summed up together, of rows of b that lie in different streams.
  void emitRowProducts(Value rows) {
    Index x(c.b, c.loc);
    totals = c.allocate(RankedTensorType::get({kKeysInTurn, c.lanes}, c.b.getF32Type())).memory;
    emitLoop(c, x.constant(0), x.constant(b.rows / kStreams), kKeysInTurn, [&](Value key) {
      emitLoop(c, Index(c.b, c.loc).constant(0), Index(c.b, c.loc).constant(kStreams),
               c.lanes / c.microRows, [&](Value first) {
                 forEachBlock(rows, [&](Value row) { emitRowProductBlock(row, key, first); });
               });
    });
  }

  void emitRowProductBlock(Value row, Value key, Value first) {
    Index x(c.b, c.loc);
    int64_t streams = c.lanes / c.microRows;
    auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(c.b, c.loc, a, b); };
    Value begin = x.add(key, x.mul(first, b.rows / kStreams));
    // Blocks of so many keys, in the order of the loops.
    Value block = x.add(x.mul(x.div(key, kKeysInTurn), kStreams / streams), x.div(first, streams));
    // A loop, by way of a memory: else all sums would be alive at once, in more registers than there are.
    emitLoop(c, x.constant(0), x.constant(kKeysInTurn), 1, [&](Value k) {
      Index y(c.b, c.loc);
      SmallVector<Value> keys;
      for (int64_t s = 0; s < streams; ++s)
        keys.push_back(y.add(y.add(begin, k), s * b.rows / kStreams));
      Value turn = y.add(y.mul(block, kKeysInTurn), k);
      Value total = emitReduceLanes(c, emitRowProductSums(row, keys, turn), add);
      vector::StoreOp::create(c.b, c.loc, total, totals, ValueRange{k, y.constant(0)});
    });
    SmallVector<Value> byKey; // lanes by (row, stream)
    for (int64_t k = 0; k < kKeysInTurn; ++k)
      byKey.push_back(vector::LoadOp::create(c.b, c.loc, f32Vector(), totals,
                                             ValueRange{x.constant(k), x.constant(0)}));
    SmallVector<Value> zipped = emitZip(c, byKey);
    for (int64_t lane = 0; lane < c.lanes; ++lane) {
      int64_t at = lane * kKeysInTurn;
      Value part = vector::ExtractStridedSliceOp::create(
          c.b, c.loc, zipped[at / c.lanes], ArrayRef<int64_t>{at % c.lanes},
          ArrayRef<int64_t>{kKeysInTurn}, ArrayRef<int64_t>{1});
      storeResult(part, x.add(row, lane / streams),
                  x.add(begin, lane % streams * b.rows / kStreams));
    }
  }

  /// The products of micro rows with some rows of b, a vector of partial sums each. `turn` counts such products.
  SmallVector<Value> emitRowProductSums(Value row, ArrayRef<Value> keys, Value turn) {
    Index x(c.b, c.loc);
    int64_t vectors = depth / c.lanes, unroll = kVectorsInTurn;
    while (vectors % unroll != 0)
      unroll /= 2;
    SmallVector<Value> sums(c.microRows * keys.size(), c.zeroVector());
    auto sum = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(depth),
                                  x.constant(unroll * c.lanes), sums);
    OpBuilder::InsertionGuard inner(c.b);
    c.b.setInsertionPointToStart(sum.getBody());
    Index y(c.b, c.loc);
    SmallVector<Value> next(sum.getRegionIterArgs());
    int64_t groups = vectors / unroll, turns = b.rows / static_cast<int64_t>(keys.size());
    Value group = y.add(y.mul(turn, groups), y.div(sum.getInductionVar(), unroll * c.lanes));
    for (int64_t u = 0; u < unroll; ++u) {
      Value d = y.add(sum.getInductionVar(), u * c.lanes);
      SmallVector<Value> right;
      for (Value key : keys)
        right.push_back(loadInPlace(key, d));
      readAhead.emit(c, {group, turns * groups, u, unroll});
      Value *nextSum = next.begin();
      for (int64_t r = 0; r < c.microRows; ++r) {
        Value left = vector::LoadOp::create(c.b, c.loc, f32Vector(), a.memory,
                                            ValueRange{y.add(a.rowIn(c, row), r), d});
        for (Value key : right) {
          *nextSum = multiplyAdd(left, key, *nextSum);
          ++nextSum;
        }
      }
    }
    scf::YieldOp::create(c.b, c.loc, next);
    return llvm::to_vector_of<Value>(sum.getResults());
  }

  /// The product as b * a^T, some rows of b after the other as they lie in memory; it is transposed on its way to the
  /// result, half of the result's rows at a time: there may be no others, and a block's vectors leave registers free.
  void emitTransposedProduct() {
    constexpr int64_t half = kAMXSize / 2;
    Index x(c.b, c.loc);
    int64_t pairs = llvm::alignTo(llvm::divideCeil(depth, 2), kAMXSize);
    Value memory = c.allocate(RankedTensorType::get({b.rows, kAMXSize}, c.b.getF32Type())).memory;
    Value hasMore = x.lt(x.constant(half), c.rowsOf(op.getResult()));
    auto forEachBlockOfKeys = [&](llvm::function_ref<void(Value)> body) {
      emitLoop(c, x.constant(0), x.constant(b.rows), kAMXSize, body);
    };
    forEachBlockOfKeys([&](Value key) {
      emitAMXRows(c, b, a, key, pairs, memory, readAhead);
      emitTransposedRows(memory, key, 0, half);
    });
    auto branch = scf::IfOp::create(c.b, c.loc, hasMore, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(branch.thenBlock());
    forEachBlockOfKeys([&](Value key) { emitTransposedRows(memory, key, half, kAMXSize); });
  }

  /// Rows [first, last) of the result, for 16 keys from `key` on, whose products are rows of `memory`.
  void emitTransposedRows(Value memory, Value key, int64_t first, int64_t last) {
    Index x(c.b, c.loc);
    SmallVector<Value> block;
    for (int64_t r = 0; r < kAMXSize; ++r)
      block.push_back(vector::LoadOp::create(c.b, c.loc, f32Vector(), memory,
                                             ValueRange{x.add(key, r), x.constant(0)}));
    SmallVector<Value> scores = emitTranspose(c, block);
    for (int64_t r = first; r < last; ++r)
      storeResult(scores[r], x.constant(r), key);
  }

  /// The product with rows of b as they lie in memory, even columns and odd ones apart. Each multiplies the other
  /// columns by 0, which is NaN where they are infinite: then vectors do it again.
  void emitProductByParity(Value rows) {
    Index x(c.b, c.loc);
    constexpr int64_t width = 2 * kAMXSize;
    int64_t groups = result.columns % (2 * width) == 0 ? 2 : 1;
    Value evens = c.allocate(RankedTensorType::get({kAMXSize, depth}, c.b.getF32Type())).memory;
    Value products =
        c.allocate(RankedTensorType::get({result.columns, kAMXSize}, c.b.getF32Type())).memory;
    emitLoop(c, begin, rows, 1, [&](Value row) { emitEvens(row, evens); });
    ReadAhead inProducts = readAhead.part(0, 2, 3), inSums = readAhead.part(2, 3, 3);
    emitLoop(c, x.constant(0), x.constant(result.columns), groups * width, [&](Value column) {
      emitAMXByParity(c, evens, a.memory, b, column, groups, depth, products, inProducts);
    });
    auto branch = scf::IfOp::create(c.b, c.loc, emitAreFinite(products, rows),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(branch.thenBlock());
    emitLoop(c, begin, rows, 1, [&](Value row) {
      inSums.emit(c, Index(c.b, c.loc).sub(row, begin), Index(c.b, c.loc).sub(rows, begin));
      for (int64_t column = 0; column < result.columns; column += width) {
        Index y(c.b, c.loc);
        SmallVector<Value> parities = {loadProduct(products, row, column),
                                       loadProduct(products, row, column + kAMXSize)};
        for (auto [half, columns] : llvm::enumerate(emitZip(c, parities)))
          storeSum(columns, row, y.constant(column + static_cast<int64_t>(half) * c.lanes));
      }
    });
    c.b.setInsertionPointToStart(branch.elseBlock());
    constexpr int64_t fewRegisters = 4;
    int64_t microRows = std::exchange(c.microRows, fewRegisters);
    Value end = Index(c.b, c.loc).roundUp(rows, c.microRows);
    emitLoop(c, x.constant(0), x.constant(result.columns), c.lanes, [&](Value column) {
      emitLoop(c, begin, end, c.microRows, [&](Value row) { emitVectorBlock(row, column, 1); });
    });
    c.microRows = microRows;
  }

  /// 16 products of a row, from the block of rows that begins at `first` in memory.
  Value loadProduct(Value products, Value row, int64_t first) {
    Index x(c.b, c.loc);
    return vector::LoadOp::create(c.b, c.loc, f32Vector(), products,
                                  ValueRange{x.add(row, first), x.constant(0)});
  }

  /// Whether the products of the rows are neither infinite nor NaN: x * 0 is NaN for those.
  Value emitAreFinite(Value products, Value rows) {
    Value zero = c.zeroVector();
    auto loop = scf::ForOp::create(c.b, c.loc, begin, rows, Index(c.b, c.loc).constant(1),
                                   ValueRange{zero});
    {
      OpBuilder::InsertionGuard inner(c.b);
      c.b.setInsertionPointToStart(loop.getBody());
      Value sum = loop.getRegionIterArgs()[0];
      for (int64_t column = 0; column < result.columns; column += kAMXSize)
        sum = math::FmaOp::create(c.b, c.loc, loadProduct(products, loop.getInductionVar(), column),
                                  zero, sum);
      scf::YieldOp::create(c.b, c.loc, sum);
    }
    Value total =
        vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::ADD, loop.getResult(0));
    return arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::ORD, total, total);
  }

  /// A row of a with the bf16 in the lower halves.
  void emitEvens(Value row, Value evens) {
    auto bits = c.vectorOf(c.b.getI32Type());
    Value sixteen = arith::ConstantOp::create(
        c.b, c.loc, DenseElementsAttr::get(bits, Attribute(c.b.getI32IntegerAttr(16))));
    for (int64_t column = 0; column < depth; column += c.lanes) {
      SmallVector<Value> at = {row, Index(c.b, c.loc).constant(column)};
      Value value = vector::LoadOp::create(c.b, c.loc, f32Vector(), a.memory, at);
      Value shifted = arith::ShRUIOp::create(
          c.b, c.loc, arith::BitcastOp::create(c.b, c.loc, bits, value), sixteen);
      value = arith::BitcastOp::create(c.b, c.loc, f32Vector(), shifted);
      vector::StoreOp::create(c.b, c.loc, value, evens, at);
    }
  }

  /// The result in blocks: columns outside, so that a block of b's columns stays in cache.
  void emitBlocks(Value rows) {
    if (b.isInPlace && op.getTransposeB())
      return emitRowProducts(rows);
    if (c.isProductByParity(op))
      return emitProductByParity(rows);
    int64_t columns = c.padded(result.columns), whole = columns / c.microColumns * c.microColumns;
    Index x(c.b, c.loc);
    auto block = [&](Value column, int64_t vectors) {
      forEachBlock(rows, [&](Value row) {
        if (isPairs && c.bf16Dots == BF16Dots::AMX)
          emitTileBlock(row, column, vectors);
        else
          emitVectorBlock(row, column, vectors);
      });
    };
    if (whole > 0)
      emitLoop(c, x.constant(0), x.constant(whole), c.microColumns,
               [&](Value column) { block(column, c.microColumns / c.lanes); });
    if (columns > whole)
      block(x.constant(whole), (columns - whole) / c.lanes);
  }

  void emitVectorBlock(Value row, Value column, int64_t vectors) {
    Index x(c.b, c.loc);
    Type unit = isPairs ? Type(c.b.getI32Type()) : Type(c.b.getF32Type());
    int64_t steps = isPairs ? llvm::divideCeil(depth, 2) : depth;
    SmallVector<Value> sums(c.microRows * vectors, c.zeroVector());
    auto sum =
        scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(steps), x.constant(1), sums);
    {
      OpBuilder::InsertionGuard inner(c.b);
      c.b.setInsertionPointToStart(sum.getBody());
      Index y(c.b, c.loc);
      SmallVector<Value> right, next;
      Value k = sum.getInductionVar();
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = y.add(column, v * c.lanes);
        right.push_back(b.isInPlace ? loadInPlace(k, at)
                                    : Value(vector::LoadOp::create(c.b, c.loc, c.vectorOf(unit),
                                                                   b.memory, ValueRange{k, at})));
      }
      if (b.isInPlace && !c.isProductByParity(op)) {
        auto blocks = static_cast<int64_t>(llvm::divideCeil(result.columns, c.microColumns));
        Value before = y.mul(y.div(column, c.microColumns), steps);
        readAhead.emit(c, {y.add(before, k), blocks * steps});
      }
      for (int64_t r = 0; r < c.microRows; ++r) {
        Value left = broadcast(
            memref::LoadOp::create(c.b, c.loc, a.memory, ValueRange{y.add(a.rowIn(c, row), r), k}));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(multiplyAdd(left, right[v], sum.getRegionIterArgs()[r * vectors + v]));
      }
      scf::YieldOp::create(c.b, c.loc, next);
    }
    for (int64_t r = 0; r < c.microRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        storeSum(sum.getResult(r * vectors + v), x.add(row, r), x.add(column, v * c.lanes));
  }

  /// The product is formed apart and added to the start once: one chain of additions over thousands of keys
  /// would be several times less accurate.
  void storeSum(Value product, Value row, Value column) {
    if (op.getInit())
      product = arith::AddFOp::create(c.b, c.loc, initAt(row, column), product);
    storeResult(product, row, column);
  }

  /// Whether the product is added to what the result holds.
  bool accumulates() {
    return op.getInit() && c.buffers.lookup(op.getInit()).memory == result.memory;
  }

  /// A block in tile registers. They start from what the result holds: a long chain of additions, whose error is
  /// far below that of bf16. They cannot start from a computed value, so that then the product goes through a
  /// small memory.
  void emitTileBlock(Value row, Value column, int64_t columnTiles) {
    int64_t rowTiles = c.microRows / kAMXSize;
    int64_t pairs = llvm::alignTo(llvm::divideCeil(depth, 2), kAMXSize);
    if (!op.getInit() || accumulates())
      return emitAMXBlock(c, a, b, a.rowIn(c, row), column, rowTiles, columnTiles, pairs,
                          {result.memory, result.rowIn(c, row), column, accumulates()});
    if (!product)
      product =
          c.allocate(RankedTensorType::get({c.microRows, c.microColumns}, c.b.getF32Type())).memory;
    Value zero = Index(c.b, c.loc).constant(0);
    emitAMXBlock(c, a, b, a.rowIn(c, row), column, rowTiles, columnTiles, pairs,
                 {product, zero, zero, /*accumulates=*/false});
    emitLoop(c, zero, Index(c.b, c.loc).constant(c.microRows), 1, [&](Value r) {
      for (int64_t v = 0; v < columnTiles; ++v) {
        Index x(c.b, c.loc);
        Value at = x.add(row, r), to = x.add(column, v * c.lanes);
        Value added = vector::LoadOp::create(c.b, c.loc, f32Vector(), product,
                                             ValueRange{r, x.constant(v * c.lanes)});
        storeSum(added, at, to);
      }
    });
  }

  /// One row and vector at a time, each term selected by keep.
  void emitSelecting(Value rows) {
    Index x(c.b, c.loc);
    emitLoop(c, begin, rows, 1, [&](Value row) {
      Index y(c.b, c.loc);
      emitLoop(c, y.constant(0), y.constant(result.columns), c.lanes,
               [&](Value column) { emitSelectingVector(row, column); });
    });
  }

  void emitSelectingVector(Value row, Value column) {
    Index x(c.b, c.loc);
    auto sum = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(depth), x.constant(1),
                                  ValueRange{c.zeroVector()});
    {
      OpBuilder::InsertionGuard inner(c.b);
      c.b.setInsertionPointToStart(sum.getBody());
      Value k = sum.getInductionVar(), old = sum.getRegionIterArgs()[0];
      Value keep = Evaluator(c, row, k, 1).value(op.getKeep());
      Value left, right;
      if (isPairs) {
        left = loadLeft(c, a, a.rowIn(c, row), k);
        right = loadRight(c, b, k, column);
      } else {
        left = memref::LoadOp::create(c.b, c.loc, a.memory, ValueRange{a.rowIn(c, row), k});
        right = vector::LoadOp::create(c.b, c.loc, f32Vector(), b.memory, ValueRange{k, column});
      }
      Value added = math::FmaOp::create(c.b, c.loc, broadcast(left), right, old);
      scf::YieldOp::create(c.b, c.loc,
                           arith::SelectOp::create(c.b, c.loc, keep, added, old).getResult());
    }
    storeSum(sum.getResult(0), row, column);
  }

  Context &c;
  tile::DotOp op;
  Buffer a, b;
  const Buffer &result;
  ReadAhead readAhead;
  bool isPairs;
  int64_t depth;
  Value begin;   // the first row
  Value product; // of a block, where AMX needs it
  Value totals;  // of products with rows in place, by key
};

} // namespace

void flashc::lowerDot(Context &c, tile::DotOp op, const Buffer &result) {
  DotEmitter(c, op, result).emit();
}
