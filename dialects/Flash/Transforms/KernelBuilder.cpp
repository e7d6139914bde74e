//===- KernelBuilder.cpp - loads, stores and loops of kernels -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KernelBuilder.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

static MemRefType memoryOf(Value value) { return cast<MemRefType>(value.getType()); }

Value KernelBuilder::loadRows(OpBuilder &builder, Value source, Value row, Value head, Value rows,
                              int64_t tileRows, int64_t rowDim) {
  Index x(builder, loc);
  MemRefType type = memoryOf(source);
  int64_t dim = type.getDimSize(3);
  return tile::LoadOp::create(builder, loc, tileOf({tileRows, dim}, type.getElementType()), source,
                              ValueRange{point.memoryBatch, row, head, x.constant(0)},
                              ValueRange{rows, x.constant(dim)}, ArrayRef<int64_t>{rowDim, 3});
}

/// Rows of K or V. Where these lie in pages, the page table says which.
Value KernelBuilder::loadKeyRows(OpBuilder &builder, Value source, const KeyTile &keys) {
  Index x(builder, loc);
  if (!memory.pageTable)
    return loadRows(builder, source, x.add(point.kOffset, keys.j0), point.kvHead, keys.columns, bc);
  MemRefType type = memoryOf(source);
  int64_t dim = type.getDimSize(3);
  Value zero = x.constant(0);
  return tile::LoadOp::create(builder, loc, tileOf({bc, dim}, type.getElementType()), source,
                              ValueRange{zero, keys.j0, point.kvHead, zero}, memory.pageTable,
                              point.sequence, ValueRange{keys.columns, x.constant(dim)},
                              ArrayRef<int64_t>{1, 3});
}

Value KernelBuilder::loadQueries() {
  Value row = Index(b, loc).add(point.qOffset, point.i0);
  return loadRows(b, memory.q, row, point.head, point.rows, br, rowsAreHeads ? 2 : 1);
}

Value KernelBuilder::loadKeys(OpBuilder &builder, const KeyTile &keys) {
  return loadKeyRows(builder, memory.k, keys);
}

Value KernelBuilder::loadValues(OpBuilder &builder, const KeyTile &keys) {
  return loadKeyRows(builder, memory.v, keys);
}

SmallVector<Value> KernelBuilder::at(const KeyTile &keys) const {
  return {point.sequence, point.head, point.i0, keys.j0, point.sq, point.sk};
}

Value KernelBuilder::loadSink() {
  if (rowsAreHeads)
    return tile::LoadOp::create(b, loc, tileOf({br}, b.getF32Type()), memory.sinks,
                                ValueRange{point.head}, ValueRange{point.rows},
                                ArrayRef<int64_t>{0});
  return memref::LoadOp::create(b, loc, memory.sinks, point.head);
}

ValueRange KernelBuilder::forEachKeyTile(
    ValueRange init,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, const KeyTile &, ValueRange)> body) {
  Index x(b, loc);
  auto loop = scf::ForOp::create(b, loc, point.keyBegin, point.keyEnd, x.constant(bc), init,
                                 [&](OpBuilder &nested, Location, Value j0, ValueRange carried) {
                                   Index y(nested, loc);
                                   KeyTile keys = {j0, y.min(y.sub(point.sk, j0), bc)};
                                   scf::YieldOp::create(nested, loc, body(nested, keys, carried));
                                 });
  return loop.getResults();
}

void KernelBuilder::store(Value tile, Value dest) {
  Index x(b, loc);
  Value row = x.add(point.qOffset, point.i0);
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getRank() == 1) {
    tile::StoreOp::create(b, loc, tile, dest, ValueRange{point.memoryBatch, point.head, row},
                          ValueRange{point.rows}, ArrayRef<int64_t>{rowsAreHeads ? 1 : 2});
    return;
  }
  tile::StoreOp::create(b, loc, tile, dest,
                        ValueRange{point.memoryBatch, row, point.head, x.constant(0)},
                        ValueRange{point.rows, x.constant(type.getDimSize(1))},
                        ArrayRef<int64_t>{rowsAreHeads ? 2 : 1, 3});
}

Value KernelBuilder::loadMatrix(OpBuilder &builder, Value matrix, const KeyTile &keys) {
  Index x(builder, loc);
  Value row = x.add(point.qOffset, point.i0), column = x.add(point.kOffset, keys.j0);
  return tile::LoadOp::create(builder, loc, tileOf({br, bc}, memoryOf(matrix).getElementType()),
                              matrix, ValueRange{point.memoryBatch, point.head, row, column},
                              ValueRange{point.rows, keys.columns}, ArrayRef<int64_t>{2, 3});
}

void KernelBuilder::storeMatrix(OpBuilder &builder, Value tile, Value matrix, const KeyTile &keys) {
  Index x(builder, loc);
  Value row = x.add(point.qOffset, point.i0), column = x.add(point.kOffset, keys.j0);
  tile::StoreOp::create(builder, loc, tile, matrix,
                        ValueRange{point.memoryBatch, point.head, row, column},
                        ValueRange{point.rows, keys.columns}, ArrayRef<int64_t>{2, 3});
}

Value KernelBuilder::loadColumn(Value column) {
  Index x(b, loc);
  return tile::LoadOp::create(
      b, loc, tileOf({br, 1}, memoryOf(column).getElementType()), column,
      ValueRange{point.memoryBatch, point.head, x.add(point.qOffset, point.i0), x.constant(0)},
      ValueRange{point.rows, x.constant(1)}, ArrayRef<int64_t>{2, 3});
}

MemoryMap::MemoryMap(func::FuncOp source, func::FuncOp kernel) {
  unsigned inputs = source.getNumArguments();
  for (unsigned i = 0; i < inputs; ++i)
    map.map(source.getArgument(i), kernel.getArgument(i));
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    outputs.push_back(kernel.getArgument(inputs + i));
  // A rescue takes the number of a point besides.
  workspaceMemory = kernel.getArgument(inputs + source.getNumResults());
}

void flashc::flash::cloneRegionOnMemory(Region &from, Region &to, ValueRange captures) {
  if (from.empty())
    return;
  from.cloneInto(&to, *std::make_unique<IRMapping>());
  Block &block = to.front();
  unsigned first = block.getNumArguments() - captures.size();
  for (auto [index, capture] : llvm::enumerate(captures))
    block.getArgument(first + index).setType(capture.getType());
}
