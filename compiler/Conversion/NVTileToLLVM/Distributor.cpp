//===- Distributor.cpp - what one thread does of a kernel -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Conversion/NVTileToLLVM/AffineForm.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashc;

ThreadTile::ThreadTile(RankedTensorType type)
    : isMatrix(type.getRank() == 2), isLines(isa<nvtile::LinesAttr>(type.getEncoding())) {
  columnWarps = 1;
  if (isLines) {
    rowWarps = cast<nvtile::LinesAttr>(type.getEncoding()).getRowWarps();
    warpRows = type.getDimSize(0) / rowWarps;
    warpColumns = isMatrix ? type.getDimSize(1) : 0;
    laneColumns = llvm::divideCeil(warpColumns, kWarpSize);
    rowBlocks = columnBlocks = 0;
    rowLanes = kWarpSize;
    return;
  }
  if (auto operand = dyn_cast<nvtile::OperandAttr>(type.getEncoding())) {
    rowWarps = operand.getRowWarps();
  } else {
    auto fragment = cast<nvtile::FragmentAttr>(type.getEncoding());
    rowWarps = fragment.getRowWarps();
    columnWarps = isMatrix ? fragment.getColumnWarps() : 1;
  }
  warpRows = type.getDimSize(0) / rowWarps;
  blockRows = warpRows % 16 == 0 ? 2 : 1;
  rowBlocks = warpRows / (8 * blockRows);
  int64_t slices = isMatrix ? (type.getDimSize(1) + 15) / 16 : 0;
  warpColumns = (slices + columnWarps - 1) / columnWarps * 16;
  if (isMatrix && columnWarps == 1 && type.getDimSize(1) <= 8)
    warpColumns = 8;
  columnBlocks = warpColumns / 8;
}

Distributor::Distributor(func::FuncOp kernel, func::FuncOp result, const TargetInfo &target,
                         flash::ScheduleAttr schedule, const LaunchFacts &facts)
    : kernel(kernel), result(result), target(target), schedule(schedule), facts(facts),
      chunkColumns(schedule.getMicro()[1]),
      t(OpBuilder::atBlockEnd(&result.getBody().front()), kernel.getLoc()), b(t.b) {
  memo.emplace_back();
}

LogicalResult Distributor::run() {
  unsigned next = 0;
  for (BlockArgument argument : kernel.getArguments()) {
    if (argument.getType().isIndex()) {
      scalars.map(argument, t.toIndex(result.getArgument(next++)));
      continue;
    }
    auto type = cast<MemRefType>(argument.getType());
    ThreadMemory memory;
    memory.elementType = type.getElementType();
    memory.pointer = result.getArgument(next++);
    for (int64_t size : type.getShape()) {
      Value dynamic = result.getArgument(next++);
      memory.sizes.push_back(ShapedType::isDynamic(size) ? t.toIndex(dynamic)
                                                         : t.indexConstant(size));
    }
    for (int64_t i = 0; i < type.getRank(); ++i)
      memory.strides.push_back(t.toIndex(result.getArgument(next++)));
    memories[argument] = memory;
  }
  if (failed(lowerBlock(kernel.getBody().front())))
    return failure();
  func::ReturnOp::create(b, t.loc);
  result->setAttr(nvtile::kSharedBytesAttrName, b.getI64IntegerAttr(sharedBytes));
  return success();
}

LogicalResult Distributor::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lower(op)))
      return failure();
  return success();
}

static bool handlesTiles(Operation *op) {
  return llvm::any_of(op->getOperands(), isRegisterTile) ||
         llvm::any_of(op->getResults(), isRegisterTile);
}

LogicalResult Distributor::lower(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](nvtile::BlockIdOp id) {
        scalars.map(id.getResult(),
                    arith::IndexCastUIOp::create(b, t.loc, t.index, t.blockId()).getResult());
        return success();
      })
      .Case([&](nvtile::AllocOp alloc) {
        auto type = cast<nvtile::SharedType>(alloc.getResult().getType());
        if (alloc.getOver()) {
          bufferOffsets[alloc.getResult()] = bufferOffsets.lookup(alloc.getOver());
          return success();
        }
        bufferOffsets[alloc.getResult()] = sharedBytes;
        sharedBytes += (type.getBytes() + 127) / 128 * 128;
        return success();
      })
      .Case([&](nvtile::CopyOp copy) {
        lowerCopy(copy);
        return success();
      })
      .Case([&](nvtile::CommitOp) {
        if (target.hasAsyncCopy)
          t.callVoid("llvm.nvvm.cp.async.commit.group", {});
        return success();
      })
      .Case([&](nvtile::WaitOp wait) {
        computeProductsBefore(wait);
        if (target.hasAsyncCopy)
          t.callVoid("llvm.nvvm.cp.async.wait.group", t.constant(wait.getPending()));
        storeFetched();
        t.barrier();
        return success();
      })
      .Case([&](nvtile::BarrierOp barrier) {
        computeProductsBefore(barrier);
        storeFetched();
        t.barrier();
        return success();
      })
      .Case([&](nvtile::LaunchDependentsOp) {
        t.callVoid("llvm.nvvm.griddepcontrol.launch.dependents", {});
        return success();
      })
      .Case([&](nvtile::WaitPrerequisitesOp) {
        t.callVoid("llvm.nvvm.griddepcontrol.wait", {});
        t.hasOrderedLoads = true; // nothing else keeps them behind the wait
        return success();
      })
      .Case([&](nvtile::ReadOp read) {
        lowerRead(read);
        return success();
      })
      .Case([&](nvtile::FoldOp fold) {
        lowerFold(fold);
        return success();
      })
      .Case([&](nvtile::AllFiniteOp finite) {
        scalars.map(finite.getResult(), lowerAllFinite(finite));
        return success();
      })
      .Case([&](tile::AllOp all) {
        scalars.map(all.getResult(), t.barrierAnd(computeConjunction(all.getSource())));
        return success();
      })
      .Case([&](tile::StoreOp store) {
        lowerStore(store);
        return success();
      })
      .Case([&](func::CallOp call) {
        lowerCall(call);
        return success();
      })
      .Case([&](memref::ViewOp view) {
        lowerView(view);
        return success();
      })
      .Case([&](memref::CastOp cast) {
        memories[cast.getResult()] = memoryOf(cast.getSource());
        return success();
      })
      .Case([&](memref::DimOp dim) {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index)
          return dim.emitOpError() << "expected a constant dimension", failure();
        scalars.map(dim.getResult(), memoryOf(dim.getSource()).sizes[*index]);
        return success();
      })
      .Case([&](memref::LoadOp load) {
        SmallVector<Value> indices;
        for (Value index : load.getIndices())
          indices.push_back(scalar(index));
        ThreadMemory memory = memoryOf(load.getMemRef());
        Value yes = arith::ConstantIntOp::create(b, t.loc, t.i1, 1);
        scalars.map(load.getResult(),
                    t.loadIf(yes, addressOf(memory, indices), memory.elementType));
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (handlesTiles(other))
          return success(); // computed when it is needed
        if (other->getNumRegions() || !isMemoryEffectFree(other))
          return other->emitOpError() << "expected an op that a thread can run";
        if (other->getNumResults() == 1) {
          Value value = other->getResult(0);
          if (facts.serves(value))
            return success();
          if (std::optional<unsigned> fact = facts.numberOf(value)) {
            scalars.map(value, t.toIndex(factAt(*fact)));
            return success();
          }
        }
        if (!divide(other))
          b.clone(*other, scalars);
        return success();
      });
}

void Distributor::lowerCall(func::CallOp call) {
  // What the kernel was launched with but for the facts, and the number.
  SmallVector<Value> arguments(result.getArguments().drop_back(facts.size()));
  arguments.push_back(
      arith::IndexCastOp::create(b, t.loc, t.i64, scalar(call.getOperands().back())));
  func::CallOp::create(b, t.loc, call.getCallee(), TypeRange(), arguments);
}

Value Distributor::computeConjunction(Value tile) {
  Value all;
  // Without a recursion, and each condition once: expressions may be long, and use a value more than once.
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> pending = {tile};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto both = next.getDefiningOp<arith::AndIOp>()) {
      pending.append({both.getRhs(), both.getLhs()});
      continue;
    }
    if (auto broadcast = next.getDefiningOp<tile::BroadcastOp>())
      next = broadcast.getSource(); // once per row
    unsigned size = ThreadTile(cast<RankedTensorType>(next.getType())).size();
    for (unsigned e = 0; e < size; ++e)
      all = all ? t.both(all, get(next, e)) : get(next, e);
  }
  return all;
}

void Distributor::computeProductsBefore(Operation *op) {
  for (auto dot : op->getBlock()->getOps<nvtile::DotOp>())
    if (dot->isBeforeInBlock(op))
      computeAll(dot.getResult());
}

void Distributor::computeAll(Value tile) {
  if (tile.getDefiningOp<nvtile::ReadOp>())
    return; // read where it stands
  unsigned size = ThreadTile(cast<RankedTensorType>(tile.getType())).size();
  if (lookup(tile, size - 1) && lookup(tile, 0))
    return;
  for (unsigned e = 0; e < size; ++e)
    get(tile, e);
}

void Distributor::defineAll(Value tile, ValueRange values) {
  for (auto [e, value] : llvm::enumerate(values))
    define(tile, e, value);
}

/// Whether `op` divides by a value that is the same along a row.
static tile::BroadcastOp rowDivisor(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division ? division.getRhs().getDefiningOp<tile::BroadcastOp>() : tile::BroadcastOp();
}

/// Whether `op` may be a comparison of positions.
static bool isPositional(Operation *op) { return isa<arith::CmpIOp, arith::AndIOp>(op); }

Value Distributor::lookup(Value tile, unsigned e) const {
  for (const auto &level : llvm::reverse(memo))
    if (auto it = level.find({tile, e}); it != level.end())
      return it->second;
  return {};
}

Value Distributor::get(Value tile, unsigned e) {
  if (Value known = lookup(tile, e))
    return known;
  // From the operands on, without a recursion: expressions may be long.
  SmallVector<Value> pending = {tile};
  while (!pending.empty()) {
    Value next = pending.back();
    if (!lookup(next, e)) {
      if (Value operand = unknownOperand(next, e)) {
        pending.push_back(operand);
        continue;
      }
      Value value = compute(next, e);
      if (!lookup(next, e))
        define(next, e, value);
    }
    pending.pop_back();
  }
  return lookup(tile, e);
}

Value Distributor::unknownOperand(Value tile, unsigned e) {
  Operation *op = tile.getDefiningOp();
  bool isArithmetic = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
  // Positions are compared, and rows divided by, in ways of their own.
  if (!isArithmetic || rowDivisor(op) || (isPositional(op) && positionBounds(tile)))
    return {};
  for (Value operand : op->getOperands())
    if (isRegisterTile(operand) && !lookup(operand, e))
      return operand;
  return {};
}

Value Distributor::operandAt(Value operand, unsigned e) {
  return isRegisterTile(operand) ? get(operand, e) : scalar(operand);
}

Value Distributor::compute(Value tile, unsigned e) {
  Operation *op = tile.getDefiningOp();
  ThreadTile shape(cast<RankedTensorType>(tile.getType()));
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) -> Value {
        auto elements = cast<DenseElementsAttr>(constant.getValue());
        return arith::ConstantOp::create(b, t.loc, elements.getSplatValue<TypedAttr>());
      })
      .Case([&](tensor::SplatOp splat) { return scalar(splat.getInput()); })
      .Case([&](tile::BroadcastOp broadcast) { return get(broadcast.getSource(), shape.rowOf(e)); })
      .Case([&](tile::RepeatOp repeat) { return get(repeat.getSource(), e); })
      .Case([&](tile::CoordsOp coords) { return computeCoordinate(coords, e); })
      .Case([&](tile::ReduceOp reduce) { return computeReduction(reduce, e); })
      .Case([&](tile::LoadOp load) { return computeLoad(load, e); })
      .Case([&](tile::GatherOp gather) { return computeGather(gather, e); })
      .Case([&](nvtile::DotOp dot) {
        computeProduct(dot, e);
        return lookup(tile, e);
      })
      .Default([&](Operation *other) { return computeElementwise(other, e); });
}

Value Distributor::computeElementwise(Operation *op, unsigned e) {
  auto tensor = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto divisor = rowDivisor(op)) {
    // One division per row, and a product per element.
    Value reciprocal =
        lookup(op->getResult(0), ThreadTile(tensor).size() + ThreadTile(tensor).rowOf(e));
    if (!reciprocal) {
      // Sums of weights are normal numbers; 1 unit in the last place is what the instruction may be off.
      Value row = get(divisor.getSource(), ThreadTile(tensor).rowOf(e));
      reciprocal = t.call("llvm.nvvm.rcp.approx.ftz.f", t.f32, row);
      define(op->getResult(0), ThreadTile(tensor).size() + ThreadTile(tensor).rowOf(e), reciprocal);
    }
    return arith::MulFOp::create(b, t.loc, get(op->getOperand(0), e), reciprocal);
  }
  if (isPositional(op))
    if (Value result = comparePositions(op->getResult(0), e))
      return result;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(operandAt(operand, e));
  auto exp2 = dyn_cast<math::Exp2Op>(op);
  if (exp2 && bitEnumContainsAll(exp2.getFastmath(), arith::FastMathFlags::afn))
    return t.call("llvm.nvvm.ex2.approx.ftz.f32", t.f32, operands);
  OperationState state(t.loc, op->getName());
  state.addOperands(operands);
  state.addTypes(tensor.getElementType());
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

Value Distributor::computeReduction(tile::ReduceOp op, unsigned row) {
  Value source = op.getSource();
  ThreadTile tile(cast<RankedTensorType>(source.getType()));
  auto combine = [&](Value x, Value y) { return t.reduce(op.getKind(), x, y); };
  SmallVector<Value> values;
  int64_t columns = cast<RankedTensorType>(source.getType()).getDimSize(1);
  for (unsigned e = 0; e < tile.size(); ++e) {
    if (tile.rowOf(e) != row)
      continue;
    Value value = get(source, e);
    // Columns that round the tile up count for nothing.
    int64_t width = tile.isLines ? kWarpSize : 8;
    if ((tile.columnOffset(e) / width + 1) * width > columns) {
      bool isSum = op.getKind() == tile::ReduceKind::Sum;
      Value column = t.indexAdd(firstColumn(tile), tile.columnOffset(e));
      value = t.select(t.indexLess(column, t.indexConstant(columns)), value,
                       t.f32Constant(isSum ? 0.0f : -std::numeric_limits<float>::infinity()));
    }
    values.push_back(value);
  }
  // A balanced tree: short chains, and errors that grow with the logarithm.
  for (; values.size() > 1; values.resize((values.size() + 1) / 2))
    for (size_t n = 0; n < values.size() / 2; ++n) {
      values[n] = combine(values[2 * n], values[2 * n + 1]);
      if (n + 1 == values.size() / 2 && values.size() % 2)
        values[n + 1] = values.back();
    }
  Value result = values.front();
  if (partial.contains(op))
    return result;
  for (int64_t mask = 1; mask < tile.rowLanes; mask *= 2)
    result = combine(result, t.shuffleXor(result, mask));
  return result;
}
