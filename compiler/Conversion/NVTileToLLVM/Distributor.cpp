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

ThreadTile::ThreadTile(RankedTensorType type) : isMatrix(type.getRank() == 2) {
  columnWarps = 1;
  if (auto operand = dyn_cast<nvtile::OperandAttr>(type.getEncoding())) {
    rowWarps = operand.getRowWarps();
  } else {
    auto fragment = cast<nvtile::FragmentAttr>(type.getEncoding());
    rowWarps = fragment.getRowWarps();
    columnWarps = isMatrix ? fragment.getColumnWarps() : 1;
  }
  warpRows = type.getDimSize(0) / rowWarps;
  rowBlocks = warpRows / 16;
  int64_t slices = isMatrix ? (type.getDimSize(1) + 15) / 16 : 0;
  warpColumns = (slices + columnWarps - 1) / columnWarps * 16;
  columnBlocks = warpColumns / 8;
}

Distributor::Distributor(func::FuncOp kernel, func::FuncOp result, const TargetInfo &target,
                         flash::ScheduleAttr schedule)
    : kernel(kernel), result(result), target(target), schedule(schedule),
      chunkColumns(schedule.getMicro()[1]),
      t(OpBuilder::atBlockEnd(&result.getBody().front()), kernel.getLoc()), b(t.b) {
  memo.emplace_back();
}

LogicalResult Distributor::run() {
  unsigned next = 0;
  for (BlockArgument argument : kernel.getArguments()) {
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

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

static bool handlesTiles(Operation *op) {
  return llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
}

LogicalResult Distributor::lower(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](nvtile::BlockIdOp id) {
        scalars.map(id.getResult(),
                    arith::IndexCastUIOp::create(b, t.loc, t.index, t.blockId()).getResult());
        return success();
      })
      .Case([&](nvtile::AllocOp alloc) {
        auto type = cast<nvtile::SharedType>(alloc.getResult().getType());
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
        if (target.hasAsyncCopy)
          t.callVoid("llvm.nvvm.cp.async.wait.group", t.constant(wait.getPending()));
        t.barrier();
        return success();
      })
      .Case([&](nvtile::BarrierOp) {
        t.barrier();
        return success();
      })
      .Case([&](nvtile::ReadOp read) {
        lowerRead(read);
        return success();
      })
      .Case([&](nvtile::AllFiniteOp finite) {
        scalars.map(finite.getResult(), lowerAllFinite(finite));
        return success();
      })
      .Case([&](tile::AllOp all) {
        ThreadTile shape(cast<RankedTensorType>(all.getSource().getType()));
        Value yes = get(all.getSource(), 0);
        for (unsigned e = 1; e < shape.size(); ++e)
          yes = t.both(yes, get(all.getSource(), e));
        scalars.map(all.getResult(), t.barrierAnd(yes));
        return success();
      })
      .Case([&](tile::StoreOp store) {
        lowerStore(store);
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
        b.clone(*other, scalars);
        return success();
      });
}

/// The reduction by which carried value `i` of a loop grows in each turn, if all that happens to the value besides
/// is that it is scaled: the four lanes of a row can then carry a part of the sum each.
static tile::ReduceOp growingSum(scf::ForOp op, unsigned i) {
  BlockArgument carried = op.getRegionIterArg(i);
  auto sum = op.getYieldedValues()[i].getDefiningOp<arith::AddFOp>();
  if (!sum || !carried.hasOneUse())
    return {};
  for (auto [grown, added] :
       {std::pair(sum.getLhs(), sum.getRhs()), {sum.getRhs(), sum.getLhs()}}) {
    auto reduce = added.getDefiningOp<tile::ReduceOp>();
    auto scaled = grown.getDefiningOp<arith::MulFOp>();
    bool isCarried =
        grown == carried || (scaled && scaled->hasOneUse() &&
                             (scaled.getLhs() == carried || scaled.getRhs() == carried));
    if (reduce && reduce.getKind() == tile::ReduceKind::Sum && reduce->hasOneUse() && isCarried)
      return reduce;
  }
  return {};
}

Value Distributor::sumOverLanes(Value part) {
  for (int32_t mask : {1, 2})
    part = arith::AddFOp::create(b, t.loc, part, t.shuffleXor(part, mask));
  return part;
}

LogicalResult Distributor::lowerFor(scf::ForOp op) {
  computeCaptures(*op);
  llvm::SmallDenseSet<unsigned> growing;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (tile::ReduceOp reduce = growingSum(op, i)) {
      growing.insert(i);
      partial.insert(reduce);
    }
  SmallVector<Value> inits;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isTile(init)) {
      inits.push_back(scalar(init));
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(init.getType()));
    for (unsigned e = 0; e < tile.size(); ++e) {
      Value value = get(init, e);
      if (growing.contains(i)) { // the first lane of a row begins with what there was
        Value isFirst = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq,
                                              t.rem(t.threadId(), 4), t.constant(0));
        value = t.select(isFirst, value, t.f32Constant(0.0f));
      }
      inits.push_back(value);
    }
  }
  auto loop = scf::ForOp::create(b, op.getLoc(), scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    memo.emplace_back();
    scalars.map(op.getInductionVar(), loop.getInductionVar());
    spread(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    if (!inits.empty())
      scf::YieldOp::create(b, t.loc, computeTurn(op, loop.getRegionIterArgs()));
    memo.pop_back();
  }
  spread(op.getResults(), loop.getResults());
  for (unsigned i : growing) {
    Value result = op.getResult(i);
    for (unsigned e = 0; e < ThreadTile(cast<RankedTensorType>(result.getType())).size(); ++e)
      define(result, e, sumOverLanes(get(result, e)));
  }
  return success();
}

SmallVector<Value> Distributor::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (!isTile(value)) {
      flat.push_back(scalar(value));
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(value.getType()));
    for (unsigned e = 0; e < tile.size(); ++e)
      flat.push_back(get(value, e));
  }
  return flat;
}

void Distributor::spread(ValueRange values, ValueRange flat) {
  unsigned next = 0;
  for (Value value : values) {
    if (!isTile(value)) {
      scalars.map(value, flat[next++]);
      continue;
    }
    ThreadTile tile(cast<RankedTensorType>(value.getType()));
    for (unsigned e = 0; e < tile.size(); ++e)
      define(value, e, flat[next++]);
  }
}

SmallVector<Type> Distributor::flatTypes(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    flat.append(tensor ? ThreadTile(tensor).size() : 1, tensor ? tensor.getElementType() : type);
  }
  return flat;
}

/// What is carried into a turn are scalars; what the loop gives may be tiles, which the next turn does not see.
LogicalResult Distributor::lowerWhile(scf::WhileOp op) {
  if (llvm::any_of(op.getInits(), isTile) || !llvm::all_of(op.getAfterArguments(), [](Value value) {
        return !isTile(value) || value.use_empty();
      }))
    return op.emitOpError() << "expected a loop that carries scalars only";
  computeCaptures(*op);
  SmallVector<Value> inits = flatten(op.getInits());
  auto loop = scf::WhileOp::create(b, op.getLoc(), flatTypes(op.getResultTypes()), inits);
  auto fill = [&](Region &to, Block &from, auto finish) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    TypeRange types = &to == &loop.getBefore() ? TypeRange(ValueRange(inits).getTypes())
                                               : TypeRange(loop.getResultTypes());
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *block = b.createBlock(&to, {}, types, locations);
    memo.emplace_back();
    spread(from.getArguments(), block->getArguments());
    LogicalResult done = lowerBlock(from);
    if (succeeded(done))
      finish();
    memo.pop_back();
    return done;
  };
  if (failed(fill(loop.getBefore(), *op.getBeforeBody(), [&] {
        scf::ConditionOp condition = op.getConditionOp();
        SmallVector<Value> results = flatten(condition.getArgs());
        scf::ConditionOp::create(b, op.getLoc(), scalar(condition.getCondition()), results);
      })))
    return failure();
  if (failed(fill(loop.getAfter(), *op.getAfterBody(), [&] {
        scf::YieldOp::create(b, op.getLoc(), flatten(op.getYieldOp().getOperands()));
      })))
    return failure();
  spread(op.getResults(), loop.getResults());
  return success();
}

LogicalResult Distributor::lowerIf(scf::IfOp op) {
  computeCaptures(*op);
  auto branch =
      scf::IfOp::create(b, op.getLoc(), flatTypes(op.getResultTypes()), scalar(op.getCondition()),
                        /*withElseRegion=*/!op.getElseRegion().empty());
  for (auto [from, to] : {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
                          std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    Block &block = to->front();
    if (!block.empty())
      block.back().erase();
    b.setInsertionPointToStart(&block);
    memo.emplace_back();
    std::optional<ThreadBuilder::RareScope> rare;
    if (from == &op.getElseRegion() && op->hasAttr(tile::kRareElseAttrName))
      rare.emplace(t);
    if (failed(lowerBlock(from->front())))
      return failure();
    scf::YieldOp::create(b, t.loc,
                         flatten(cast<scf::YieldOp>(from->front().getTerminator()).getOperands()));
    memo.pop_back();
  }
  spread(op.getResults(), branch.getResults());
  return success();
}

void Distributor::computeCaptures(Operation &op) {
  llvm::SetVector<Value> captured;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isTile(operand) && !op.isAncestor(operand.getParentBlock()->getParentOp()))
        captured.insert(operand);
  });
  for (size_t n = 0; n < captured.size(); ++n) {
    Value value = captured[n];
    Operation *source = value.getDefiningOp();
    if (isa_and_nonnull<arith::ConstantOp, tensor::SplatOp, tile::CoordsOp>(source))
      continue; // as cheap inside
    if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(source))
      captured.insert(broadcast.getSource());
    else
      computeAll(value);
  }
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

Value Distributor::lookup(Value tile, unsigned e) const {
  for (const auto &level : llvm::reverse(memo))
    if (auto it = level.find({tile, e}); it != level.end())
      return it->second;
  return {};
}

Value Distributor::get(Value tile, unsigned e) {
  if (Value known = lookup(tile, e))
    return known;
  Value value = compute(tile, e);
  if (!lookup(tile, e))
    define(tile, e, value);
  return value;
}

Value Distributor::operandAt(Value operand, unsigned e) {
  return isTile(operand) ? get(operand, e) : scalar(operand);
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

/// Whether `op` divides by a value that is the same along a row.
static tile::BroadcastOp rowDivisor(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division ? division.getRhs().getDefiningOp<tile::BroadcastOp>() : tile::BroadcastOp();
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
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    if (Value result = comparePositions(comparison, e))
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

std::optional<Distributor::PositionDifference> Distributor::positionDifference(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  bool isOrder = predicate == Predicate::slt || predicate == Predicate::sle ||
                 predicate == Predicate::sgt || predicate == Predicate::sge;
  std::optional<AffineForm> x = isOrder ? affineForm(op.getLhs()) : std::nullopt;
  std::optional<AffineForm> y = x ? affineForm(op.getRhs()) : std::nullopt;
  if (!y)
    return {};
  AffineForm difference = x->minus(*y);
  if (std::abs(difference.rows) > 1 || std::abs(difference.columns) > 1)
    return {};
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  // In i32: tiles are small, so that a difference that does not fit decides all of their elements.
  Value first = lookup(op.getResult(), tile.size());
  if (!first) {
    Value sum = arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(difference.constant));
    auto add = [&](Value value, int64_t sign) {
      if (!sign)
        return;
      if (value.getType() != t.i64)
        value = value.getType().isIndex()
                    ? arith::IndexCastOp::create(b, t.loc, t.i64, value).getResult()
                    : arith::ExtSIOp::create(b, t.loc, t.i64, value).getResult();
      sum = sign > 0 ? arith::AddIOp::create(b, t.loc, sum, value).getResult()
                     : arith::SubIOp::create(b, t.loc, sum, value).getResult();
    };
    for (AffineForm::Term term : difference.terms)
      add(scalar(term.value), term.sign);
    add(firstRow(tile), difference.rows);
    add(firstColumn(tile), difference.columns);
    auto bound = [&](int64_t value) {
      return arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(value));
    };
    constexpr int64_t kFar = int64_t(1) << 30;
    sum = arith::MaxSIOp::create(b, t.loc, sum, bound(-kFar));
    sum = arith::MinSIOp::create(b, t.loc, sum, bound(kFar));
    first = arith::TruncIOp::create(b, t.loc, t.i32, sum);
    define(op.getResult(), tile.size(), first);
  }
  return PositionDifference{first, difference.rows, difference.columns};
}

Value Distributor::comparePositions(arith::CmpIOp op, unsigned e) {
  std::optional<PositionDifference> difference = positionDifference(op);
  if (!difference)
    return {};
  ThreadTile tile(cast<RankedTensorType>(op.getResult().getType()));
  int64_t offset = difference->rows * tile.rowOffset(e) +
                   (tile.isMatrix ? difference->columns * tile.columnOffset(e) : 0);
  return arith::CmpIOp::create(b, t.loc, op.getPredicate(), difference->first, t.constant(-offset));
}

Value Distributor::mayKeep(Value keep) {
  if (auto both = keep.getDefiningOp<arith::AndIOp>()) {
    Value x = mayKeep(both.getLhs()), y = mayKeep(both.getRhs());
    return x && y ? t.both(x, y) : (x ? x : y);
  }
  auto comparison = keep.getDefiningOp<arith::CmpIOp>();
  std::optional<PositionDifference> difference =
      comparison ? positionDifference(comparison) : std::nullopt;
  if (!difference)
    return {};
  // The thread's element that is the likeliest to hold: the smallest difference, or the largest.
  ThreadTile tile(cast<RankedTensorType>(keep.getType()));
  bool isLess = comparison.getPredicate() == arith::CmpIPredicate::slt ||
                comparison.getPredicate() == arith::CmpIPredicate::sle;
  auto reach = [&](int64_t coefficient, int64_t extent) -> int64_t {
    return (coefficient < 0) == isLess ? coefficient * extent : 0;
  };
  int64_t offset = reach(difference->rows, (tile.rowBlocks - 1) * 16 + 8);
  if (tile.isMatrix)
    offset += reach(difference->columns, (tile.columnBlocks - 1) * 8 + 1);
  Value holds = arith::CmpIOp::create(b, t.loc, comparison.getPredicate(), difference->first,
                                      t.constant(-offset));
  return t.call("llvm.nvvm.vote.any.sync", t.i1, {t.constant(-1), holds});
}

SmallVector<Value> Distributor::computeTurn(scf::ForOp op, ValueRange carried) {
  Value works;
  // Where registers hold the queries too, ptxas no longer overlaps exponentials and products in the other loops
  // once this one branches: at d64 that costs 8%, where skipping gains 2% at d128.
  if (schedule.getQueries() == flash::Placement::Shared)
    for (auto dot : op.getBody()->getOps<nvtile::DotOp>())
      if (dot.getIdleRows() && dot.getKeep())
        works = mayKeep(dot.getKeep());
  if (!works)
    return flatten(op.getYieldedValues());
  auto branch = scf::IfOp::create(b, t.loc, flatTypes(op.getResultTypes()), works,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block &block, auto values) {
    if (!block.empty())
      block.back().erase();
    b.setInsertionPointToStart(&block);
    memo.emplace_back();
    scf::YieldOp::create(b, t.loc, values());
    memo.pop_back();
  };
  fill(*branch.thenBlock(), [&] { return flatten(op.getYieldedValues()); });
  fill(*branch.elseBlock(), [&] {
    // Numbers go on; tiles stay.
    SmallVector<Value> next;
    for (Value value : op.getYieldedValues()) {
      if (!isTile(value)) {
        next.push_back(scalar(value));
        continue;
      }
      unsigned size = ThreadTile(cast<RankedTensorType>(value.getType())).size();
      for (unsigned e = 0; e < size; ++e)
        next.push_back(carried[next.size()]);
    }
    return next;
  });
  return llvm::to_vector_of<Value>(branch.getResults());
}

Value Distributor::firstRow(const ThreadTile &tile) {
  Value thread = t.threadId();
  Value warp = t.div(thread, kWarpSize), lane = t.rem(thread, kWarpSize);
  Value row = t.add(t.mul(t.rem(warp, tile.rowWarps), tile.warpRows), t.div(lane, 4));
  return arith::IndexCastUIOp::create(b, t.loc, t.index, row);
}

Value Distributor::firstColumn(const ThreadTile &tile) {
  Value thread = t.threadId();
  Value column = t.mul(t.rem(thread, 4), 2);
  if (tile.columnWarps > 1) {
    Value warp = t.div(thread, kWarpSize);
    Value part = t.rem(t.div(warp, tile.rowWarps), tile.columnWarps);
    column = t.add(column, t.mul(part, tile.warpColumns));
  }
  return arith::IndexCastUIOp::create(b, t.loc, t.index, column);
}

Value Distributor::computeCoordinate(tile::CoordsOp op, unsigned e) {
  Value result = op.getResult();
  ThreadTile tile(cast<RankedTensorType>(result.getType()));
  bool isRow = op.getDim() == 0;
  // The first element's coordinate is kept beside the elements.
  Value first = lookup(result, tile.size());
  if (!first) {
    first = t.indexAdd(scalar(op.getOffset()), isRow ? firstRow(tile) : firstColumn(tile));
    define(result, tile.size(), first);
  }
  int64_t offset = isRow ? tile.rowOffset(e) : tile.columnOffset(e);
  unsigned place = tile.size() + 1 + offset;
  Value value = lookup(result, place);
  if (!value) {
    value = t.indexAdd(first, offset);
    define(result, place, value);
  }
  return value;
}

Value Distributor::computeReduction(tile::ReduceOp op, unsigned row) {
  Value source = op.getSource();
  ThreadTile tile(cast<RankedTensorType>(source.getType()));
  auto combine = [&](Value x, Value y) -> Value {
    switch (op.getKind()) {
    case tile::ReduceKind::Sum:
      return arith::AddFOp::create(b, t.loc, x, y);
    case tile::ReduceKind::MaxNum:
      return arith::MaxNumFOp::create(b, t.loc, x, y);
    case tile::ReduceKind::Max:
      return arith::MaximumFOp::create(b, t.loc, x, y);
    }
    llvm_unreachable("a kind of reduction");
  };
  SmallVector<Value> values;
  int64_t columns = cast<RankedTensorType>(source.getType()).getDimSize(1);
  for (int64_t n = 0; n < tile.columnBlocks; ++n)
    for (int64_t i = 0; i < 2; ++i) {
      Value value = get(source, tile.element(row / 2, n, row % 2 * 2 + i));
      if ((n + 1) * 8 > columns) { // columns that round the tile up count for nothing
        bool isSum = op.getKind() == tile::ReduceKind::Sum;
        Value column = t.indexAdd(firstColumn(tile), n * 8 + i);
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
  for (int32_t mask : {1, 2}) // the four lanes that share a row
    result = combine(result, t.shuffleXor(result, mask));
  return result;
}
