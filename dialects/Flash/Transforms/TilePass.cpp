//===- TilePass.cpp - kernels that loop over tiles ------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass flash-tile for the online strategy; StandardKernels.cpp has the other one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KernelBuilder.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHTILE
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// Emits the tile of each value that the function returns, by walking back from its definition.
class TileEmitter {
public:
  TileEmitter(OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
              ScheduleAttr schedule)
      : b(b), kernel(kernel), memory(memory), tile(schedule.getTile()) {}

  /// The tile of a whole-tensor value; null (with an error) where its op cannot be tiled.
  Value emit(Value whole) {
    if (auto cast = whole.getDefiningOp<tensor::CastOp>())
      return emit(cast.getSource());
    if (Value known = map.lookupOrNull(whole))
      return known;
    Operation *op = whole.getDefiningOp();
    if (!op)
      return {};
    SmallVector<Value> tiles =
        llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
            .Case<OnlineAttentionOp, MergeOp, SinkStateOp, FinalizeOp>(
                [&](auto typed) { return emitOp(typed); })
            .Default([](Operation *) { return SmallVector<Value>(); });
    if (tiles.empty())
      return {};
    map.map(op->getResults(), tiles);
    return map.lookup(whole);
  }

private:
  Type rowType() { return tileOf({tile[0]}, b.getF32Type()); }
  Type accType(Value acc) {
    return tileOf({tile[0], cast<RankedTensorType>(acc.getType()).getDimSize(3)}, b.getF32Type());
  }

  SmallVector<Value> emitOp(OnlineAttentionOp op) {
    Location loc = op.getLoc();
    TileMath math(b, loc, op.getBase());
    Type rows = rowType(), acc = accType(op.getAcc());
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
          nested, loc, types, q, k, v, state, kernel.at(keys), Value(),
          Value(), Value(), memory.captures, op.getScaleAttr(), op.getBaseAttr(),
          nested.getUnitAttr(), /*schedule=*/nullptr);
      cloneRegionOnMemory(op.getScore(), inner.getScore(), memory.captures);
      cloneRegionOnMemory(op.getMask(), inner.getMask(), memory.captures);
      return SmallVector<Value>(inner.getResults());
    };
    return llvm::to_vector(kernel.forEachKeyTile(identity, step));
  }

  SmallVector<Value> emitOp(MergeOp op) {
    SmallVector<Value> states;
    for (Value operand : op->getOperands()) {
      states.push_back(emit(operand));
      if (!states.back())
        return {};
    }
    auto merged = MergeOp::create(b, op.getLoc(),
                                  TypeRange{rowType(), rowType(), accType(op.getAcc())}, states[0],
                                  states[1], states[2], states[3], states[4], states[5],
                                  op.getBaseAttr());
    return SmallVector<Value>(merged.getResults());
  }

  SmallVector<Value> emitOp(SinkStateOp op) {
    auto sink = SinkStateOp::create(b, op.getLoc(),
                                    TypeRange{rowType(), rowType(), accType(op.getAcc())},
                                    kernel.loadSink());
    return SmallVector<Value>(sink.getResults());
  }

  SmallVector<Value> emitOp(FinalizeOp op) {
    Value m = emit(op.getM()), l = emit(op.getL()), acc = emit(op.getAcc());
    if (!m || !l || !acc)
      return {};
    auto type = cast<RankedTensorType>(op.getO().getType());
    auto final = FinalizeOp::create(
        b, op.getLoc(),
        TypeRange{tileOf({tile[0], type.getDimSize(3)}, type.getElementType()), rowType()}, m, l,
        acc);
    return SmallVector<Value>(final.getResults());
  }

  OpBuilder &b;
  KernelBuilder &kernel;
  const AttentionMemory &memory;
  ArrayRef<int64_t> tile;
  IRMapping map;
};

LogicalResult tileOnline(func::FuncOp func, OnlineAttentionOp op) {
  if (!op.getSchedule())
    return op.emitOpError() << "expected a schedule; run flash-set-schedule first";
  OpBuilder b(func);
  func::FuncOp kernel = createKernel(b, func, 0, *op.getSchedule());
  b.setInsertionPointToStart(&kernel.getBody().front());
  MemoryMap map(func, kernel);
  AttentionMemory memory = lookupInputs(map, op);
  func.walk([&](SinkStateOp sink) { memory.sinks = map.lookup(sink.getSinks()); });

  auto results = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperands();
  LogicalResult ok = success();
  ArrayRef<int64_t> tile = op.getSchedule()->getTile();
  emitGrid(b, op.getLoc(), memory, tile[0], [&](OpBuilder &inner, const GridPoint &point) {
    KernelBuilder builder(inner, op.getLoc(), memory, point, tile);
    TileEmitter emitter(inner, builder, memory, *op.getSchedule());
    for (auto [index, result] : llvm::enumerate(results)) {
      Value value = emitter.emit(result);
      if (!value) {
        ok = func.emitOpError() << "expected results of flash ops only, got another definition of "
                                   "result "
                                << index;
        return;
      }
      builder.store(value, map.output(index));
    }
  });
  func::ReturnOp::create(b, op.getLoc());
  return ok;
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
      return root->emitOpError() << "expected inputs that are arguments of the function, got a result of "
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
        if (isa<AttentionOp>(op) || (isa<OnlineAttentionOp>(op) &&
                                     !cast<OnlineAttentionOp>(op).isTile()))
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
