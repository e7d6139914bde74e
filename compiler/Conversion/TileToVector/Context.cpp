//===- Context.cpp - the state of a kernel's lowering to vectors ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Context.h"

#include <numeric>

using namespace mlir;
using namespace flashc;

Buffer Context::allocate(Type type, bool isTransposed, bool isBlock) {
  auto tile = cast<RankedTensorType>(type);
  Buffer buffer;
  buffer.isTransposed = isTransposed;
  buffer.isBlock = isBlock;
  buffer.rows = isBlock ? lanes : tile.getDimSize(0);
  // Rows are padded too: values of rank 1 are computed a vector of rows at a time.
  // The first of such vectors may begin at any row.
  SmallVector<int64_t> shape = {padded(buffer.rows) + (tile.getRank() == 1 ? lanes : 0)};
  if (tile.getRank() == 2) {
    buffer.columns = isTransposed ? tile.getDimSize(1) : padded(tile.getDimSize(1));
    if (isTransposed)
      shape.insert(shape.begin(), tile.getDimSize(1));
    else
      shape.push_back(buffer.columns);
  }
  buffer.memory = declare(shape, b.getF32Type(), scratchBytes);
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  scratchBytes += llvm::alignTo(elements * sizeof(float), 64);
  return buffer;
}

Value Context::declare(ArrayRef<int64_t> shape, Type element, int64_t offset) {
  OpBuilder entry(scratchUser);
  Value begin = arith::ConstantIndexOp::create(entry, loc, offset);
  return memref::ViewOp::create(entry, loc, MemRefType::get(shape, element), scratch, begin,
                                ValueRange{});
}

Buffer Context::allocatePairs(Type type, Format format, bool isTransposed) {
  auto tile = cast<RankedTensorType>(type);
  Buffer buffer;
  buffer.format = format;
  buffer.isTransposed = isTransposed;
  buffer.rows = tile.getDimSize(0);
  buffer.columns = isTransposed ? tile.getDimSize(1) : padded(tile.getDimSize(1));
  bool alongColumns = format == Format::LeftPairs || isTransposed;
  int64_t depth = tile.getDimSize(alongColumns ? 1 : 0);
  int64_t other = padded(tile.getDimSize(alongColumns ? 0 : 1));
  // The depth is padded to the tiles of AMX, 16 pairs.
  int64_t pairs = llvm::alignTo(llvm::divideCeil(depth, 2), 16);
  SmallVector<int64_t> shape = {pairs, other};
  if (format == Format::LeftPairs)
    std::swap(shape[0], shape[1]);
  buffer.memory = declare(shape, b.getI32Type(), scratchBytes);
  buffer.halves = declare({shape[0], shape[1] * 2}, b.getI16Type(), scratchBytes);
  scratchBytes += llvm::alignTo(shape[0] * shape[1] * sizeof(int32_t), 64);
  return buffer;
}

Value Context::allocateRows(RankedTensorType type) {
  Value memory = declare(type.getShape(), type.getElementType(), scratchBytes);
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  scratchBytes += llvm::alignTo(bytes, 64);
  return memory;
}

Buffer Context::allocateBits(Type type) {
  auto tile = cast<RankedTensorType>(type);
  Buffer buffer;
  buffer.format = Format::Bits;
  buffer.rows = tile.getDimSize(0);
  buffer.columns = padded(tile.getDimSize(1));
  int64_t words = buffer.columns / lanes;
  buffer.memory = declare({buffer.rows, words}, b.getIntegerType(lanes), scratchBytes);
  scratchBytes += llvm::alignTo(buffer.rows * words * lanes / 8, 64);
  return buffer;
}

Buffer Context::allocateActive(Value tile, Format format) {
  bool isPart = activeCount && isActive(tile);
  RankedTensorType type = tileType(tile);
  if (isPart)
    type = type.clone({activeCount, type.getDimSize(1)});
  Buffer buffer = format == Format::LeftPairs ? allocatePairs(type, format, false) : allocate(type);
  if (isPart)
    buffer.origin = active->begin;
  return buffer;
}

bool Context::isProductTransposed(tile::DotOp dot) const {
  auto isLoaded = [](Value tile) {
    return tile.getDefiningOp<tile::LoadOp>() && tileType(tile).getElementType().isBF16();
  };
  auto isCandidate = [&](tile::DotOp dot) {
    return dot && dot.getTransposeB() && !dot.getInit() && !dot.getKeep() &&
           tileRows(dot.getA()) == kFewRows && tileRows(dot.getB()) % kFewRows == 0 &&
           dot.getA() != dot.getB() && isLoaded(dot.getA()) && isLoaded(dot.getB()) &&
           dot.getB().hasOneUse();
  };
  // The other dots of a read the same buffer, so all are or none.
  return bf16Dots == BF16Dots::AMX && isCandidate(dot) &&
         llvm::all_of(dot.getA().getUsers(), [&](Operation *user) {
           auto other = dyn_cast<tile::DotOp>(user);
           return isCandidate(other) && other.getA() == dot.getA();
         });
}

bool Context::isProductByParity(tile::DotOp dot) const {
  constexpr int64_t kWidth = 32; // bf16 of a tile register's row, twice its rows
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (bf16Dots != BF16Dots::AMX || dot.getTransposeB() || dot.getKeep() || !load ||
      load.getTable() || load.getDims().size() != 2 || !dot.getA().hasOneUse() ||
      !dot.getB().hasOneUse() || !tileType(dot.getA()).getElementType().isBF16() ||
      !tileType(dot.getB()).getElementType().isBF16())
    return false;
  bool isWhole =
      llvm::all_of_zip(load.getValid(), tileType(dot.getB()).getShape(),
                       [](Value size, int64_t all) { return getConstantIntValue(size) == all; });
  return isWhole && tileRows(dot.getA()) == kFewRows && tileRows(dot.getB()) % (kWidth / 2) == 0 &&
         tileColumns(dot.getB()) % kWidth == 0;
}

Format Context::formatOf(Value tile) const {
  if (bf16Dots == BF16Dots::None || tile.use_empty() || !tileType(tile).getElementType().isBF16())
    return Format::F32;
  bool isLeft = false, isRight = false;
  for (OpOperand &use : tile.getUses()) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    // A few rows are multiplied as f32: keys and values are widened on the way from memory.
    if (!dot || (bf16Dots == BF16Dots::Vector && tileRows(dot.getA()) <= kFewRows) ||
        isProductByParity(dot))
      return Format::F32;
    ((use.get() == dot.getA()) != isProductTransposed(dot) ? isLeft : isRight) = true;
  }
  return isLeft == isRight ? Format::F32 : isLeft ? Format::LeftPairs : Format::RightPairs;
}

Value Buffer::rowIn(Context &c, Value row) const {
  Index x(c.b, c.loc);
  if (origin)
    return x.sub(row, origin);
  return isBlock ? x.rem(row, x.constant(c.lanes)) : row;
}

Value Context::firstRowOf(Value tile) {
  if (isActive(tile))
    return active->begin;
  return Index(b, loc).constant(0);
}

Value Context::rowsOf(Value tile) {
  if (isActive(tile))
    return active->end;
  if (Value rows = demand->lookup(tile))
    return scalars.lookup(rows);
  return Index(b, loc).constant(tileRows(tile));
}

Value Context::f32(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value Context::zeroVector() {
  auto type = vectorOf(b.getF32Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
}

bool flashc::allSources(Value tile, llvm::function_ref<Walk(Value)> classify) {
  SmallVector<Value> pending = {tile};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!tile::isTile(next.getType()) || !seen.insert(next).second)
      continue;
    switch (classify(next)) {
    case Walk::Refused:
      return false;
    case Walk::Leaf:
      break;
    case Walk::Inner:
      llvm::append_range(pending, llvm::reverse(next.getDefiningOp()->getOperands()));
    }
  }
  return true;
}

bool flashc::isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !tile::isTile(op->getResult(0).getType()))
    return false;
  if (isa<tile::BroadcastOp, tile::CoordsOp, tile::GatherOp, tensor::SplatOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

Type flashc::carrierOf(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}
