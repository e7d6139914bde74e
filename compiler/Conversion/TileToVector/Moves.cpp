//===- Moves.cpp - tiles between memory and buffers -----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Moves.h"
#include "compiler/Conversion/TileToVector/AMX.h"
#include "compiler/Conversion/TileToVector/Pairs.h"
#include "compiler/Conversion/TileToVector/Shuffles.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc;

Value Place::at(Context &c, Value row, Value column) const {
  Index x(c.b, c.loc);
  Value fromFirst;
  if (rowOffsets)
    fromFirst = arith::IndexCastOp::create(
        c.b, c.loc, c.b.getIndexType(),
        memref::LoadOp::create(c.b, c.loc, rowOffsets, ValueRange{row, x.constant(0)}));
  else
    fromFirst = x.mul(row, rowStride);
  Value result = x.add(offset, fromFirst);
  return column ? x.add(result, x.mul(column, columnStride)) : result;
}

Place flashc::emitPlace(Context &c, Value memory, ValueRange offsets, ArrayRef<int64_t> dims) {
  Index x(c.b, c.loc);
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, memory);
  auto flatType =
      MemRefType::get({ShapedType::kDynamic}, element,
                      StridedLayoutAttr::get(c.b.getContext(), ShapedType::kDynamic, {1}));
  Place place;
  place.flat = memref::ReinterpretCastOp::create(
      c.b, c.loc, flatType, metadata.getBaseBuffer(), OpFoldResult(metadata.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(x.constant(INT64_MAX))},
      ArrayRef<OpFoldResult>{OpFoldResult(c.b.getIndexAttr(1))});
  place.offset = x.constant(0);
  for (auto [offset, stride] : llvm::zip(offsets, metadata.getStrides()))
    place.offset = x.add(place.offset, x.mul(offset, stride));
  place.rowStride = metadata.getStrides()[dims[0]];
  if (dims.size() == 2) {
    place.columnStride = metadata.getStrides()[dims[1]];
    place.columnsAreAdjacent = x.equal(place.columnStride, x.constant(1));
  }
  return place;
}

Source::Source(Context &c, tile::LoadOp op)
    : element(tileType(op.getTile()).getElementType()), rows(tileRows(op.getTile())),
      columns(tileColumns(op.getTile())), isNextKnown(advancesByTile(op)) {
  SmallVector<Value> offsets;
  for (Value offset : op.getOffsets())
    offsets.push_back(c.scalars.lookup(offset));
  for (Value size : op.getValid())
    valid.push_back(c.scalars.lookup(size));
  if (op.getTable())
    offsets[op.getDims()[0]] = Index(c.b, c.loc).constant(0); // followTable has the row in its page
  place = emitPlace(c, c.scalars.lookup(op.getSource()), offsets, op.getDims());
  if (op.getTable())
    followTable(c, op);
  isWhole =
      llvm::all_of_zip(op.getValid(), tileType(op.getTile()).getShape(),
                       [](Value size, int64_t all) { return getConstantIntValue(size) == all; });
}

void Source::followTable(Context &c, tile::LoadOp op) {
  Value memory = c.scalars.lookup(op.getSource()), table = c.scalars.lookup(op.getTable());
  Value sequence = c.scalars.lookup(op.getTableRow());
  Value first = c.scalars.lookup(op.getOffsets()[op.getDims()[0]]);
  auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, memory);
  Value pageStride = metadata.getStrides()[0], pageRows = metadata.getSizes()[op.getDims()[0]];
  place.rowOffsets = c.allocateRows(RankedTensorType::get({rows, 1}, c.b.getI64Type()));
  emitLoop(c, Index(c.b, c.loc).constant(0), valid[0], 1, [&](Value row) {
    Index x(c.b, c.loc);
    Value key = x.add(first, row);
    Value entry =
        memref::LoadOp::create(c.b, c.loc, table, ValueRange{sequence, x.div(key, pageRows)});
    Value page = arith::IndexCastOp::create(c.b, c.loc, c.b.getIndexType(), entry);
    Value offset = x.add(x.mul(page, pageStride), x.mul(x.rem(key, pageRows), place.rowStride));
    Value stored = arith::IndexCastOp::create(c.b, c.loc, c.b.getI64Type(), offset);
    memref::StoreOp::create(c.b, c.loc, stored, place.rowOffsets, ValueRange{row, x.constant(0)});
  });
}

/// Whether the op loads the rows that follow in the next iteration of its loop.
bool Source::advancesByTile(tile::LoadOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (op.getTable()) // where they lie is not known yet
    return false;
  if (!loop || getConstantIntValue(loop.getStep()) != tileRows(op.getTile()))
    return false;
  Value offset = op.getOffsets()[op.getDims()[0]], induction = loop.getInductionVar();
  auto sum = offset.getDefiningOp<arith::AddIOp>();
  return offset == induction || (sum && llvm::is_contained(sum->getOperands(), induction));
}

Value Source::vector(Context &c, Value row, Value column, int64_t width) const {
  if (isNextKnown) {
    // Rows are often a page apart, which no hardware prefetcher follows.
    Value next = place.at(c, Index(c.b, c.loc).add(row, rows), column);
    memref::PrefetchOp::create(c.b, c.loc, place.flat, next, /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
  }
  return vector::LoadOp::create(c.b, c.loc, VectorType::get({width}, element), place.flat,
                                place.at(c, row, column));
}

Value Source::scalar(Context &c, Value row, Value column) const {
  return memref::LoadOp::create(c.b, c.loc, place.flat, place.at(c, row, column));
}

void flashc::emitLoop(Context &c, Value from, Value to, int64_t step,
                      llvm::function_ref<void(Value)> body) {
  Index x(c.b, c.loc);
  auto loop = scf::ForOp::create(c.b, c.loc, from, to, x.constant(step));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value flashc::widen(Context &c, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (carrierOf(element) == element)
    return value;
  Type wide = c.b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    wide = vector.clone(wide);
  return arith::ExtFOp::create(c.b, c.loc, wide, value);
}

namespace {

Value narrow(Context &c, Value value, Type element) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(c.b, c.loc, type, value);
}

class Loader {
public:
  Loader(Context &c, const Source &source, const Buffer &buffer)
      : c(c), source(source), buffer(buffer), rows(source.rows), columns(source.columns) {}

  void emit() {
    Index x(c.b, c.loc);
    Value zero = x.constant(0);
    Value done = buffer.isTransposed && columns >= c.lanes ? loadTransposed() : zero;
    emitLoop(c, done, source.valid[0], 1, [&](Value r) { loadRow(r); });
    // Rows are padded when the tile is transposed, columns when it is not.
    Value allRows = x.constant(buffer.isTransposed ? c.padded(rows) : rows);
    emitLoop(c, source.valid[0], allRows, 1, [&](Value r) {
      emitLoop(c, zero, Index(c.b, c.loc).constant(buffer.columns), 1,
               [&](Value column) { put(c.f32(0.0), r, column); });
    });
  }

private:
  Value loadVector(Value r, Value column) { return widen(c, source.vector(c, r, column, c.lanes)); }

  /// Square blocks go through registers; gives the number of rows done, a multiple of the lanes.
  Value loadTransposed() {
    Index x(c.b, c.loc);
    Value zero = x.constant(0);
    Value wholeRows =
        x.select(source.place.columnsAreAdjacent, x.roundDown(source.valid[0], c.lanes), zero);
    int64_t wholeColumns = columns / c.lanes * c.lanes;
    emitLoop(c, zero, wholeRows, c.lanes, [&](Value r) {
      emitLoop(c, zero, Index(c.b, c.loc).constant(wholeColumns), c.lanes, [&](Value column) {
        Index y(c.b, c.loc);
        SmallVector<Value> block;
        for (int64_t lane = 0; lane < c.lanes; ++lane)
          block.push_back(loadVector(y.add(r, lane), column));
        for (auto [lane, vector] : llvm::enumerate(emitTranspose(c, block)))
          vector::StoreOp::create(c.b, c.loc, vector, buffer.memory,
                                  ValueRange{y.add(column, lane), r});
      });
      if (wholeColumns == columns)
        return;
      Index y(c.b, c.loc);
      emitLoop(c, r, y.add(r, c.lanes), 1,
               [&](Value row) { loadScalars(row, Index(c.b, c.loc).constant(wholeColumns)); });
    });
    return wholeRows;
  }

  void loadScalars(Value r, Value from) {
    emitLoop(c, from, source.valid[1], 1,
             [&](Value column) { put(widen(c, source.scalar(c, r, column)), r, column); });
  }

  void loadRow(Value r) {
    Index x(c.b, c.loc);
    Value zero = x.constant(0);
    Value vectorEnd = zero;
    if (!buffer.isTransposed && columns >= c.lanes) {
      Value whole = x.roundDown(source.valid[1], c.lanes);
      vectorEnd = x.select(source.place.columnsAreAdjacent, whole, zero);
      emitLoop(c, zero, vectorEnd, c.lanes, [&](Value column) {
        vector::StoreOp::create(c.b, c.loc, loadVector(r, column), buffer.memory,
                                ValueRange{r, column});
      });
    }
    loadScalars(r, vectorEnd);
    emitLoop(c, source.valid[1], x.constant(buffer.columns), 1,
             [&](Value column) { put(c.f32(0.0), r, column); });
  }

  void put(Value value, Value r, Value column) {
    SmallVector<Value> indices = {r, column};
    if (buffer.isTransposed)
      std::swap(indices[0], indices[1]);
    memref::StoreOp::create(c.b, c.loc, value, buffer.memory, indices);
  }

  Context &c;
  const Source &source;
  const Buffer &buffer;
  int64_t rows, columns;
};

/// A tile of rank 1.
void loadVector(Context &c, const Source &source, const Buffer &buffer) {
  Index x(c.b, c.loc);
  auto put = [&](Value value, Value row) {
    memref::StoreOp::create(c.b, c.loc, value, buffer.memory, row);
  };
  emitLoop(c, x.constant(0), source.valid[0], 1,
           [&](Value row) { put(widen(c, source.scalar(c, row, Value())), row); });
  emitLoop(c, source.valid[0], x.constant(source.rows), 1,
           [&](Value row) { put(c.f32(0.0), row); });
}

/// Whether every element of a buffer is finite: x * 0 is NaN for the others.
Value emitAllFinite(Context &c, const Buffer &buffer) {
  Index x(c.b, c.loc);
  Value zero = c.zeroVector();
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.memory.getType()).getShape();
  auto rows = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(shape[0]), x.constant(1),
                                 ValueRange{zero});
  c.b.setInsertionPointToStart(rows.getBody());
  Index y(c.b, c.loc);
  auto columns = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(shape[1]),
                                    y.constant(c.lanes), rows.getRegionIterArgs());
  scf::YieldOp::create(c.b, c.loc, columns.getResults());
  c.b.setInsertionPointToStart(columns.getBody());
  Value row = rows.getInductionVar(), column = columns.getInductionVar();
  Value sum = columns.getRegionIterArgs()[0];
  if (buffer.format == Format::F32) {
    Value value = vector::LoadOp::create(c.b, c.loc, c.vectorOf(c.b.getF32Type()), buffer.memory,
                                         ValueRange{row, column});
    sum = math::FmaOp::create(c.b, c.loc, value, zero, sum);
  } else {
    for (bool high : {false, true})
      sum = math::FmaOp::create(c.b, c.loc, loadHalves(c, buffer, row, column, high), zero, sum);
  }
  scf::YieldOp::create(c.b, c.loc, sum);
  c.b.setInsertionPointAfter(rows);
  Value total =
      vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::ADD, rows.getResult(0));
  return arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::ORD, total, total);
}

/// Whether the dots that use a whole tile read it but a few times, row by row in vectors, so that packing it would
/// take longer than reading it.
bool isReadInPlace(Context &c, tile::LoadOp op, const Source &source) {
  if (!source.isWhole || op.getTable() || op.getDims().size() != 2 ||
      source.columns % c.lanes != 0 || source.rows % (kStreams * 4) != 0 ||
      kStreams * c.microRows % c.lanes != 0 || c.lanes % c.microRows != 0 ||
      c.formatOf(op.getTile()) != Format::F32 || !isa<FloatType>(source.element) ||
      op.getTile().use_empty())
    return false;
  return llvm::all_of(op.getTile().getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.get() == dot.getB() && use.get() != dot.getA() && !dot.getKeep() &&
           !(dot.getInit() && dot.getTransposeB()) && tileRows(dot.getA()) <= kFewRows;
  });
}

/// Whether a dot in tile registers reads a whole tile row by row.
bool isReadByTileRegisters(Context &c, tile::LoadOp op, const Source &source) {
  if (!source.isWhole || op.getTable() || op.getDims().size() != 2 || !op.getTile().hasOneUse() ||
      source.columns % (2 * kAMXSize) != 0 || source.rows % kAMXSize != 0)
    return false;
  auto dot = dyn_cast<tile::DotOp>(*op.getTile().user_begin());
  return dot && dot.getB() == op.getTile() && c.isProductTransposed(dot);
}

/// The array's own rows where their elements are adjacent, or a copy.
Buffer emitInPlace(Context &c, tile::LoadOp op, const Source &source) {
  Index x(c.b, c.loc);
  Type type = MemRefType::get(
      {source.rows, source.columns}, source.element,
      StridedLayoutAttr::get(c.b.getContext(), ShapedType::kDynamic, {ShapedType::kDynamic, 1}));
  Value copy = c.allocateRows(tileType(op.getTile()));
  auto branch = scf::IfOp::create(c.b, c.loc, type, source.place.columnsAreAdjacent,
                                  /*withElseRegion=*/true);
  auto yield = [&](Value memory, Value offset, Value stride) {
    auto metadata = memref::ExtractStridedMetadataOp::create(c.b, c.loc, memory);
    Value rows = memref::ReinterpretCastOp::create(
        c.b, c.loc, cast<MemRefType>(type), metadata.getBaseBuffer(), OpFoldResult(offset),
        ArrayRef<OpFoldResult>{c.b.getIndexAttr(source.rows), c.b.getIndexAttr(source.columns)},
        ArrayRef<OpFoldResult>{OpFoldResult(stride), c.b.getIndexAttr(1)});
    scf::YieldOp::create(c.b, c.loc, rows);
  };
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(branch.thenBlock());
  auto flat = memref::ExtractStridedMetadataOp::create(c.b, c.loc, source.place.flat);
  yield(source.place.flat, Index(c.b, c.loc).add(flat.getOffset(), source.place.offset),
        source.place.rowStride);
  c.b.setInsertionPointToStart(branch.elseBlock());
  emitLoop(c, x.constant(0), x.constant(source.rows), 1, [&](Value row) {
    emitLoop(c, Index(c.b, c.loc).constant(0), Index(c.b, c.loc).constant(source.columns), 1,
             [&](Value column) {
               memref::StoreOp::create(c.b, c.loc, source.scalar(c, row, column), copy,
                                       ValueRange{row, column});
             });
  });
  Index y(c.b, c.loc);
  yield(copy, y.constant(0), y.constant(source.columns));

  Buffer buffer;
  buffer.memory = branch.getResult(0);
  buffer.rows = source.rows;
  buffer.columns = source.columns;
  buffer.isInPlace = true;
  buffer.nextRows = source.isNextKnown ? source.rows : 0;
  return buffer;
}

} // namespace

void flashc::lowerLoad(Context &c, tile::LoadOp op) {
  Source source(c, op);
  if (isReadInPlace(c, op, source) || isReadByTileRegisters(c, op, source)) {
    Buffer buffer = emitInPlace(c, op, source);
    if (buffer.nextRows)
      c.nextTiles.tiles.push_back(buffer);
    c.buffers[op.getTile()] = buffer;
    return;
  }
  bool isTransposed = !op.getTile().use_empty(), needsFinite = false;
  for (OpOperand &use : op.getTile().getUses()) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    bool isB = dot && dot.getB() == op.getTile();
    isTransposed &= dot && c.isProductTransposed(dot) ? !isB : isB && dot.getTransposeB();
    needsFinite |= isB && dot.getKeep();
  }
  Format format = c.formatOf(op.getTile());
  bool isPairs = format != Format::F32;
  Buffer buffer = isPairs ? c.allocatePairs(op.getTile().getType(), format, isTransposed)
                          : c.allocate(op.getTile().getType(), isTransposed);
  if (!isMatrix(op.getTile()))
    loadVector(c, source, buffer);
  else if (isPairs)
    emitPairLoad(c, source, buffer);
  else
    Loader(c, source, buffer).emit();
  c.buffers[op.getTile()] = buffer;
  if (needsFinite)
    c.allFinite[op.getTile()] = emitAllFinite(c, buffer);
}

void flashc::emitStoreVector(Context &c, const Place &place, Value row, Value column,
                             Value validColumns, Value value) {
  Index x(c.b, c.loc);
  Type element = cast<MemRefType>(place.flat.getType()).getElementType();
  Value whole = x.both(place.columnsAreAdjacent, x.le(x.add(column, c.lanes), validColumns));
  auto branch = scf::IfOp::create(c.b, c.loc, whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(branch.thenBlock());
  vector::StoreOp::create(c.b, c.loc, narrow(c, value, element), place.flat,
                          place.at(c, row, column));
  c.b.setInsertionPointToStart(branch.elseBlock());
  Index y(c.b, c.loc);
  Value count = y.min(y.sub(validColumns, column), c.lanes);
  emitLoop(c, y.constant(0), count, 1, [&](Value lane) {
    // Rounded after the extraction: extracting a bf16 is a call into a support library.
    Value scalar = vector::ExtractOp::create(c.b, c.loc, value, OpFoldResult(lane));
    Value at = place.at(c, row, Index(c.b, c.loc).add(column, lane));
    memref::StoreOp::create(c.b, c.loc, narrow(c, scalar, element), place.flat, at);
  });
}

void flashc::emitStoreScalar(Context &c, const Place &place, Value row, Value value) {
  Type element = cast<MemRefType>(place.flat.getType()).getElementType();
  memref::StoreOp::create(c.b, c.loc, narrow(c, value, element), place.flat,
                          place.at(c, row, Value()));
}
