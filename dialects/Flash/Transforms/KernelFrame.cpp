//===- KernelFrame.cpp - the frame of a kernel on memory ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/Index.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace flashc::flash;

MemRefType flashc::flash::getMemoryType(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

func::FuncOp flashc::flash::createKernel(OpBuilder &builder, func::FuncOp source, int64_t phase,
                                         ScheduleAttr schedule) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto addTensor = [&](Type type, DictionaryAttr attribute, bool isOutput) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? Type(getMemoryType(tensor)) : type);
    SmallVector<NamedAttribute> list;
    if (attribute)
      list.assign(attribute.begin(), attribute.end());
    if (isOutput)
      list.push_back(builder.getNamedAttr(kOutputAttrName, builder.getUnitAttr()));
    attributes.push_back(builder.getDictionaryAttr(list));
  };
  for (auto [index, type] : llvm::enumerate(source.getArgumentTypes()))
    addTensor(type, source.getArgAttrDict(index), false);
  for (auto [index, type] : llvm::enumerate(source.getResultTypes()))
    addTensor(type, source.getResultAttrDict(index), true);
  types.push_back(MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()));
  attributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(kArgNameAttrName, builder.getStringAttr("workspace"))));

  std::string name = (source.getName() + "_phase" + Twine(phase)).str();
  auto kernel = func::FuncOp::create(builder, source.getLoc(), name,
                                     builder.getFunctionType(types, {}));
  kernel->setAttr(kKernelAttrName, builder.getI64IntegerAttr(phase));
  kernel->setAttr(kScheduleAttrName, schedule);
  kernel.setAllArgAttrs(attributes);
  kernel.addEntryBlock();
  return kernel;
}

namespace {

Value emitDim(OpBuilder &b, Location loc, Value memory, int64_t dim) {
  return b.createOrFold<memref::DimOp>(loc, memory, dim);
}

/// A length or an offset read from an i32 or i64 array.
Value emitLength(OpBuilder &b, Location loc, Value array, Value at) {
  Value value = memref::LoadOp::create(b, loc, array, at);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}

/// Where a packed sequence begins, and how long it is.
std::pair<Value, Value> emitExtent(OpBuilder &b, Location loc, Value cuSeqlens, Value sequence) {
  Index x(b, loc);
  Value begin = emitLength(b, loc, cuSeqlens, sequence);
  Value end = emitLength(b, loc, cuSeqlens, x.add(sequence, 1));
  return {begin, x.sub(end, begin)};
}

} // namespace

void flashc::flash::emitGrid(OpBuilder &b, Location loc, const AttentionMemory &memory,
                             int64_t rows,
                             llvm::function_ref<void(OpBuilder &, const GridPoint &)> body) {
  Index x(b, loc);
  bool packed = bool(memory.cuSeqlensQ);
  Value zero = x.constant(0), one = x.constant(1);
  Value heads = emitDim(b, loc, memory.q, 2);
  Value kvHeads = emitDim(b, loc, memory.k, 2);
  Value sequences, denseTiles, points;
  if (packed) {
    sequences = x.sub(emitDim(b, loc, memory.cuSeqlensQ, 0), 1);
    auto loop = scf::ForOp::create(
        b, loc, zero, sequences, one, ValueRange{zero},
        [&](OpBuilder &nested, Location, Value s, ValueRange carried) {
          Index y(nested, loc);
          Value length = emitExtent(nested, loc, memory.cuSeqlensQ, s).second;
          Value next = y.add(carried[0], y.ceilDiv(length, rows));
          scf::YieldOp::create(nested, loc, next);
        });
    points = x.mul(loop.getResult(0), heads);
  } else {
    sequences = emitDim(b, loc, memory.q, 0);
    denseTiles = x.ceilDiv(emitDim(b, loc, memory.q, 1), rows);
    points = x.mul(x.mul(sequences, heads), denseTiles);
  }

  auto forall = scf::ForallOp::create(b, loc, ArrayRef<OpFoldResult>{points},
                                      /*outputs=*/ValueRange{}, /*mapping=*/std::nullopt);
  OpBuilder inner(forall.getBody(), forall.getBody()->begin());
  Index y(inner, loc);
  Value point = forall.getInductionVar(0);
  GridPoint p;
  Value tiles, local;
  if (packed) {
    // The sequence is the one whose range of points holds `point`; ranges lie one after another.
    auto loop = scf::ForOp::create(
        inner, loc, zero, sequences, one, ValueRange{zero, zero, zero},
        [&](OpBuilder &nested, Location, Value s, ValueRange carried) {
          Index z(nested, loc);
          Value length = emitExtent(nested, loc, memory.cuSeqlensQ, s).second;
          Value begin = carried[2];
          Value end = z.add(begin, z.mul(z.ceilDiv(length, rows), heads));
          Value here = z.both(z.le(begin, point), z.lt(point, end));
          scf::YieldOp::create(nested, loc,
                               ValueRange{z.select(here, s, carried[0]),
                                          z.select(here, begin, carried[1]), end});
        });
    p.sequence = loop.getResult(0);
    local = y.sub(point, loop.getResult(1));
    p.memoryBatch = zero;
    std::tie(p.qOffset, p.sq) = emitExtent(inner, loc, memory.cuSeqlensQ, p.sequence);
    std::tie(p.kOffset, p.sk) = emitExtent(inner, loc, memory.cuSeqlensK, p.sequence);
    tiles = y.ceilDiv(p.sq, rows);
  } else {
    Value perSequence = y.mul(heads, denseTiles);
    p.sequence = y.div(point, perSequence);
    local = y.rem(point, perSequence);
    p.memoryBatch = p.sequence;
    p.qOffset = p.kOffset = zero;
    p.sq = emitDim(inner, loc, memory.q, 1);
    p.sk = emitDim(inner, loc, memory.k, 1);
    tiles = denseTiles;
  }
  if (memory.sequsedK)
    p.sk = emitLength(inner, loc, memory.sequsedK, p.sequence);
  p.head = y.div(local, tiles);
  p.kvHead = y.div(p.head, y.div(heads, kvHeads));
  p.i0 = y.mul(y.rem(local, tiles), rows);
  p.rows = y.min(y.sub(p.sq, p.i0), rows);
  body(inner, p);
}
