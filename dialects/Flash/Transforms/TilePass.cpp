//===- TilePass.cpp - kernels that loop over tiles ------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass flash-tile for the online strategy; StandardKernels.cpp has the other one.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/GPUSchedules.h"
#include "dialects/Flash/Transforms/BandStates.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/KernelBuilder.h"
#include "dialects/Flash/Transforms/OptimisticLoops.h"
#include "dialects/Flash/Transforms/PartStates.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

#include <numeric>

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHTILE
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// Heads whose tiles alternate on a GPU where a mask makes some longer than others: the longest come first, the
/// shortest fill the end. Where tiles are alike, one head after another loads least from memory.
constexpr int64_t kHeadsTogether = 32;
/// Parts of a sequence on a GPU, at most.
constexpr int64_t kMostParts = 64;

/// Emits the tile of each value that the function returns, by walking back from its definition.
class TileEmitter {
public:
  TileEmitter(OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
              ScheduleAttr schedule)
      : b(b), kernel(kernel), memory(memory), schedule(schedule), rows(kernel.rows()) {}

  /// Makes `tiles` known as the tiles of the results of `op`.
  void note(Operation *op, ValueRange tiles) { map.map(op->getResults(), tiles); }

  /// The tile of a whole-tensor value; null (with an error) where its op cannot be tiled.
  Value emit(Value whole) {
    if (auto cast = whole.getDefiningOp<tensor::CastOp>())
      return emit(cast.getSource());
    if (Value known = map.lookupOrNull(whole))
      return known;
    Operation *op = whole.getDefiningOp();
    if (!op)
      return {};
    SmallVector<Value> tiles = llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
                                   .Case<OnlineAttentionOp, MergeOp, SinkStateOp, FinalizeOp>(
                                       [&](auto typed) { return emitOp(typed); })
                                   .Default([](Operation *) { return SmallVector<Value>(); });
    if (tiles.empty())
      return {};
    map.map(op->getResults(), tiles);
    return map.lookup(whole);
  }

private:
  Type rowType() { return tileOf({rows}, b.getF32Type()); }
  Type accType(Value acc) { return resultType(acc, b.getF32Type()); }
  Type resultType(Value result, Type element) {
    return tileOf({rows, cast<RankedTensorType>(result.getType()).getDimSize(3)}, element);
  }

  SmallVector<Value> emitOp(OnlineAttentionOp op) {
    Location loc = op.getLoc();
    TileMath math(b, loc, op.getBase());
    int64_t bands = schedule.getBands();
    int64_t columns = cast<RankedTensorType>(op.getAcc().getType()).getDimSize(3);
    Type rows = tileOf({bands * this->rows}, b.getF32Type());
    Type acc = tileOf({bands * this->rows, columns}, b.getF32Type());
    Value q = kernel.loadQueries();
    SmallVector<Value> identity = {math.negativeInfinity(rows), math.constant(rows, 0.0),
                                   math.constant(acc, 0.0)};
    SmallVector<Type> types = {rows, rows, acc};
    if (op.getRowMax()) {
      types.push_back(rows);
      identity.push_back(identity.front());
    }
    auto step = [&](OpBuilder &nested, const KeyTile &keys, ValueRange state) {
      Value k = kernel.loadKeys(nested, keys), v = kernel.loadValues(nested, keys);
      auto inner = OnlineAttentionOp::create(
          nested, loc, types, q, k, v, state, kernel.at(keys), Value(), Value(), Value(), Value(),
          memory.captures, op.getScaleAttr(), op.getBaseAttr(), nested.getUnitAttr(),
          schedule.getRows() == RowKind::Heads ? nested.getUnitAttr() : UnitAttr(),
          /*fixed=*/UnitAttr(), bands > 1 ? nested.getI64IntegerAttr(bands) : IntegerAttr(),
          /*schedule=*/nullptr);
      cloneRegionOnMemory(op.getScore(), inner.getScore(), memory.captures);
      cloneRegionOnMemory(op.getMask(), inner.getMask(), memory.captures);
      return SmallVector<Value>(inner.getResults());
    };
    ValueRange state = kernel.forEachKeyTile(identity, step);
    return bands > 1 ? mergeBands(b, loc, state, this->rows, op.getBase()) : llvm::to_vector(state);
  }

  SmallVector<Value> emitOp(MergeOp op) {
    SmallVector<Value> states;
    for (Value operand : op->getOperands()) {
      states.push_back(emit(operand));
      if (!states.back())
        return {};
    }
    auto merged = MergeOp::create(
        b, op.getLoc(), TypeRange{rowType(), rowType(), accType(op.getAcc())}, states[0], states[1],
        states[2], states[3], states[4], states[5], op.getBaseAttr());
    return SmallVector<Value>(merged.getResults());
  }

  SmallVector<Value> emitOp(SinkStateOp op) {
    auto sink = SinkStateOp::create(
        b, op.getLoc(), TypeRange{rowType(), rowType(), accType(op.getAcc())}, kernel.loadSink());
    return SmallVector<Value>(sink.getResults());
  }

  SmallVector<Value> emitOp(FinalizeOp op) {
    Value m = emit(op.getM()), l = emit(op.getL()), acc = emit(op.getAcc());
    if (!m || !l || !acc)
      return {};
    Type element = cast<RankedTensorType>(op.getO().getType()).getElementType();
    auto final = FinalizeOp::create(
        b, op.getLoc(), TypeRange{resultType(op.getO(), element), rowType()}, m, l, acc);
    return SmallVector<Value>(final.getResults());
  }

  OpBuilder &b;
  KernelBuilder &kernel;
  const AttentionMemory &memory;
  ScheduleAttr schedule;
  int64_t rows;
  IRMapping map;
};

/// The kernels of an attention op with the online strategy: one, or one for the parts of the keys and one
/// that merges them.
class OnlineKernels {
public:
  OnlineKernels(func::FuncOp func, OnlineAttentionOp op)
      : func(func), op(op), loc(op.getLoc()), schedule(*op.getSchedule()) {}

  LogicalResult emit() {
    GridShape tiles = {schedule.getTile()[0], schedule.getRows(), schedule.getSplit(), false};
    if (isFor(op, TargetKind::GPU)) {
      tiles.isOnDevice = true;
      tiles.headsTogether = op.getMask().empty() ? 1 : kHeadsTogether;
      tiles.mostParts = kMostParts;
      tiles.keyTile = schedule.getTile()[1];
      mergedRows = std::gcd(schedule.getTile()[0], gpuThreads(toSizes(schedule)) / kWarpSize);
    }
    if (!schedule.getSplit())
      return emitKernel(0, tiles,
                        [&](OpBuilder &b, KernelBuilder &kernel, TileEmitter &emitter,
                            const MemoryMap &map, const GridPoint &,
                            Value) { return storeResults(kernel, emitter, map); });
    GridShape parts = tiles;
    parts.forEachPart = true;
    LogicalResult done = emitKernel(0, parts,
                                    [&](OpBuilder &b, KernelBuilder &, TileEmitter &emitter,
                                        const MemoryMap &map, const GridPoint &point, Value count) {
                                      PartStates states(b, loc, map.workspace(), count, op);
                                      emitter.emit(op.getM());
                                      SmallVector<Value> state;
                                      for (Value result : op.getResults())
                                        state.push_back(emitter.emit(result));
                                      states.store(b, state, point);
                                      return success();
                                    });
    if (failed(done))
      return failure();
    GridShape merging = tiles;
    merging.pointRows = mergedRows;
    done = emitKernel(1, merging,
                      [&](OpBuilder &b, KernelBuilder &kernel, TileEmitter &emitter,
                          const MemoryMap &map, const GridPoint &point, Value count) {
                        PartStates states(b, loc, map.workspace(), count, op);
                        emitter.note(op, mergedRows ? states.mergeTogether(b, point, mergedRows)
                                                    : states.mergeInTurn(b, point));
                        return storeResults(kernel, emitter, map);
                      });
    emitWorkspaceSize(parts);
    return done;
  }

private:
  using Body = llvm::function_ref<LogicalResult(OpBuilder &, KernelBuilder &, TileEmitter &,
                                                const MemoryMap &, const GridPoint &, Value)>;

  AttentionMemory lookup(const MemoryMap &map) {
    AttentionMemory memory = lookupInputs(map, op);
    func.walk([&](SinkStateOp sink) { memory.sinks = map.lookup(sink.getSinks()); });
    return memory;
  }

  /// On GPUs a row max, which is asked for rarely, takes the exact strategy, as do rows of heads, which are few.
  bool isRescued() {
    return isFor(op, TargetKind::GPU) && isOptimistic(schedule) && !op.getRowMax();
  }

  LogicalResult emitKernel(int64_t phase, const GridShape &shape, Body body) {
    OpBuilder b(func);
    func::FuncOp kernel = createKernel(b, func, phase, schedule);
    func::FuncOp rescue;
    // Keys are visited by the first kernel.
    if (phase == 0 && isRescued()) {
      ScheduleSizes exact = toSizes(schedule);
      exact.isOptimistic = false;
      rescue =
          createRescue(b, func, phase, toAttribute(b.getContext(), exact, schedule.getStrategy()));
      auto emitPoint = [&](OpBuilder &inner, const AttentionMemory &memory, auto emitAt) {
        emitAt(inner, emitGridPoint(inner, loc, memory, shape, rescue.getArguments().back()));
      };
      if (failed(emitPoints(rescue, shape, body, emitPoint)))
        return failure();
    }
    return emitPoints(
        kernel, shape, body, [&](OpBuilder &outer, const AttentionMemory &memory, auto emitAt) {
          emitGrid(outer, loc, memory, shape, [&](OpBuilder &inner, const GridPoint &point) {
            emitAt(inner, point);
            if (!rescue)
              return;
            // Unconditional until flash-split-masked-tiles knows what went wrong.
            SmallVector<Value> arguments(kernel.getArguments());
            arguments.push_back(point.number);
            auto call = func::CallOp::create(inner, loc, rescue, arguments);
            call->setAttr(kRescueAttrName, inner.getUnitAttr());
          });
        });
  }

  using EmitAt = llvm::function_ref<void(OpBuilder &, const GridPoint &)>;

  /// Fills `kernel` with `body` at each point at which `forEachPoint` has it emitted.
  LogicalResult
  emitPoints(func::FuncOp kernel, const GridShape &shape, Body body,
             llvm::function_ref<void(OpBuilder &, const AttentionMemory &, EmitAt)> forEachPoint) {
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto own = kernel->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    MemoryMap map(func, kernel);
    AttentionMemory memory = lookup(map);
    LogicalResult done = success();
    Value count = shape.split ? emitPartCount(b, loc, memory, shape) : Value();
    forEachPoint(b, memory, [&](OpBuilder &inner, const GridPoint &point) {
      KernelBuilder builder(inner, loc, memory, point, own, shape.pointRows);
      TileEmitter emitter(inner, builder, memory, own);
      done = body(inner, builder, emitter, map, point, count);
    });
    func::ReturnOp::create(b, loc);
    return done;
  }

  LogicalResult storeResults(KernelBuilder &kernel, TileEmitter &emitter, const MemoryMap &map) {
    auto results = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperands();
    for (auto [index, result] : llvm::enumerate(results)) {
      Value value = emitter.emit(result);
      if (!value)
        return func.emitOpError() << "expected results of flash ops only, got another definition "
                                     "of result "
                                  << index;
      kernel.store(value, map.output(index));
    }
    return success();
  }

  /// A function that gives the size of the parts' states in bytes.
  void emitWorkspaceSize(const GridShape &shape) {
    OpBuilder b(func);
    func::FuncOp sizer = createSizer(b, func, schedule);
    b.setInsertionPointToStart(&sizer.getBody().front());
    MemoryMap map(func, sizer);
    Value count = emitPartCount(b, loc, lookup(map), shape, /*isForHost=*/true);
    func::ReturnOp::create(b, loc, PartStates(b, loc, Value(), count, op).bytes());
  }

  func::FuncOp func;
  OnlineAttentionOp op;
  Location loc;
  ScheduleAttr schedule;
  /// Rows of a tile that a point merges; 0: all, part after part.
  int64_t mergedRows = 0;
};

LogicalResult tileOnline(func::FuncOp func, OnlineAttentionOp op) {
  if (!op.getSchedule())
    return op.emitOpError() << "expected a schedule; run flash-set-schedule first";
  return OnlineKernels(func, op).emit();
}

/// What both strategies ask of a function with the attention op `root`: memory can stand for its tensors.
LogicalResult checkFunction(func::FuncOp func, Operation *root) {
  for (Type type : func.getArgumentTypes())
    if (!isa<RankedTensorType>(type))
      return func.emitOpError() << "expected arguments that are ranked tensors, got " << type;
  if (!func.getBody().hasOneBlock() || root->getBlock() != &func.getBody().front())
    return func.emitOpError() << "expected one block that holds the attention op, got control flow";
  auto exit = dyn_cast<func::ReturnOp>(func.getBody().front().getTerminator());
  if (!exit)
    return func.emitOpError() << "expected a return at the end";
  SmallVector<Value> inputs(root->getOperands());
  func.walk([&](SinkStateOp sink) { inputs.push_back(sink.getSinks()); });
  for (Value input : inputs)
    if (!isa<BlockArgument>(input))
      return root->emitOpError()
             << "expected inputs that are arguments of the function, got a result of "
             << input.getDefiningOp()->getName();
  auto standard = dyn_cast<AttentionOp>(root);
  if (!standard)
    return success(); // TileEmitter checks where results come from
  llvm::SmallDenseSet<Value> returned;
  for (Value result : exit.getOperands())
    if (result.getDefiningOp() != root || !returned.insert(result).second)
      return func.emitOpError() << "expected results of the attention op, each once";
  if (!returned.contains(standard.getO()))
    return func.emitOpError() << "expected the attention op's o among the results";
  return success();
}

struct TilePass : flash::impl::FlashTileBase<TilePass> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      SmallVector<Operation *> roots;
      func.walk([&](Operation *op) {
        if (isa<AttentionOp>(op) ||
            (isa<OnlineAttentionOp>(op) && !cast<OnlineAttentionOp>(op).isTile()))
          roots.push_back(op);
      });
      if (roots.empty())
        continue;
      if (roots.size() > 1) {
        func.emitOpError() << "expected one attention op per function, got " << roots.size();
        return signalPassFailure();
      }
      if (failed(checkFunction(func, roots.front())))
        return signalPassFailure();
      auto online = dyn_cast<OnlineAttentionOp>(roots.front());
      if (failed(online ? tileOnline(func, online)
                        : tileStandard(func, cast<AttentionOp>(roots.front()))))
        return signalPassFailure();
      func.erase();
    }
  }
};

} // namespace
