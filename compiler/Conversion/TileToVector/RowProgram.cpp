//===- RowProgram.cpp - fused elementwise ops and reductions --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/RowProgram.h"
#include "compiler/Conversion/TileToVector/Pairs.h"
#include "compiler/Conversion/TileToVector/ReadAhead.h"
#include "compiler/Conversion/TileToVector/Shuffles.h"

using namespace mlir;
using namespace flashc;

bool flashc::isPure(Context &c, Value value) {
  return allSources(value, [&](Value source) {
    Operation *op = source.getDefiningOp();
    bool isInner = op && !c.buffers.contains(source) && isElementwise(op);
    return isInner ? Walk::Inner : Walk::Refused;
  });
}

RowProgram::RowProgram(Context &context, ArrayRef<Operation *> operations)
    : c(context), ops(operations), members(operations.begin(), operations.end()) {}

/// Whether recomputing `value` costs at most `budget` simple operations.
bool RowProgram::isCheap(Value value, int budget) {
  if (!tile::isTile(value.getType()) || c.buffers.contains(value) || !isMatrix(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isIn(op) || isa<tile::ReduceOp>(op))
    return true;
  if (isa<arith::ConstantOp, tensor::SplatOp, tile::CoordsOp, tile::BroadcastOp>(op))
    return true;
  if (isa<math::MathDialect>(op->getDialect()) || isa<tile::GatherOp>(op) || budget == 0)
    return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isCheap(operand, budget - 1); });
}

unsigned RowProgram::phaseOf(Value value) {
  if (!tile::isTile(value.getType()))
    return 0;
  auto found = phases.find(value);
  if (found != phases.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  unsigned phase = 0;
  if (isIn(op)) {
    for (Value operand : op->getOperands())
      phase = std::max(phase, phaseOf(operand));
    if (isa<tile::ReduceOp>(op))
      ++phase;
  }
  phases[value] = phase;
  lastPhase = std::max(lastPhase, phase);
  return phase;
}

void RowProgram::keep(Value value, bool inBlockBuffer) {
  auto found = kept.find(value);
  if (found != kept.end() && (inBlockBuffer || !found->second.isBlock))
    return;
  Format format = inBlockBuffer ? Format::F32 : c.formatOf(value);
  kept[value] = inBlockBuffer || !isMatrix(value)
                    ? c.allocate(value.getType(), false, inBlockBuffer)
                    : c.allocateActive(value, format);
}

/// Keeps a value of rank 1 in memory; one that is no f32 is computed from others there.
void RowProgram::keepRowValue(Value value) {
  allSources(value, [&](Value source) {
    if (!isIn(source.getDefiningOp()) || isPureHere(source))
      return Walk::Leaf;
    if (!carrierOf(tileType(source).getElementType()).isF32())
      return Walk::Inner;
    keep(source, false);
    return Walk::Leaf;
  });
}

/// Makes `value` available to ops after the program: by a buffer, or by what it is computed from.
void RowProgram::requireLater(Value value) {
  allSources(value, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (!isIn(op) || isPureHere(source))
      return Walk::Leaf;
    bool isF32 = carrierOf(tileType(source).getElementType()).isF32();
    bool isKept = isF32 && (!isMatrix(source) || !isCheap(source, 1));
    if (!isKept && !isa<tile::ReduceOp>(op))
      return Walk::Inner;
    keep(source, false);
    return Walk::Leaf;
  });
}

bool RowProgram::isPureHere(Value value) {
  auto [found, isNew] = pure.try_emplace(value, false);
  if (isNew)
    found->second = isPure(c, value);
  return found->second;
}

void RowProgram::findOutputs() {
  // In order, so that each is known from its operands.
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      bool isPureValue = isElementwise(op) && !c.buffers.contains(result) &&
                         llvm::all_of(op->getOperands(), [&](Value operand) {
                           return !tile::isTile(operand.getType()) || isPureHere(operand);
                         });
      pure[result] = isPureValue;
    }
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      phaseOf(operand);
    for (Value result : op->getResults()) {
      phaseOf(result);
      for (OpOperand &use : result.getUses()) {
        Operation *user = use.getOwner();
        if (isIn(user))
          continue;
        auto dot = dyn_cast<tile::DotOp>(user);
        bool isFactor = dot && (use.get() == dot.getA() || use.get() == dot.getB());
        if (isFactor || isa<scf::YieldOp>(user))
          keep(result, false);
        else
          requireLater(result);
      }
    }
  }
  // Rows read the values of rank 1 that are broadcast to them one by one, from memory.
  for (Operation *op : ops) {
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      Value source = broadcast.getSource();
      if (isIn(source.getDefiningOp()) && !isPureHere(source))
        keepRowValue(source);
    }
    if (isa<tile::ReduceOp>(op))
      keep(op->getResult(0), false);
  }
  // A value that a later phase reads again, and that is not cheap to recompute, stays in a buffer of a block.
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      if (!tile::isTile(operand.getType()) || !isIn(operand.getDefiningOp()) ||
          !isMatrix(operand) || !carrierOf(tileType(operand).getElementType()).isF32() ||
          isCheap(operand, 1))
        continue;
      unsigned use = isa<tile::StoreOp>(op) ? phaseOf(operand) : phaseOf(op->getResult(0));
      if (isa<tile::ReduceOp>(op))
        use = phaseOf(operand);
      if (use > phaseOf(operand))
        keep(operand, true);
    }
}

void RowProgram::emit() {
  findOutputs();
  bool hasStore = llvm::any_of(ops, [](Operation *op) { return isa<tile::StoreOp>(op); });
  if (kept.empty() && !hasStore)
    return;
  // The program computes as many rows as the neediest of its results.
  Value extent;
  auto include = [&](Value tile) {
    Index x(c.b, c.loc);
    Value begin = c.firstRowOf(tile), rows = c.rowsOf(tile);
    first = first && first != begin ? x.min(first, begin) : begin;
    extent = extent && extent != rows ? x.max(extent, rows) : rows;
  };
  for (auto &entry : kept)
    include(entry.first);
  for (Operation *op : ops)
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      include(store.getTile());
      SmallVector<Value> offsets;
      for (Value offset : store.getOffsets())
        offsets.push_back(c.scalars.lookup(offset));
      places[op] = emitPlace(c, c.scalars.lookup(store.getDest()), offsets, store.getDims());
    }
  Index x(c.b, c.loc);
  auto loop = scf::ForOp::create(c.b, c.loc, first, extent, x.constant(c.lanes));
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    emitBlock(loop.getInductionVar(), extent);
  }
  for (auto &[value, buffer] : kept) {
    if (buffer.isBlock)
      c.buffers.erase(value);
    else
      c.buffers[value] = buffer;
  }
}

void RowProgram::emitBlock(Value firstRow, Value extent) {
  for (unsigned phase = 0; phase <= lastPhase; ++phase) {
    emitRowValues(phase, firstRow, extent);
    emitColumns(phase, firstRow, extent);
  }
}

/// Tiles of rank 1 are one vector in a block.
void RowProgram::emitRowValues(unsigned phase, Value firstRow, Value extent) {
  Evaluator evaluate = Evaluator::ofRows(c, firstRow);
  for (Operation *op : ops) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (isMatrix(store.getTile()) || phaseOf(store.getTile()) != phase)
        continue;
      Value vector = evaluate.value(store.getTile());
      Index x(c.b, c.loc);
      Value valid = x.min(extent, c.scalars.lookup(store.getValid()[0]));
      Value count = x.min(x.sub(valid, firstRow), c.lanes);
      auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), count, x.constant(1));
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(loop.getBody());
      Value lane = loop.getInductionVar();
      Value scalar = vector::ExtractOp::create(c.b, c.loc, vector, OpFoldResult(lane));
      emitStoreScalar(c, places[op], Index(c.b, c.loc).add(firstRow, lane), scalar);
      continue;
    }
    Value result = op->getResult(0);
    if (isMatrix(result) || phaseOf(result) != phase || isa<tile::ReduceOp>(op))
      continue;
    auto found = kept.find(result);
    if (found == kept.end())
      continue; // evaluated where it is used
    Value vector = evaluate.value(result);
    vector::StoreOp::create(c.b, c.loc, vector, found->second.memory, firstRow);
    c.buffers[result] = found->second;
  }
}

void RowProgram::emitColumns(unsigned phase, Value firstRow, Value extent) {
  llvm::MapVector<int64_t, SmallVector<ColumnTask>> tasks; // by number of columns
  for (Operation *op : ops) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (isMatrix(store.getTile()) && phaseOf(store.getTile()) == phase)
        tasks[tileColumns(store.getTile())].push_back({op, store.getTile(), {}});
      continue;
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      if (phaseOf(reduce.getSource()) == phase)
        tasks[tileColumns(reduce.getSource())].push_back({op, reduce.getSource(), {}});
      continue;
    }
    Value result = op->getResult(0);
    auto found = kept.find(result);
    if (isMatrix(result) && phaseOf(result) == phase && found != kept.end())
      tasks[tileColumns(result)].push_back({op, result, found->second});
  }
  for (auto &[columns, list] : tasks)
    emitColumnLoops(list, columns, firstRow, extent);
  for (auto &[columns, list] : tasks)
    for (ColumnTask &task : list)
      if (task.buffer.memory)
        c.buffers[task.value] = task.buffer; // later phases read it back
}

Value RowProgram::combine(tile::ReduceKind kind, Value sum, Value value) {
  switch (kind) {
  case tile::ReduceKind::Max:
    return arith::MaximumFOp::create(c.b, c.loc, sum, value);
  case tile::ReduceKind::Sum:
    return arith::AddFOp::create(c.b, c.loc, sum, value);
  case tile::ReduceKind::MaxNum: {
    // One instruction on x86, which gives `sum` where the value is NaN.
    Value isLarger = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OGT, value, sum);
    return arith::SelectOp::create(c.b, c.loc, isLarger, value, sum);
  }
  }
  llvm_unreachable("unknown reduction");
}

/// Whether a task keeps its value for other programs and dots.
static bool isOperand(const Buffer &buffer) { return buffer.memory && !buffer.isBlock; }

/// Each row of a block passes over its columns; then the block's partial results are reduced together.
void RowProgram::emitColumnLoops(ArrayRef<ColumnTask> tasks, int64_t columns, Value firstRow,
                                 Value extent) {
  Index x(c.b, c.loc);
  SmallVector<tile::ReduceOp> reductions;
  for (const ColumnTask &task : tasks)
    if (auto reduce = dyn_cast<tile::ReduceOp>(task.op)) {
      reductions.push_back(reduce);
      Value &memory = partialSums[reduce];
      if (!memory)
        memory = c.allocate(RankedTensorType::get({c.lanes, c.lanes}, c.b.getF32Type())).memory;
    }

  Value end = x.min(x.add(firstRow, c.lanes), extent);
  auto loop = scf::ForOp::create(c.b, c.loc, firstRow, end, x.constant(1));
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    if (llvm::any_of(tasks, [](const ColumnTask &task) { return isOperand(task.buffer); })) {
      Index y(c.b, c.loc);
      ReadAhead::ofRows(c).emit(c, y.sub(row, first), y.sub(extent, first));
    }
    SmallVector<Value> sums;
    emitRow(tasks, columns, row, sums);
    Value local = Index(c.b, c.loc).sub(row, firstRow);
    Value zero = Index(c.b, c.loc).constant(0);
    for (auto [reduce, sum] : llvm::zip(reductions, sums))
      vector::StoreOp::create(c.b, c.loc, sum, partialSums[reduce], ValueRange{local, zero});
  }
  for (tile::ReduceOp reduce : reductions) {
    SmallVector<Value> block;
    for (int64_t row = 0; row < c.lanes; ++row)
      block.push_back(vector::LoadOp::create(c.b, c.loc, c.vectorOf(c.b.getF32Type()),
                                             partialSums[reduce],
                                             ValueRange{x.constant(row), x.constant(0)}));
    Value total = emitReduceLanes(
        c, block, [&](Value a, Value b) { return combine(reduce.getKind(), a, b); });
    const Buffer &buffer = kept[reduce.getResult()];
    vector::StoreOp::create(c.b, c.loc, total, buffer.memory, firstRow);
    c.buffers[reduce.getResult()] = buffer;
  }
}

/// All tasks of one row; `sums` become the reductions' partial results, a vector each.
void RowProgram::emitRow(ArrayRef<ColumnTask> tasks, int64_t columns, Value row,
                         SmallVectorImpl<Value> &sums) {
  Index x(c.b, c.loc);
  int64_t vectors = c.padded(columns) / c.lanes;
  // Few registers hold few chains of operations beside the constants.
  int64_t unroll = c.vectorRegisters >= 32 ? 4 : 2;
  while (vectors % unroll != 0)
    --unroll;

  SmallVector<Value> neutral;
  for (const ColumnTask &task : tasks)
    if (auto reduce = dyn_cast<tile::ReduceOp>(task.op)) {
      bool isSum = reduce.getKind() == tile::ReduceKind::Sum;
      float value = isSum ? 0.0f : -std::numeric_limits<float>::infinity();
      auto type = c.vectorOf(c.b.getF32Type());
      neutral.push_back(arith::ConstantOp::create(c.b, c.loc, DenseElementsAttr::get(type, value)));
    }

  auto step = [&](Value column, SmallVector<Value> partial) {
    SmallVector<Value> half(tasks.size()); // of what is stored as pairs, the first of two vectors
    for (int64_t u = 0; u < unroll; ++u) {
      Value at = Index(c.b, c.loc).add(column, u * c.lanes);
      Evaluator evaluate(c, row, at, c.lanes);
      unsigned reduction = 0;
      for (auto [task, first] : llvm::zip(tasks, half)) {
        Value value = evaluate.value(task.value);
        if (auto reduce = dyn_cast<tile::ReduceOp>(task.op)) {
          if (columns % c.lanes != 0) { // padding is no part of the tile
            Index y(c.b, c.loc);
            Value left = y.sub(y.constant(columns), at);
            Value mask = vector::CreateMaskOp::create(
                c.b, c.loc, VectorType::get({c.lanes}, c.b.getI1Type()), ValueRange{left});
            value = arith::SelectOp::create(c.b, c.loc, mask, value, neutral[reduction]);
          }
          partial[reduction] = combine(reduce.getKind(), partial[reduction], value);
          ++reduction;
        } else if (auto store = dyn_cast<tile::StoreOp>(task.op)) {
          emitStoreVector(c, places[task.op], row, at, c.scalars.lookup(store.getValid()[1]),
                          value);
        } else {
          Value r = task.buffer.rowIn(c, row);
          bool isPairs = task.buffer.format == Format::LeftPairs;
          if (isPairs && u % 2 == 0 && u + 1 < unroll)
            first = value;
          else if (isPairs && u % 2 == 1)
            storeLeft(c, task.buffer, r, Index(c.b, c.loc).sub(at, c.lanes), {first, value});
          else if (isPairs)
            storeLeft(c, task.buffer, r, at, value);
          else
            vector::StoreOp::create(c.b, c.loc, value, task.buffer.memory, ValueRange{r, at});
        }
      }
    }
    return partial;
  };

  if (vectors == unroll) {
    sums = step(x.constant(0), neutral);
    return;
  }
  auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(vectors * c.lanes),
                                 x.constant(unroll * c.lanes), neutral);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      step(loop.getInductionVar(), llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  if (!next.empty())
    scf::YieldOp::create(c.b, c.loc, next);
  sums.assign(loop.result_begin(), loop.result_end());
}

void flashc::emitInto(Context &c, Value value, const Buffer &buffer) {
  auto loop = scf::ForOp::create(c.b, c.loc, c.firstRowOf(value), c.rowsOf(value),
                                 Index(c.b, c.loc).constant(1));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  if (!isMatrix(value)) {
    Value scalar = Evaluator(c, row, Value(), 1).value(value);
    memref::StoreOp::create(c.b, c.loc, scalar, buffer.memory, row);
    return;
  }
  Index y(c.b, c.loc);
  auto columns = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(buffer.columns),
                                    y.constant(c.lanes));
  c.b.setInsertionPointToStart(columns.getBody());
  Value column = columns.getInductionVar();
  Value vector = Evaluator(c, row, column, c.lanes).value(value);
  vector::StoreOp::create(c.b, c.loc, vector, buffer.memory, ValueRange{row, column});
}

Value flashc::emitAll(Context &c, Value tile) {
  Index x(c.b, c.loc);
  int64_t columns = tileColumns(tile), width = c.lanes;
  while (columns % width != 0) // padding is no part of the tile
    width /= 2;
  auto type = VectorType::get({width}, c.b.getI1Type());
  Value all = arith::ConstantOp::create(c.b, c.loc, DenseElementsAttr::get(type, true));
  auto rows =
      scf::ForOp::create(c.b, c.loc, c.firstRowOf(tile), c.rowsOf(tile), x.constant(1), all);
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(rows.getBody());
    Index y(c.b, c.loc);
    auto loop = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(columns),
                                   y.constant(width), rows.getRegionIterArgs());
    scf::YieldOp::create(c.b, c.loc, loop.getResults());
    c.b.setInsertionPointToStart(loop.getBody());
    Value here = Evaluator(c, rows.getInductionVar(), loop.getInductionVar(), width).value(tile);
    here = width == 1 ? Value(vector::BroadcastOp::create(c.b, c.loc, type, here)) : here;
    Value both = arith::AndIOp::create(c.b, c.loc, loop.getRegionIterArgs()[0], here);
    scf::YieldOp::create(c.b, c.loc, both);
  }
  return vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::AND, rows.getResult(0));
}
