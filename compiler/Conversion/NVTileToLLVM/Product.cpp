//===- Product.cpp - products on tensor cores -----------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// mma.sync.m16n8k16 (m16n8k8 on sm_75) with operands by ldmatrix, or a left operand that lies in registers
// already: the accumulators of one product, rounded and packed, are the left operand of the next.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc;

/// Columns, rows or terms of a block that one ldmatrix.x4 fills.
static constexpr int64_t kSlice = 16;

/// The signs of both halves of a word.
static constexpr int64_t kSigns = 0x80008000;

bool Distributor::usesTensorCores(Type element) const {
  return element.isF16() || (element.isBF16() && target.hasBF16MMA);
}

static Type elementOf(nvtile::DotOp op) {
  return cast<nvtile::SharedType>(op.getB().getType()).getElementType();
}

static ThreadTile resultTile(nvtile::DotOp op) {
  return ThreadTile(cast<RankedTensorType>(op.getResult().getType()));
}

int64_t Distributor::sliceCount(nvtile::DotOp op) {
  auto b = cast<nvtile::SharedType>(op.getB().getType());
  int64_t terms = op.getTransposeB() ? b.getColumns() : b.getRows() / op.getBands();
  return (terms + kSlice - 1) / kSlice;
}

/// Whether a register tile in the accumulators' layout is the left operand.
static bool hasScoresLeft(nvtile::DotOp op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getA().getType());
  return tensor && isa<nvtile::FragmentAttr>(tensor.getEncoding());
}

void Distributor::computeProduct(nvtile::DotOp op, unsigned e) {
  ThreadTile tile = resultTile(op);
  if (!usesTensorCores(elementOf(op)))
    return computeFMAProduct(op);
  bool isFinite = op.getFinite() && matchPattern(op.getFinite(), m_One());
  if (op.getKeep() && !isFinite)
    return computeKept(op);
  if (hasScoresLeft(op))
    return computeSlices(op);
  computeColumns(op, tile.columnOffset(e) / chunkColumns);
}

SmallVector<Value> Distributor::initial(nvtile::DotOp op) {
  SmallVector<Value> acc;
  ThreadTile tile = resultTile(op);
  Value zero = op.getInit() ? Value() : t.f32Constant(0.0f);
  for (unsigned e = 0; e < tile.size(); ++e)
    acc.push_back(op.getInit() ? get(op.getInit(), e) : zero);
  return acc;
}

void Distributor::multiply(MutableArrayRef<Value> acc, ValueRange a, Value b0, Value b1,
                           Type element) {
  Type f32 = t.f32;
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  auto operand = [&](Value word) -> Value {
    if (element.isBF16())
      return word;
    return LLVM::BitcastOp::create(b, t.loc, VectorType::get(2, element), word);
  };
  auto issue = [&](StringRef name, ValueRange words) {
    SmallVector<Value> arguments;
    for (Value word : words)
      arguments.push_back(operand(word));
    llvm::append_range(arguments, acc);
    llvm::copy(t.unpack(t.call(name, result, arguments), 4), acc.begin());
  };
  if (target.computeCapability < 80) {
    issue("llvm.nvvm.mma.m16n8k8.row.col.f32.f32", {a[0], a[1], b0});
    issue("llvm.nvvm.mma.m16n8k8.row.col.f32.f32", {a[2], a[3], b1});
    return;
  }
  issue(element.isBF16() ? "llvm.nvvm.mma.m16n8k16.row.col.bf16"
                         : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
        {a[0], a[1], a[2], a[3], b0, b1});
}

SmallVector<Value> Distributor::leftFragment(nvtile::DotOp op, int64_t m, int64_t slice) {
  Value a = op.getA();
  if (auto type = dyn_cast<nvtile::SharedType>(a.getType())) {
    ThreadTile tile = resultTile(op);
    Value thread = t.threadId(), lane = t.rem(thread, kWarpSize);
    int64_t rowWarps = type.getRows() / tile.warpRows; // of a band where a has but one
    Value warpRow = t.mul(t.rem(t.div(thread, kWarpSize), rowWarps), tile.warpRows);
    Value row = t.add(warpRow, t.rem(lane, kSlice));
    return loadMatrix(a, scalar(op.getAStage()), row, t.div(lane, kSlice), m * kSlice, slice * 2,
                      /*isTransposed=*/false, /*isChunkSmall=*/true);
  }
  SmallVector<Value> words;
  if (!hasScoresLeft(op)) {
    for (int64_t r = 0; r < 4; ++r)
      words.push_back(get(a, (m * sliceCount(op) + slice) * 4 + r));
    return words;
  }
  ThreadTile tile(cast<RankedTensorType>(a.getType()));
  for (int64_t n : {2 * slice, 2 * slice + 1})
    for (int64_t i : {0, 2})
      words.push_back(packPair(a, tile.element(m, n, i), tile.element(m, n, i + 1)));
  return words;
}

SmallVector<Value> Distributor::rightFragment(nvtile::DotOp op, int64_t n, int64_t slice) {
  Value thread = t.threadId(), lane = t.rem(thread, kWarpSize);
  Value low = t.rem(lane, 8), second = t.rem(t.div(lane, 8), 2), third = t.div(lane, 16);
  ThreadTile tile = resultTile(op);
  if (int64_t bands = op.getBands(); bands > 1) {
    int64_t rows = cast<nvtile::SharedType>(op.getB().getType()).getRows() / bands;
    low = t.add(low, t.mul(bandOf(tile, bands), rows));
  }
  if (op.getTransposeB()) // rows are columns of the result
    return loadMatrix(op.getB(), scalar(op.getStage()), t.add(low, t.mul(third, 8)), second,
                      n * kSlice, slice * 2, /*isTransposed=*/false, /*isChunkSmall=*/true);
  Value chunk = third;
  if (tile.columnWarps > 1) {
    Value part = t.rem(t.div(t.div(thread, kWarpSize), tile.rowWarps), tile.columnWarps);
    chunk = t.add(chunk, t.mul(part, tile.warpColumns / 8));
  }
  // Parts that are whole panels of chunks keep out of the permutation's way.
  bool isChunkSmall = tile.columnWarps == 1 || tile.warpColumns % 64 == 0;
  int64_t chunks = cast<nvtile::SharedType>(op.getB().getType()).getPaddedColumns() / 8;
  if (tile.columnWarps * tile.warpColumns / 8 > chunks) {
    // The last part is not all there: what lies beyond is read from within, and not stored.
    chunk = t.add(chunk, n * 2);
    chunk = arith::MinSIOp::create(b, t.loc, chunk, t.constant(chunks - 1));
    return loadMatrix(op.getB(), scalar(op.getStage()), t.add(low, t.mul(second, 8)), chunk,
                      slice * kSlice, 0, /*isTransposed=*/true, /*isChunkSmall=*/false);
  }
  return loadMatrix(op.getB(), scalar(op.getStage()), t.add(low, t.mul(second, 8)), chunk,
                    slice * kSlice, n * 2, /*isTransposed=*/true, isChunkSmall);
}

void Distributor::multiplySlice(nvtile::DotOp op, MutableArrayRef<Value> acc, const Fragments &a,
                                int64_t slice, int64_t fromColumn, int64_t toColumn) {
  ThreadTile tile = resultTile(op);
  for (int64_t n = fromColumn / kSlice; n * kSlice < toColumn; ++n) {
    SmallVector<Value> right = rightFragment(op, n, slice);
    for (int64_t m = 0; m < tile.rowBlocks; ++m)
      for (int64_t half = 0; half < std::min<int64_t>(tile.columnBlocks - 2 * n, 2); ++half)
        multiply(acc.slice(tile.element(m, 2 * n + half, 0), 4), a[m], right[2 * half],
                 right[2 * half + 1], elementOf(op));
  }
}

void Distributor::computeColumns(nvtile::DotOp op, int64_t chunk) {
  ThreadTile tile = resultTile(op);
  int64_t from = chunk * chunkColumns, to = std::min(from + chunkColumns, tile.warpColumns);
  SmallVector<Value> acc(tile.size());
  Value zero = t.f32Constant(0.0f);
  auto forEach = [&](auto action) {
    for (int64_t m = 0; m < tile.rowBlocks; ++m)
      for (int64_t n = from / 8; n < to / 8; ++n)
        for (int64_t i = 0; i < 4; ++i)
          action(tile.element(m, n, i));
  };
  forEach([&](unsigned e) { acc[e] = op.getInit() ? get(op.getInit(), e) : zero; });
  for (int64_t slice = 0; slice < sliceCount(op); ++slice) {
    Fragments a;
    for (int64_t m = 0; m < tile.rowBlocks; ++m)
      a.push_back(leftFragment(op, m, slice));
    multiplySlice(op, acc, a, slice, from, to);
  }
  forEach([&](unsigned e) { define(op.getResult(), e, acc[e]); });
}

void Distributor::touchProducts(Value tile, int64_t from, int64_t to) {
  llvm::SetVector<Operation *> pending;
  auto push = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && isa<RankedTensorType>(value.getType()))
      pending.insert(op);
  };
  push(tile);
  for (size_t n = 0; n < pending.size(); ++n) {
    Operation *op = pending[n];
    if (auto dot = dyn_cast<nvtile::DotOp>(op)) {
      ThreadTile shape = resultTile(dot);
      for (int64_t column = from; column < std::min(to, shape.warpColumns); column += 8)
        get(dot.getResult(), shape.element(0, column / 8, 0));
      continue;
    }
    // A reduction needs all columns: it is not hurried.
    if (isa<tile::ReduceOp, tile::BroadcastOp>(op) || lookup(op->getResult(0), 0))
      continue;
    for (Value operand : op->getOperands())
      push(operand);
  }
}

void Distributor::computeSlices(nvtile::DotOp op) {
  ThreadTile tile = resultTile(op);
  SmallVector<Value> acc = initial(op);
  int64_t slices = sliceCount(op);
  for (int64_t slice = 0; slice < slices; ++slice) {
    // The next chunk's scores are on their way while this chunk's exponentials are taken.
    if (slice * kSlice % chunkColumns == 0)
      touchProducts(op.getA(), slice * kSlice, slice * kSlice + 2 * chunkColumns);
    Fragments a;
    for (int64_t m = 0; m < tile.rowBlocks; ++m)
      a.push_back(leftFragment(op, m, slice));
    multiplySlice(op, acc, a, slice, 0, tile.warpColumns);
  }
  defineAll(op.getResult(), acc);
}

Value Distributor::packPair(Value tile, unsigned low, unsigned high) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type element = type.getElementType();
  // Rounded together, two floats take one instruction.
  auto rounding = tile.getDefiningOp<arith::TruncFOp>();
  bool isWide =
      rounding && cast<RankedTensorType>(rounding.getIn().getType()).getElementType().isF32();
  Value source = isWide ? rounding.getIn() : tile;
  Type from = isWide ? t.f32 : element;
  Value pair = LLVM::PoisonOp::create(b, t.loc, VectorType::get(2, from));
  pair = LLVM::InsertElementOp::create(b, t.loc, pair, get(source, low), t.constant(0));
  pair = LLVM::InsertElementOp::create(b, t.loc, pair, get(source, high), t.constant(1));
  if (isWide)
    pair = arith::TruncFOp::create(b, t.loc, VectorType::get(2, element), pair);
  return LLVM::BitcastOp::create(b, t.loc, t.i32, pair);
}

void Distributor::lowerRead(nvtile::ReadOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ThreadTile tile(type);
  int64_t slices = (type.getDimSize(1) + kSlice - 1) / kSlice;
  Value thread = t.threadId(), lane = t.rem(thread, kWarpSize);
  Value warpRow = t.mul(t.rem(t.div(thread, kWarpSize), tile.rowWarps), tile.warpRows);
  Value row = t.add(warpRow, t.rem(lane, kSlice));
  for (int64_t m = 0; m < tile.rowBlocks; ++m)
    for (int64_t slice = 0; slice < slices; ++slice)
      for (auto [r, word] : llvm::enumerate(
               loadMatrix(op.getSource(), scalar(op.getStage()), row, t.div(lane, kSlice),
                          m * kSlice, slice * 2, /*isTransposed=*/false, /*isChunkSmall=*/true)))
        define(op.getResult(), (m * slices + slice) * 4 + r, word);
}

Value Distributor::lowerAllFinite(nvtile::AllFiniteOp op) {
  auto type = cast<nvtile::SharedType>(op.getSource().getType());
  Type element = type.getElementType();
  if (!usesTensorCores(element)) // products on FMA units select each term
    return arith::ConstantIntOp::create(b, t.loc, t.i1, 1);
  int64_t threads = kernel->getAttrOfType<IntegerAttr>(nvtile::kThreadsAttrName).getInt();
  int64_t perRow = type.getPaddedColumns() / 8, total = type.getRows() * perRow;
  // An exponent of ones carries into the sign.
  int64_t carry = element.isBF16() ? 1 << 7 : 1 << 10, both = 0x00010001;
  int64_t exponent = (0x8000 - carry) * both, one = carry * both;
  Value found = t.constant(0), thread = t.threadId();
  for (int64_t n = 0; n * threads < total; ++n) {
    Value number = t.add(thread, n * threads);
    if ((n + 1) * threads > total) // threads without a chunk of their own look at the last one
      number = arith::MinSIOp::create(b, t.loc, number, t.constant(total - 1));
    Value address = sharedAddress(op.getSource(), scalar(op.getStage()), t.div(number, perRow),
                                  t.rem(number, perRow));
    Value words = LLVM::LoadOp::create(b, t.loc, VectorType::get(4, t.i32),
                                       t.sharedPointer(address), /*alignment=*/16);
    for (int64_t k = 0; k < 4; ++k) {
      Value word = LLVM::ExtractElementOp::create(b, t.loc, words, t.constant(k));
      found = t.bitOr(found, t.add(t.bitAnd(word, exponent), t.constant(one)));
    }
  }
  Value isClean = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq, t.bitAnd(found, kSigns),
                                        t.constant(0));
  return t.barrierAnd(isClean);
}
