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

  /// Address and stride in bytes of element (row, column) of a memref of 32-bit elements.
  std::pair<Value, Value> locate(Value memory, Value row, Value column) {
    Index x(c.b, c.loc);
    int64_t width = cast<MemRefType>(memory.getType()).getDimSize(1);
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(c.b, c.loc, memory);
    Value offset = x.mul(x.add(x.mul(row, width), column), 4);
    Type i64 = c.b.getI64Type();
    Value address = arith::IndexCastOp::create(c.b, c.loc, i64, x.add(base, offset));
    auto pointer = LLVM::LLVMPointerType::get(c.b.getContext());
    Value stride = arith::ConstantOp::create(c.b, c.loc, c.b.getI64IntegerAttr(4 * width));
    return {LLVM::IntToPtrOp::create(c.b, c.loc, pointer, address), stride};
  }

  Context &c;
  Type type;
};

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
  if (depth <= kUnrolledSteps * kAMXSize) {
    for (int64_t k = 0; k < depth; k += kAMXSize)
      sums = step(x.constant(k), sums);
  } else {
    auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(depth),
                                   x.constant(kAMXSize), sums);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(c.b, c.loc, step(loop.getInductionVar(), loop.getRegionIterArgs()));
    sums.assign(loop.result_begin(), loop.result_end());
  }
  forEachSum([&](int64_t i, Value at, Value to) { amx.store(sums[i], result.memory, at, to); });
}
