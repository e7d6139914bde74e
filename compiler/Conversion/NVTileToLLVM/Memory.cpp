//===- Memory.cpp - a thread's loads and copies ---------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Target/SharedLayout.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc;

/// The type whose size elements have in memory: a bool takes a byte.
static Type memoryType(OpBuilder &b, Type type) { return b.getIntegerType(8 * bytesOf(type)); }

ThreadMemory Distributor::memoryOf(Value memref) {
  auto it = memories.find(memref);
  assert(it != memories.end() && "expected an argument or a view of one");
  return it->second;
}

void Distributor::lowerView(memref::ViewOp op) {
  ThreadMemory memory;
  auto type = cast<MemRefType>(op.getResult().getType());
  memory.elementType = type.getElementType();
  memory.pointer =
      t.gep(memoryOf(op.getSource()).pointer, scalar(op.getByteShift()), b.getI8Type());
  unsigned dynamic = 0;
  for (int64_t size : type.getShape())
    memory.sizes.push_back(ShapedType::isDynamic(size) ? scalar(op.getSizes()[dynamic++])
                                                       : t.indexConstant(size));
  Value stride = t.indexConstant(1);
  memory.strides.resize(memory.sizes.size());
  for (size_t d = memory.sizes.size(); d-- > 0; stride = t.indexMul(stride, memory.sizes[d]))
    memory.strides[d] = stride;
  memories[op.getResult()] = memory;
}

SmallVector<Value> Distributor::elementIndices(ArrayRef<Value> offsets, ArrayRef<int64_t> dims,
                                               Value row, Value column) {
  SmallVector<Value> indices(offsets);
  indices[dims[0]] = t.indexAdd(indices[dims[0]], row);
  if (dims.size() == 2)
    indices[dims[1]] = t.indexAdd(indices[dims[1]], column);
  return indices;
}

Value Distributor::addressOf(const ThreadMemory &memory, ValueRange indices, int64_t moving) {
  Value offset = t.indexConstant(0);
  for (auto [d, index] : llvm::enumerate(indices))
    if (static_cast<int64_t>(d) != moving)
      offset = t.indexAdd(offset, t.indexMul(index, memory.strides[d]));
  Type type = memoryType(b, memory.elementType);
  Value pointer = t.gep(memory.pointer, offset, type);
  // What changes in a loop comes last, so that the rest can leave it.
  if (moving >= 0)
    pointer = t.gep(pointer, t.indexMul(indices[moving], memory.strides[moving]), type);
  return pointer;
}

Value Distributor::isValid(const ThreadTile &tile, ValueRange valid, unsigned e) {
  Value row = t.indexAdd(firstRow(tile), tile.rowOffset(e));
  Value inside = t.indexLess(row, scalar(valid[0]));
  if (tile.isMatrix) {
    Value column = t.indexAdd(firstColumn(tile), tile.columnOffset(e));
    inside = t.both(inside, t.indexLess(column, scalar(valid[1])));
  }
  return inside;
}

/// How rows that lie in pages are found, or none.
std::optional<Distributor::Pages> Distributor::pagesOf(Value table, Value tableRow, Value firstRow,
                                                       const ThreadMemory &memory,
                                                       ArrayRef<int64_t> dims) {
  if (!table)
    return std::nullopt;
  ThreadMemory entries = memoryOf(table);
  Value zero = t.indexConstant(0);
  return Pages{addressOf(entries, {scalar(tableRow), zero}),
               entries.strides[1],
               entries.elementType,
               scalar(firstRow),
               memory.sizes[dims[0]],
               memory.strides[0],
               memory.strides[dims[0]]};
}

Value Distributor::pagedOffset(const Pages &pages, Value row, Value isValid) {
  Value key = t.indexAdd(pages.firstRow, row);
  Value number = arith::DivUIOp::create(b, t.loc, key, pages.rows);
  Value rowInPage = arith::RemUIOp::create(b, t.loc, key, pages.rows);
  Value entry = t.gep(pages.entries, t.indexMul(number, pages.entryStride), pages.entryType);
  Value page = t.loadIf(isValid, entry, pages.entryType);
  page = arith::IndexCastOp::create(b, t.loc, t.index, page);
  return t.indexAdd(t.indexMul(page, pages.stride), t.indexMul(rowInPage, pages.rowStride));
}

Value Distributor::computeLoad(tile::LoadOp op, unsigned e) {
  ThreadTile tile(cast<RankedTensorType>(op.getTile().getType()));
  ThreadMemory memory = memoryOf(op.getSource());
  SmallVector<Value> offsets;
  for (Value offset : op.getOffsets())
    offsets.push_back(scalar(offset));
  Value row = t.indexAdd(firstRow(tile), tile.rowOffset(e));
  Value column = tile.isMatrix ? t.indexAdd(firstColumn(tile), tile.columnOffset(e)) : Value();
  Value valid = isValid(tile, op.getValid(), e);
  int64_t rowDim = op.getDims()[0];
  auto pages =
      pagesOf(op.getTable(), op.getTableRow(), op.getOffsets()[rowDim], memory, op.getDims());
  if (pages)
    offsets[rowDim] = t.indexConstant(0);
  Value inRow = pages ? t.indexConstant(0) : row;
  Value address = addressOf(memory, elementIndices(offsets, op.getDims(), inRow, column));
  if (pages)
    address = t.gep(address, pagedOffset(*pages, row, valid), memoryType(b, memory.elementType));
  return t.loadIf(valid, address, memory.elementType);
}

Value Distributor::computeGather(tile::GatherOp op, unsigned e) {
  ThreadMemory memory = memoryOf(op.getSource());
  Value inside = arith::ConstantIntOp::create(b, t.loc, t.i1, 1);
  SmallVector<Value> indices;
  for (auto [operand, size] : llvm::zip(op.getIndices(), memory.sizes)) {
    Value index = operandAt(operand, e);
    // As unsigned numbers, negative ones are beyond every size.
    Value isInside = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ult, index, size);
    inside = t.both(inside, isInside);
    indices.push_back(index);
  }
  return t.loadIf(inside, addressOf(memory, indices), memory.elementType);
}

Value Distributor::isChunked(const ThreadMemory &memory, int64_t columnDim) {
  int64_t bytes = bytesOf(memory.elementType);
  // The address and all strides but that of columns, in bytes, by their lowest bits.
  Value bits = LLVM::PtrToIntOp::create(b, t.loc, t.i64, memory.pointer);
  for (auto [d, stride] : llvm::enumerate(memory.strides)) {
    if (static_cast<int64_t>(d) == columnDim)
      continue;
    Value inBytes =
        arith::MulIOp::create(b, t.loc, arith::IndexCastOp::create(b, t.loc, t.i64, stride),
                              arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(bytes)));
    bits = arith::OrIOp::create(b, t.loc, bits, inBytes);
  }
  Value low = arith::AndIOp::create(
      b, t.loc, bits, arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(kChunkBytes - 1)));
  Value zero = arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(0));
  Value isAligned = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq, low, zero);
  Value isDense = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq,
                                        memory.strides[columnDim], t.indexConstant(1));
  return t.both(isAligned, isDense);
}

//===----------------------------------------------------------------------===//
// Copies to shared memory
//===----------------------------------------------------------------------===//

static int64_t threadsOf(func::FuncOp kernel) {
  return kernel->getAttrOfType<IntegerAttr>(nvtile::kThreadsAttrName).getInt();
}

void Distributor::lowerCopy(nvtile::CopyOp op) {
  ThreadMemory memory = memoryOf(op.getSource());
  SmallVector<Value> offsets;
  for (Value offset : op.getOffsets())
    offsets.push_back(scalar(offset));
  int64_t rowDim = op.getDims()[0];
  std::optional<Pages> pages =
      pagesOf(op.getTable(), op.getTableRow(), op.getOffsets()[rowDim], memory, op.getDims());
  if (pages)
    offsets[rowDim] = t.indexConstant(0);
  Value origin = addressOf(memory, offsets, rowDim);
  if (!target.hasAsyncCopy)
    return fetch(op, memory, origin, pages);
  auto branch =
      scf::IfOp::create(b, t.loc, isChunked(memory, op.getDims()[1]), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  copyChunks(op, memory, origin, pages);
  b.setInsertionPointToStart(branch.elseBlock());
  copyElements(op, memory, origin, pages);
}

ChunkGrid Distributor::chunksOf(nvtile::SharedType type) {
  ChunkGrid grid;
  grid.threads = threadsOf(kernel);
  grid.perRow = type.getPaddedColumns() * bytesOf(type.getElementType()) / kChunkBytes;
  grid.total = type.getRows() * grid.perRow;
  grid.thread = t.threadId();
  grid.row0 = t.div(grid.thread, grid.perRow);
  grid.chunk0 = t.rem(grid.thread, grid.perRow);
  return grid;
}

std::pair<Value, Value> Distributor::chunkPlace(const ChunkGrid &grid, int64_t n) {
  if (grid.isRegular())
    return {t.add(grid.row0, grid.rowStep(n)), grid.chunk0};
  Value number = t.add(grid.thread, n * grid.threads);
  return {t.div(number, grid.perRow), t.rem(number, grid.perRow)};
}

Value Distributor::hasChunk(const ChunkGrid &grid, int64_t n) {
  return t.less(t.add(grid.thread, n * grid.threads), t.constant(grid.total));
}

Distributor::ChunkSource Distributor::chunkSource(nvtile::CopyOp op, const ThreadMemory &memory,
                                                  Value origin, const std::optional<Pages> &pages) {
  ChunkSource source{memory, origin, pages, {}, {}, {}, {}};
  auto type = cast<nvtile::SharedType>(op.getDest().getType());
  int64_t bytes = bytesOf(memory.elementType);
  Value rows = scalar(op.getValid()[0]), columns = scalar(op.getValid()[1]);
  auto constantOf = [](Value value) -> int64_t {
    APInt constant;
    return matchPattern(value, m_ConstantInt(&constant)) ? constant.getSExtValue() : -1;
  };
  source.isTall = constantOf(rows) == type.getRows();
  int64_t knownBytes = constantOf(columns) < 0 ? -1 : constantOf(columns) * bytes;
  source.isWhole = knownBytes >= 0 && knownBytes % kChunkBytes == 0;
  source.wholeChunks = knownBytes / kChunkBytes;
  source.validRows = t.toI32(rows);
  source.validBytes = t.mul(t.toI32(columns), bytes);
  source.rowStride = t.indexMul(memory.strides[op.getDims()[0]], t.indexConstant(bytes));
  source.grid = chunksOf(type);
  source.isWide = source.isWhole && source.wholeChunks == source.grid.perRow;
  // The part of the address that is the thread's own stays the same from tile to tile.
  if (source.grid.isRegular() && !pages)
    source.origin =
        t.gep(origin, chunkOffset(source, source.grid.row0, source.grid.chunk0), b.getI8Type());
  return source;
}

Value Distributor::chunkOffset(const ChunkSource &source, Value row, Value chunk) {
  Value inRows = t.indexMul(arith::IndexCastUIOp::create(b, t.loc, t.index, row), source.rowStride);
  return t.indexAdd(inRows,
                    arith::IndexCastUIOp::create(b, t.loc, t.index, t.mul(chunk, kChunkBytes)));
}

Value Distributor::chunkAddress(const ChunkSource &source, int64_t n, Value row, Value chunk) {
  if (source.pages)
    return {}; // the row is looked up where it is known to be inside
  if (source.grid.isRegular())
    return t.gep(source.origin,
                 t.indexMul(source.rowStride, t.indexConstant(source.grid.rowStep(n))),
                 b.getI8Type());
  return t.gep(source.origin, chunkOffset(source, row, chunk), b.getI8Type());
}

Value Distributor::pagedChunkAddress(const ChunkSource &source, Value row, Value chunk,
                                     Value isInside) {
  Value wide = arith::IndexCastUIOp::create(b, t.loc, t.index, row);
  Value offset = pagedOffset(*source.pages, wide, isInside);
  Value address = t.gep(source.origin, offset, memoryType(b, source.memory.elementType));
  Value within = arith::IndexCastUIOp::create(b, t.loc, t.index, t.mul(chunk, kChunkBytes));
  return t.gep(address, within, b.getI8Type());
}

Value Distributor::bytesInside(const ChunkSource &source, Value chunk, Value isInside) {
  Value left = arith::SubIOp::create(b, t.loc, source.validBytes, t.mul(chunk, kChunkBytes));
  left = arith::MinSIOp::create(b, t.loc, left, t.constant(kChunkBytes));
  left = arith::MaxSIOp::create(b, t.loc, left, t.constant(0));
  return t.select(isInside, left, t.constant(0));
}

void Distributor::copyChunks(nvtile::CopyOp op, const ThreadMemory &memory, Value origin,
                             const std::optional<Pages> &pages) {
  Value stage = scalar(op.getStage());
  ChunkSource source = chunkSource(op, memory, origin, pages);
  const ChunkGrid &grid = source.grid;
  for (int64_t n = 0; n < grid.count(); ++n) {
    auto [row, chunk] = chunkPlace(grid, n);
    Value address = chunkAddress(source, n, row, chunk);
    OpBuilder::InsertionGuard guard(b);
    if (!grid.isFull(n)) {
      auto isMine = scf::IfOp::create(b, t.loc, hasChunk(grid, n), /*withElseRegion=*/false);
      b.setInsertionPointToStart(isMine.thenBlock());
    }
    Value dest = t.sharedPointer(sharedAddress(op.getDest(), stage, row, chunk));
    Value isInside = arith::ConstantIntOp::create(b, t.loc, t.i1, 1);
    if (!source.isTall)
      isInside = t.less(row, source.validRows);
    if (pages)
      address = pagedChunkAddress(source, row, chunk, isInside);
    if (!source.isWhole) {
      Value left = bytesInside(source, chunk, isInside);
      t.callVoid("llvm.nvvm.cp.async.cg.shared.global.16.s", {dest, address, left});
      continue;
    }
    if (!source.isWide)
      isInside = t.both(isInside, t.less(chunk, t.constant(source.wholeChunks)));
    Value ignored;
    if (!source.isTall || !source.isWide)
      ignored = t.bitXor(isInside, arith::ConstantIntOp::create(b, t.loc, t.i1, 1));
    t.copyChunk(dest, address, ignored);
  }
}

void Distributor::copyElements(nvtile::CopyOp op, const ThreadMemory &memory, Value origin,
                               const std::optional<Pages> &pages) {
  auto type = cast<nvtile::SharedType>(op.getDest().getType());
  int64_t columns = type.getPaddedColumns(), bytes = bytesOf(memory.elementType);
  int64_t perChunk = kChunkBytes / bytes;
  Value stage = scalar(op.getStage());
  Value validRows = scalar(op.getValid()[0]), validColumns = scalar(op.getValid()[1]);
  // What this rare path computes must not be moved to where it always runs.
  Value thread = arith::IndexCastUIOp::create(b, t.loc, t.index, t.threadIdHere());
  auto loop = scf::ForOp::create(b, t.loc, thread, t.indexConstant(type.getRows() * columns),
                                 t.indexConstant(threadsOf(kernel)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  t.keepRolled();
  Value number = t.toI32(loop.getInductionVar());
  Value row = t.div(number, columns), column = t.rem(number, columns);
  Value wideRow = arith::IndexCastUIOp::create(b, t.loc, t.index, row);
  Value wideColumn = arith::IndexCastUIOp::create(b, t.loc, t.index, column);
  Value isThere = t.both(t.indexLess(wideRow, validRows), t.indexLess(wideColumn, validColumns));
  Value rowOffset = pages ? pagedOffset(*pages, wideRow, isThere)
                          : t.indexMul(wideRow, memory.strides[op.getDims()[0]]);
  Value offset = t.indexAdd(rowOffset, t.indexMul(wideColumn, memory.strides[op.getDims()[1]]));
  Value source = t.gep(origin, offset, memory.elementType);
  Value value = t.loadIf(isThere, source, memory.elementType);
  Value address = sharedAddress(op.getDest(), stage, row, t.div(column, perChunk));
  address = t.add(address, t.mul(t.rem(column, perChunk), bytes));
  LLVM::StoreOp::create(b, t.loc, value, t.sharedPointer(address));
}
