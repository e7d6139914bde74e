//===- RowProgram.cpp - fused elementwise ops and reductions --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/RowProgram.h"

using namespace mlir;
using namespace flashc;

bool flashc::isPure(Context &c, Value value) {
  if (!tile::isTile(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || c.buffers.contains(value) || !isElementwise(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isPure(c, operand); });
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

void RowProgram::keep(Value value, bool inRowBuffer) {
  auto found = kept.find(value);
  if (found != kept.end() && (inRowBuffer || !found->second.isRow))
    return;
  kept[value] = c.allocate(value.getType(), false, inRowBuffer);
}

/// Makes `value` available to ops after the program: by a buffer, or by what it is computed from.
void RowProgram::requireLater(Value value) {
  if (!tile::isTile(value.getType()) || !isIn(value.getDefiningOp()) || isPure(c, value))
    return;
  bool isF32 = carrierOf(tileType(value).getElementType()).isF32();
  if (isF32 && (!isMatrix(value) || !isCheap(value, 1)))
    return keep(value, false);
  if (isa<tile::ReduceOp>(value.getDefiningOp()))
    return keep(value, false);
  for (Value operand : value.getDefiningOp()->getOperands())
    requireLater(operand);
}

void RowProgram::findOutputs() {
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
        bool isLeft = dot && (use.get() == dot.getA() || use.get() == dot.getB());
        if (isLeft || isa<scf::YieldOp>(user))
          keep(result, false);
        else
          requireLater(result);
      }
    }
  }
  // A value that a later phase reads again, and that is not cheap to recompute, stays in a row buffer.
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
  auto include = [&](Value rows) { extent = extent && extent != rows ? Index(c.b, c.loc).max(extent, rows) : rows; };
  for (auto &entry : kept)
    include(c.rowsOf(entry.first));
  for (Operation *op : ops)
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      include(c.rowsOf(store.getTile()));
      SmallVector<Value> offsets;
      for (Value offset : store.getOffsets())
        offsets.push_back(c.scalars.lookup(offset));
      places[op] = emitPlace(c, c.scalars.lookup(store.getDest()), offsets, store.getDims());
    }
  Index x(c.b, c.loc);
  auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), extent, x.constant(1));
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    emitRow(loop.getInductionVar());
  }
  for (auto &[value, buffer] : kept) {
    if (buffer.isRow)
      c.buffers.erase(value);
    else
      c.buffers[value] = buffer;
  }
}

void RowProgram::emitRow(Value row) {
  for (unsigned phase = 0; phase <= lastPhase; ++phase) {
    emitRowValues(phase, row);
    emitColumns(phase, row);
  }
}

/// Tiles of rank 1 are one scalar in a row.
void RowProgram::emitRowValues(unsigned phase, Value row) {
  Evaluator evaluate(c, row, Value(), 1, rowValues);
  for (Operation *op : ops) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (isMatrix(store.getTile()) || phaseOf(store.getTile()) != phase)
        continue;
      Value value = evaluate.vector(store.getTile());
      Index x(c.b, c.loc);
      Value inside = x.lt(row, c.scalars.lookup(store.getValid()[0]));
      auto branch = scf::IfOp::create(c.b, c.loc, inside, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(branch.thenBlock());
      emitStoreScalar(c, places[op], row, value);
      continue;
    }
    Value result = op->getResult(0);
    if (isMatrix(result) || phaseOf(result) != phase)
      continue;
    if (!rowValues.contains(result))
      rowValues[result] = evaluate.vector(result);
    auto found = kept.find(result);
    if (found != kept.end())
      memref::StoreOp::create(c.b, c.loc, rowValues[result], found->second.memory, row);
  }
}

void RowProgram::emitColumns(unsigned phase, Value row) {
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
    emitColumnLoop(list, columns, row);
  for (auto &[columns, list] : tasks)
    for (ColumnTask &task : list)
      if (task.buffer.memory)
        c.buffers[task.value] = task.buffer; // later phases read it back
}

void RowProgram::emitColumnLoop(ArrayRef<ColumnTask> tasks, int64_t columns, Value row) {
  Index x(c.b, c.loc);
  int64_t vectors = c.padded(columns) / c.lanes;
  int64_t unroll = 4;
  while (vectors % unroll != 0)
    --unroll;
  if (vectors <= 8)
    unroll = vectors;

  SmallVector<Value> partial;
  SmallVector<tile::ReduceOp> reductions;
  for (const ColumnTask &task : tasks)
    if (auto reduce = dyn_cast<tile::ReduceOp>(task.op)) {
      bool isMax = reduce.getKind() == tile::ReduceKind::Max;
      float neutral = isMax ? -std::numeric_limits<float>::infinity() : 0.0f;
      auto type = c.vectorOf(c.b.getF32Type());
      partial.push_back(
          arith::ConstantOp::create(c.b, c.loc, DenseElementsAttr::get(type, neutral)));
      reductions.push_back(reduce);
    }

  auto combine = [&](tile::ReduceOp reduce, Value sum, Value value) -> Value {
    if (reduce.getKind() == tile::ReduceKind::Max)
      return arith::MaximumFOp::create(c.b, c.loc, sum, value);
    return arith::AddFOp::create(c.b, c.loc, sum, value);
  };
  auto step = [&](Value column, SmallVector<Value> sums) {
    for (int64_t u = 0; u < unroll; ++u) {
      Value at = Index(c.b, c.loc).add(column, u * c.lanes);
      Evaluator evaluate(c, row, at, c.lanes, rowValues);
      unsigned reduction = 0;
      for (const ColumnTask &task : tasks) {
        Value value = evaluate.matrix(task.value);
        if (auto reduce = dyn_cast<tile::ReduceOp>(task.op)) {
          if (columns % c.lanes != 0) { // padding is no part of the tile
            Index y(c.b, c.loc);
            Value left = y.sub(y.constant(columns), at);
            Value mask = vector::CreateMaskOp::create(
                c.b, c.loc, VectorType::get({c.lanes}, c.b.getI1Type()), ValueRange{left});
            value = arith::SelectOp::create(c.b, c.loc, mask, value, partial[reduction]);
          }
          sums[reduction] = combine(reduce, sums[reduction], value);
          ++reduction;
        } else if (auto store = dyn_cast<tile::StoreOp>(task.op)) {
          emitStoreVector(c, places[task.op], row, at, c.scalars.lookup(store.getValid()[1]),
                          value);
        } else {
          Value r = task.buffer.isRow ? Index(c.b, c.loc).constant(0) : row;
          vector::StoreOp::create(c.b, c.loc, value, task.buffer.memory, ValueRange{r, at});
        }
      }
    }
    return sums;
  };

  SmallVector<Value> sums;
  if (vectors == unroll) {
    sums = step(x.constant(0), partial);
  } else {
    auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), x.constant(vectors * c.lanes),
                                   x.constant(unroll * c.lanes), partial);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = step(loop.getInductionVar(), llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
    if (!next.empty())
      scf::YieldOp::create(c.b, c.loc, next);
    sums = loop.getResults();
  }
  for (auto [reduce, sum] : llvm::zip(reductions, sums)) {
    auto kind = reduce.getKind() == tile::ReduceKind::Max ? vector::CombiningKind::MAXIMUMF
                                                          : vector::CombiningKind::ADD;
    Value total = vector::ReductionOp::create(c.b, c.loc, kind, sum);
    rowValues[reduce.getResult()] = total;
  }
}

void flashc::emitInto(Context &c, Value value, const Buffer &buffer) {
  Index x(c.b, c.loc);
  auto loop = scf::ForOp::create(c.b, c.loc, x.constant(0), c.rowsOf(value), x.constant(1));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  RowValues rowValues;
  if (!isMatrix(value)) {
    Value scalar = Evaluator(c, row, Value(), 1, rowValues).vector(value);
    memref::StoreOp::create(c.b, c.loc, scalar, buffer.memory, row);
    return;
  }
  Index y(c.b, c.loc);
  auto columns = scf::ForOp::create(c.b, c.loc, y.constant(0), y.constant(buffer.columns),
                                    y.constant(c.lanes));
  c.b.setInsertionPointToStart(columns.getBody());
  Value column = columns.getInductionVar();
  Value vector = Evaluator(c, row, column, c.lanes, rowValues).matrix(value);
  vector::StoreOp::create(c.b, c.loc, vector, buffer.memory, ValueRange{row, column});
}
