//===- AMX.cpp - matrix products in tile registers ------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Tile registers are values of LLVM's type x86_amx; LLVM allocates and configures them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AMX.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace flashc;

namespace {

/// Depths of up to this many steps are unrolled.
constexpr int64_t kUnrolledSteps = 4;

class AMXEmitter {
public:
  explicit AMXEmitter(Context &c) : c(c), type(LLVM::LLVMX86AMXType::get(c.b.getContext())) {}

  Type getType() const { return type; }

  Value zero() { return call("llvm.x86.tilezero.internal", {rows(), bytes()}); }

  Value load(Value memory, Value row, Value column) {
    auto [address, stride] = locate(memory, row, column);
    return call("llvm.x86.tileloadd64.internal", {rows(), bytes(), address, stride});
  }

  void store(Value tile, Value memory, Value row, Value column) {
    auto [address, stride] = locate(memory, row, column);
    LLVM::CallIntrinsicOp::create(c.b, c.loc, c.b.getStringAttr("llvm.x86.tilestored64.internal"),
                                  ValueRange{rows(), bytes(), address, stride, tile});
  }

  Value multiply(Value sum, Value left, Value right) {
    return call("llvm.x86.tdpbf16ps.internal", {rows(), bytes(), bytes(), sum, left, right});
  }

private:
  Value call(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(c.b, c.loc, type, c.b.getStringAttr(name), operands)
        .getResult(0);
  }
  Value i16(int64_t value) {
    return arith::ConstantOp::create(c.b, c.loc, c.b.getI16IntegerAttr(value));
  }
  Value rows() { return i16(kAMXSize); }
  Value bytes() { return i16(4 * kAMXSize); }

  /// Address and stride in bytes of element (row, column) of a memref of 32-bit elements, or of rows of bf16, whose
  /// columns are counted in pairs.
  std::pair<Value, Value> locate(Value memory, Value row, Value column) {
    Index x(c.b, c.loc);
    auto type = cast<MemRefType>(memory.getType());
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(c.b, c.loc, memory);
    Value stride;
    if (type.getElementType().isBF16()) {
      auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, memory);
      base = x.add(base, x.mul(metadata.getOffset(), 2));
      stride = x.mul(metadata.getStrides()[0], 2);
    } else {
      stride = x.constant(4 * type.getDimSize(1));
    }
    auto asI64 = [&](Value index) -> Value {
      return arith::IndexCastOp::create(c.b, c.loc, c.b.getI64Type(), index);
    };
    Value address = asI64(x.add(base, x.add(x.mul(row, stride), x.mul(column, 4))));
    auto pointer = LLVM::LLVMPointerType::get(c.b.getContext());
    return {LLVM::IntToPtrOp::create(c.b, c.loc, pointer, address), asI64(stride)};
  }

  Context &c;
  Type type;
};

/// `sums` after `depth` pairs, by steps of a tile register; `step` gives the next sums.
SmallVector<Value> emitSums(Context &c, SmallVector<Value> sums, int64_t depth,
                            llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  Index x(c.b, c.loc);
  if (depth <= kUnrolledSteps * kAMXSize) {
    for (int64_t k = 0; k < depth; k += kAMXSize)
      sums = step(x.constant(k), sums);
    return sums;
  }
  auto loop =
      scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(depth), x.constant(kAMXSize), sums);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(c.b, c.loc, step(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Part `part` of `parts` of the step at `k` of a sum over `depth` pairs, in block `block` of `blocks`.
ReadStep stepOf(Context &c, Value block, int64_t blocks, Value k, int64_t depth, int64_t part = 0,
                int64_t parts = 1) {
  Index x(c.b, c.loc);
  int64_t steps = depth / kAMXSize;
  if (std::optional<int64_t> first = getConstantIntValue(k))
    return {block, blocks, *first / kAMXSize * parts + part, steps * parts};
  return {x.add(x.mul(block, steps), x.div(k, kAMXSize)), blocks * steps, part, parts};
}

} // namespace

void flashc::emitAMXBlock(Context &c, const Buffer &left, const Buffer &right, Value row,
                          Value column, int64_t rowTiles, int64_t columnTiles, int64_t depth,
                          const AMXResult &result) {
  Index x(c.b, c.loc);
  AMXEmitter amx(c);
  auto forEachSum = [&](auto &&visit) { // with its place in the result
    for (int64_t r = 0; r < rowTiles; ++r)
      for (int64_t n = 0; n < columnTiles; ++n)
        visit(r * columnTiles + n, x.add(result.row, r * kAMXSize),
              x.add(result.column, n * kAMXSize));
  };
  auto step = [&](Value k, ValueRange sums) {
    Index y(c.b, c.loc);
    SmallVector<Value> lefts, rights, next;
    for (int64_t r = 0; r < rowTiles; ++r)
      lefts.push_back(amx.load(left.memory, y.add(row, r * kAMXSize), k));
    for (int64_t n = 0; n < columnTiles; ++n)
      rights.push_back(amx.load(right.memory, k, y.add(column, n * kAMXSize)));
    for (int64_t r = 0; r < rowTiles; ++r)
      for (int64_t n = 0; n < columnTiles; ++n)
        next.push_back(amx.multiply(sums[r * columnTiles + n], lefts[r], rights[n]));
    return next;
  };
  SmallVector<Value> sums;
  forEachSum([&](int64_t, Value at, Value to) {
    sums.push_back(result.accumulates ? amx.load(result.memory, at, to) : amx.zero());
  });
  sums = emitSums(c, sums, depth, step);
  forEachSum([&](int64_t i, Value at, Value to) { amx.store(sums[i], result.memory, at, to); });
}

void flashc::emitAMXRows(Context &c, const Buffer &left, const Buffer &right, Value row,
                         int64_t depth, Value result, const ReadAhead &readAhead) {
  AMXEmitter amx(c);
  Index x(c.b, c.loc);
  Value zero = x.constant(0);
  auto step = [&](Value k, ValueRange sums) -> SmallVector<Value> {
    Value sum =
        amx.multiply(sums[0], amx.load(left.memory, row, k), amx.load(right.memory, k, zero));
    readAhead.emit(c, stepOf(c, x.div(row, kAMXSize), left.rows / kAMXSize, k, depth));
    return {sum};
  };
  amx.store(emitSums(c, {amx.zero()}, depth, step)[0], result, row, zero);
}

void flashc::emitAMXByParity(Context &c, Value evens, Value odds, const Buffer &right, Value column,
                             int64_t groups, int64_t depth, Value result,
                             const ReadAhead &readAhead) {
  Index x(c.b, c.loc);
  AMXEmitter amx(c);
  Value pair = x.div(column, 2), zero = x.constant(0);
  int64_t width = 2 * kAMXSize * groups;
  auto step = [&](Value k, ValueRange sums) {
    Index y(c.b, c.loc);
    Value even = amx.load(evens, zero, k), odd = amx.load(odds, zero, k);
    SmallVector<Value> next;
    for (int64_t g = 0; g < groups; ++g) {
      Value at = y.add(pair, g * kAMXSize), rights = amx.load(right.memory, k, at);
      next.push_back(amx.multiply(sums[2 * g], even, rights));
      next.push_back(amx.multiply(sums[2 * g + 1], odd, rights));
      readAhead.emit(c,
                     stepOf(c, x.div(column, width), right.columns / width, k, depth, g, groups));
    }
    return next;
  };
  SmallVector<Value> zeros;
  for (int64_t n = 0; n < 2 * groups; ++n)
    zeros.push_back(amx.zero());
  for (auto [n, sum] : llvm::enumerate(emitSums(c, zeros, depth, step)))
    amx.store(sum, result, x.add(column, static_cast<int64_t>(n) * kAMXSize), zero);
}
