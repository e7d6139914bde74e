//===- Memory.cpp - a thread's loads, stores and copies -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Target/SharedLayout.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc;

static int64_t bytesOf(Type type) { return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1); }

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

/// The indices of a load's or store's element (row, column).
static SmallVector<Value> elementIndices(ThreadBuilder &t, ArrayRef<Value> offsets,
                                         ArrayRef<int64_t> dims, Value row, Value column) {
  SmallVector<Value> indices(offsets);
  indices[dims[0]] = t.indexAdd(indices[dims[0]], row);
  if (dims.size() == 2)
    indices[dims[1]] = t.indexAdd(indices[dims[1]], column);
  return indices;
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
  Value address = addressOf(memory, elementIndices(t, offsets, op.getDims(), inRow, column));
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
// Stores
//===----------------------------------------------------------------------===//

void Distributor::lowerStore(tile::StoreOp op) {
  ThreadTile tile(cast<RankedTensorType>(op.getTile().getType()));
  ThreadMemory memory = memoryOf(op.getDest());
  computeAll(op.getTile());
  SmallVector<Value> offsets;
  for (Value offset : op.getOffsets())
    offsets.push_back(scalar(offset));
  Value rowStart = firstRow(tile), columnStart = tile.isMatrix ? firstColumn(tile) : Value();
  auto storeElements = [&] {
    for (unsigned e = 0; e < tile.size(); ++e) {
      Value condition = isValid(tile, op.getValid(), e);
      if (!tile.isMatrix) // of the lanes that hold a row, the first stores it
        condition = t.both(condition, isFirstInRow(tile));
      Value row = t.indexAdd(rowStart, tile.rowOffset(e));
      Value column = tile.isMatrix ? t.indexAdd(columnStart, tile.columnOffset(e)) : Value();
      Value address = addressOf(memory, elementIndices(t, offsets, op.getDims(), row, column));
      t.storeIf(condition, address, get(op.getTile(), e));
    }
  };
  int64_t bytes = bytesOf(memory.elementType);
  auto columns = tile.isMatrix ? cast<RankedTensorType>(op.getTile().getType()).getDimSize(1) : 0;
  bool hasChunks = tile.isMatrix && !tile.isLines && bytes == 2 && tile.columnBlocks % 4 == 0 &&
                   columns % 8 == 0;
  if (!hasChunks)
    return storeElements();

  // Four lanes hold 8 columns of a row, 2 each, in each of 4 blocks. They trade, so that each holds all 8
  // columns of one block and stores 16 bytes.
  Value chunked = isChunked(memory, op.getDims()[1]);
  auto branch = scf::IfOp::create(b, t.loc, chunked, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  memo.emplace_back();
  storeElements();
  memo.pop_back();
  b.setInsertionPointToStart(branch.thenBlock());
  Value lane = t.rem(t.threadId(), 4);
  Value isOdd =
      arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ne, t.bitAnd(lane, 1), t.constant(0));
  Value isHigh =
      arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ne, t.bitAnd(lane, 2), t.constant(0));
  for (int64_t m = 0; m < tile.rowBlocks; ++m)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t n = 0; n < tile.columnBlocks; n += 4) {
        SmallVector<Value> w;
        for (int64_t k = 0; k < 4; ++k)
          w.push_back(packPair(op.getTile(), tile.element(m, n + k, 2 * h),
                               tile.element(m, n + k, 2 * h + 1)));
        // A transpose of 4 x 4 words in two rounds: first by pairs of lanes, then by pairs of pairs.
        for (int64_t k : {0, 2}) {
          Value sent = t.select(isOdd, w[k], w[k + 1]);
          Value got = t.shuffleXor(sent, 1);
          w[k] = t.select(isOdd, got, w[k]);
          w[k + 1] = t.select(isOdd, w[k + 1], got);
        }
        for (int64_t k : {0, 1}) {
          Value sent = t.select(isHigh, w[k], w[k + 2]);
          Value got = t.shuffleXor(sent, 2);
          w[k] = t.select(isHigh, got, w[k]);
          w[k + 2] = t.select(isHigh, w[k + 2], got);
        }
        Value row = t.indexAdd(rowStart, m * 16 + h * 8);
        // The lane's first column has 2 for each lane; it stores block n + lane, of 8.
        Value lane8 = arith::IndexCastUIOp::create(b, t.loc, t.index, t.mul(lane, 6));
        Value column = t.indexAdd(t.indexAdd(columnStart, lane8), n * 8);
        Value condition = t.both(t.indexLess(row, scalar(op.getValid()[0])),
                                 t.indexLess(column, scalar(op.getValid()[1])));
        Value address = addressOf(memory, elementIndices(t, offsets, op.getDims(), row, column));
        t.storeChunkIf(condition, address, w);
      }
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
