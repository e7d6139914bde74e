//===- TileToVector.cpp - tiles to buffers and vectors --------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/TileToVector.h"
#include "compiler/Conversion/CheckSteps.h"
#include "compiler/Conversion/KernelPrologue.h"
#include "compiler/Conversion/KernelTarget.h"
#include "compiler/Conversion/TileToVector/Dot.h"
#include "compiler/Conversion/TileToVector/KeepBits.h"
#include "compiler/Conversion/TileToVector/RowProgram.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace flashc;

namespace {

/// Lowers the ops of a block, and of loops inside it, at the context's builder.
class BlockLowering {
public:
  explicit BlockLowering(Context &c) : c(c) {}

  LogicalResult lower(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (op.getNumResults() && (c.scalars.contains(op.getResult(0)) ||
                                 (isa<tile::LoadOp>(op) && c.buffers.contains(op.getResult(0)))))
        continue; // lowered ahead of its turn
      if (auto bands = op.getAttrOfType<IntegerAttr>("bands");
          isa<tile::DotOp, tile::CoordsOp>(op) && bands && bands.getInt() != 1)
        return op.emitOpError() << "expected one band of rows on CPUs, got " << bands.getInt();
      bool isFused = isElementwise(&op) || isa<tile::ReduceOp, tile::StoreOp>(op);
      if (isFused) {
        pending.push_back(&op);
        continue;
      }
      if (!touchesTiles(op)) {
        // Scalar ops never wait for tiles, but tiles may wait for them.
        c.b.clone(op, c.scalars);
        continue;
      }
      flush();
      LogicalResult done = llvm::TypeSwitch<Operation *, LogicalResult>(&op)
                               .Case([&](tile::LoadOp load) {
                                 lowerLoad(c, load);
                                 return success();
                               })
                               .Case([&](tile::DotOp dot) { return lowerDotOp(dot); })
                               .Case([&](scf::ForOp loop) { return lowerLoop(loop); })
                               .Case([&](tile::AllOp all) {
                                 c.scalars.map(all.getResult(), emitAll(c, all.getSource()));
                                 return success();
                               })
                               .Default([](Operation *other) {
                                 return other->emitOpError()
                                        << "expected an op on tiles that tile-to-vector knows";
                               });
      if (failed(done))
        return failure();
    }
    flush();
    return success();
  }

private:
  static bool isTileValue(Value value) { return tile::isTile(value.getType()); }

  static bool touchesTiles(Operation &op) {
    bool found = false;
    op.walk([&](Operation *inner) {
      auto isTiled = [](Type type) { return tile::isTile(type); };
      found |= llvm::any_of(inner->getResultTypes(), isTiled) ||
               llvm::any_of(inner->getOperandTypes(), isTiled);
    });
    return found;
  }

  void flush() {
    if (!pending.empty())
      RowProgram(c, pending).emit();
    pending.clear();
  }

  /// The loop-carried value that `dot` may update in place: its init is computed from it and nothing
  /// else reads it, and its result is what the loop carries on.
  Value inPlaceTarget(tile::DotOp dot) {
    if (!dot.getResult().hasOneUse() || !dot.getInit())
      return {};
    OpOperand &use = *dot.getResult().use_begin();
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!loop || !isa<scf::YieldOp>(use.getOwner()))
      return {};
    Value carried = loop.getRegionIterArg(use.getOperandNumber());
    return onlyFeedsInit(carried, dot) ? carried : Value();
  }

  bool onlyFeedsInit(Value value, tile::DotOp dot) {
    llvm::SetVector<Value> fed;
    fed.insert(value);
    for (size_t n = 0; n < fed.size(); ++n)
      for (OpOperand &use : fed[n].getUses()) {
        Operation *user = use.getOwner();
        bool isInit = user == dot && use.get() == dot.getInit() && use.get() != dot.getA();
        if (!isInit && (!isElementwise(user) || !isMatrix(user->getResult(0))))
          return false;
        if (!isInit)
          fed.insert(user->getResult(0));
      }
    return true;
  }

  LogicalResult lowerDotOp(tile::DotOp dot) {
    for (Value operand : {dot.getA(), dot.getB()})
      if (!c.buffers.contains(operand)) {
        // A constant, say: evaluate it into memory.
        Buffer buffer = c.allocate(operand.getType());
        emitInto(c, operand, buffer);
        c.buffers[operand] = buffer;
      }
    const Buffer &a = c.buffers[dot.getA()], &b = c.buffers[dot.getB()];
    bool sameFormat = (a.format == Format::F32) == (b.format == Format::F32);
    bool sameOrder = b.isInPlace || b.isTransposed == dot.getTransposeB();
    if (!c.isProductTransposed(dot) && (a.isTransposed || a.isInPlace || !sameOrder || !sameFormat))
      return dot.emitOpError() << "expected operands that are loaded for this dot alone";
    Value target = inPlaceTarget(dot);
    Buffer result = target ? c.buffers[target] : c.allocateActive(dot.getResult(), Format::F32);
    lowerDot(c, dot, result);
    c.nextTiles.dots += llvm::any_of(c.nextTiles.tiles, [&](const Buffer &next) {
      return next.memory == c.buffers[dot.getB()].memory;
    });
    c.buffers[dot.getResult()] = result;
    return success();
  }

  /// What a dot keeps of its rows where those that keep nothing may be left out of the block; or null.
  Value keepOfIdleRows(Block &block) {
    for (Operation &op : block) {
      if (op.getNumRegions() != 0 && touchesTiles(op))
        return {};
      if (auto dot = dyn_cast<tile::DotOp>(op))
        if (dot.getIdleRows() && isPure(c, dot.getKeep()))
          return dot.getKeep();
    }
    return {};
  }

  /// Rows that go through the whole body of a loop before the next ones do, so that their scores and
  /// probabilities stay in the first-level cache: whole micro-tiles, and vectors of rows.
  int64_t rowsAtATime() const {
    constexpr int64_t kLeast = 32;
    int64_t rows = c.microRows;
    while (rows % c.lanes != 0 || rows < kLeast)
      rows += c.microRows;
    return rows;
  }

  /// The rows of all tiles that `loop` computes, where there are more than go through it at a time and where it
  /// stores nothing; or 0. The tiles that it loads are for dots to multiply with.
  int64_t rowsToDivide(scf::ForOp loop) {
    int64_t rows = 0;
    if (llvm::none_of(loop.getYieldedValues(), isTileValue))
      return 0;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (!touchesTiles(op))
        continue;
      bool isLoad = isa<tile::LoadOp>(op);
      if (!isLoad && !isElementwise(&op) && !isa<tile::ReduceOp, tile::DotOp>(op))
        return 0;
      Value tile = op.getResult(0);
      if (isLoad) {
        for (OpOperand &use : tile.getUses())
          if (auto dot = dyn_cast<tile::DotOp>(use.getOwner()); !dot || dot.getB() != tile)
            return 0;
        continue;
      }
      if (!c.demand->lookup(tile) || (rows && rows != tileRows(tile)))
        return 0;
      rows = tileRows(tile);
    }
    return rows > rowsAtATime() ? rows : 0;
  }

  /// lowerBody for some rows at a time.
  LogicalResult lowerBodyInParts(scf::ForOp loop, ArrayRef<Buffer> carried, int64_t rows) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (!touchesTiles(op) && !c.scalars.contains(op.getResult(0)))
        c.b.clone(op, c.scalars);
    for (auto load : loop.getBody()->getOps<tile::LoadOp>())
      lowerLoad(c, load);
    Index x(c.b, c.loc);
    std::optional<ActiveRows> all = c.active;
    if (!all)
      all = ActiveRows{x.constant(0),
                       c.rowsOf(*llvm::find_if(loop.getYieldedValues(), isTileValue)), rows};
    int64_t count = rowsAtATime();
    LogicalResult done = success();
    emitLoop(c, all->begin, all->end, count, [&](Value begin) {
      Index y(c.b, c.loc);
      c.active = ActiveRows{begin, y.min(y.add(begin, count), all->end), rows};
      c.activeCount = count;
      done = lowerBody(loop, carried);
    });
    c.active.reset();
    c.activeCount = 0;
    return done;
  }

  /// The body of a loop, and its tiles into the buffers that carry them.
  LogicalResult lowerBody(scf::ForOp loop, ArrayRef<Buffer> carried) {
    if (failed(BlockLowering(c).lower(*loop.getBody())))
      return failure();
    for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
      if (!tile::isTile(value.getType()))
        continue;
      if (isa<BlockArgument>(value) && value != loop.getRegionIterArg(index))
        return loop.emitOpError() << "expected carried tiles that do not change places";
      if (c.buffers.lookup(value).memory != carried[index].memory)
        emitInto(c, value, carried[index]);
    }
    return success();
  }

  LogicalResult lowerRows(scf::ForOp loop, ArrayRef<Buffer> carried) {
    int64_t rows = rowsToDivide(loop);
    return rows ? lowerBodyInParts(loop, carried, rows) : lowerBody(loop, carried);
  }

  /// The same for the rows alone that `keep` keeps something of, and not even a load without any.
  LogicalResult lowerActiveRows(scf::ForOp loop, ArrayRef<Buffer> carried, Value keep) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (!touchesTiles(op))
        c.b.clone(op, c.scalars);
    c.active = emitKeepBits(c, keep);
    Value any = Index(c.b, c.loc).lt(c.active->begin, c.active->end);
    auto branch = scf::IfOp::create(c.b, c.loc, any);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPoint(branch.thenYield());
    LogicalResult done = lowerRows(loop, carried);
    c.active.reset();
    return done;
  }

  /// Whether nothing from `op` on reads `value`.
  static bool isOver(Value value, Operation *op) {
    llvm::SetVector<Value> read;
    read.insert(value);
    for (size_t n = 0; n < read.size(); ++n)
      for (Operation *user : read[n].getUsers()) {
        if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
          return false;
        if (isElementwise(user))
          read.insert(user->getResult(0));
      }
    return true;
  }

  /// The choice whether `loop` goes on from what another loop has left in its memory, or starts afresh: `init` where
  /// it is one, and where nothing but the loop needs that memory any more.
  arith::SelectOp resumedState(scf::ForOp loop, Value init) {
    auto choice = init.getDefiningOp<arith::SelectOp>();
    if (!choice || isTileValue(choice.getCondition()) || !init.hasOneUse() || !isMatrix(init))
      return {};
    Value state = choice.getTrueValue();
    bool isLeft = state.getDefiningOp<scf::ForOp>() && c.buffers.contains(state);
    for (Operation *user : state.getUsers())
      if (user != choice && !isOver(user->getResult(0), loop))
        isLeft = false;
    return isLeft && isPure(c, choice.getFalseValue()) ? choice : arith::SelectOp();
  }

  void restart(arith::SelectOp choice, const Buffer &buffer) {
    Value fresh =
        arith::XOrIOp::create(c.b, c.loc, c.scalars.lookup(choice.getCondition()),
                              arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(true)));
    auto branch = scf::IfOp::create(c.b, c.loc, fresh);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPoint(branch.thenYield());
    emitInto(c, choice.getFalseValue(), buffer);
  }

  LogicalResult lowerLoop(scf::ForOp loop) {
    SmallVector<Value> scalarInits;
    SmallVector<Buffer> carried(loop.getNumRegionIterArgs());
    for (auto [index, init] : llvm::enumerate(loop.getInitArgs())) {
      if (!tile::isTile(init.getType())) {
        scalarInits.push_back(c.scalars.lookup(init));
        continue;
      }
      auto buffer = c.buffers.find(init);
      bool isOurs = buffer != c.buffers.end() && init.hasOneUse() &&
                    isa_and_nonnull<scf::ForOp, tile::DotOp>(init.getDefiningOp());
      arith::SelectOp resumed = resumedState(loop, init);
      carried[index] = resumed  ? c.buffers.lookup(resumed.getTrueValue())
                       : isOurs ? buffer->second
                                : c.allocate(init.getType());
      if (resumed)
        restart(resumed, carried[index]);
      else if (!isOurs)
        emitInto(c, init, carried[index]);
      c.buffers[loop.getRegionIterArg(index)] = carried[index];
    }
    auto copy = scf::ForOp::create(c.b, loop.getLoc(), c.scalars.lookup(loop.getLowerBound()),
                                   c.scalars.lookup(loop.getUpperBound()),
                                   c.scalars.lookup(loop.getStep()), scalarInits);
    c.scalars.map(loop.getInductionVar(), copy.getInductionVar());
    unsigned scalar = 0;
    for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      if (!tile::isTile(argument.getType()))
        c.scalars.map(argument, copy.getRegionIterArg(scalar++));

    {
      OpBuilder::InsertionGuard guard(c.b);
      llvm::SaveAndRestore outerTiles(c.nextTiles, NextTiles());
      Block *body = copy.getBody();
      if (!scalarInits.empty())
        c.b.setInsertionPointToEnd(body);
      else
        c.b.setInsertionPoint(body->getTerminator());
      Value keep = scalarInits.empty() ? keepOfIdleRows(*loop.getBody()) : Value();
      if (failed(keep ? lowerActiveRows(loop, carried, keep) : lowerRows(loop, carried)))
        return failure();
      SmallVector<Value> yields;
      for (Value value : loop.getYieldedValues())
        if (!tile::isTile(value.getType()))
          yields.push_back(c.scalars.lookup(value));
      if (!scalarInits.empty())
        scf::YieldOp::create(c.b, loop.getLoc(), yields);
    }
    scalar = 0;
    for (auto [index, result] : llvm::enumerate(loop.getResults())) {
      if (tile::isTile(result.getType()))
        c.buffers[result] = carried[index];
      else
        c.scalars.map(result, copy.getResult(scalar++));
    }
    return success();
  }

  Context &c;
  SmallVector<Operation *> pending;
};

LogicalResult lowerKernel(func::FuncOp kernel, const TargetInfo &target) {
  auto phase = kernel->getAttrOfType<IntegerAttr>(flash::kKernelAttrName);
  auto schedule = kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName);
  if (!schedule)
    return kernel.emitOpError() << "expected a " << flash::kScheduleAttrName << " attribute";
  auto foralls = llvm::to_vector(kernel.getBody().front().getOps<scf::ForallOp>());
  if (foralls.size() != 1 || foralls[0].getRank() != 1 || foralls[0].getNumResults() != 0)
    return kernel.emitOpError() << "expected one parallel loop of one dimension without results, "
                                   "got "
                                << foralls.size();
  if (failed(checkSteps(kernel)))
    return failure();
  scf::ForallOp forall = foralls.front();
  OpBuilder b(kernel);
  Location loc = kernel.getLoc();
  std::string name = kernel.getName().str();

  createGridFunction(b, kernel, forall);

  RowDemand demand(forall);
  BF16Dots dots = target.hasAMX       ? BF16Dots::AMX
                  : target.hasBF16Dot ? BF16Dots::Vector
                                      : BF16Dots::None;
  Context c(OpBuilder(kernel.getContext()), loc, target.vectorLanesF32(), target.numVectorRegisters,
            dots, schedule.getMicro()[0], schedule.getMicro()[1]);
  Type scratchType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  func::FuncOp run = createFromPrologue(b, kernel, forall, name + "_point",
                                        {b.getIndexType(), scratchType}, {}, c.scalars);
  run->setAttr(flash::kKernelAttrName, phase);
  run->setAttr(flash::kScheduleAttrName, schedule);
  Block *entry = &run.getBody().front();
  unsigned base = kernel.getNumArguments();
  c.scalars.map(forall.getInductionVar(0), entry->getArgument(base));
  c.scratch = entry->getArgument(base + 1);
  c.demand = &demand;
  c.b.setInsertionPointToEnd(entry);
  c.scratchUser = func::ReturnOp::create(c.b, loc);
  // Buffers are declared at this mark, before anything of the body.
  OpBuilder marker(c.scratchUser);
  Operation *mark = arith::ConstantIndexOp::create(marker, loc, 0);
  Operation *end = c.scratchUser;
  c.scratchUser = mark;
  c.b.setInsertionPoint(end);
  if (failed(BlockLowering(c).lower(*forall.getBody())))
    return failure();
  mark->erase();
  run->setAttr(kScratchAttrName, b.getI64IntegerAttr(c.scratchBytes));
  kernel.erase();
  return success();
}

struct TileToVector : PassWrapper<TileToVector, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToVector)

  StringRef getArgument() const override { return "tile-to-vector"; }
  StringRef getDescription() const override {
    return "Lowers kernels on tiles to loops over register micro-tiles";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    const TargetInfo *target = expectTarget(getOperation(), TargetKind::CPU);
    if (!target)
      return signalPassFailure();
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func->hasAttr(flash::kKernelAttrName) && !func->hasAttr(kScratchAttrName))
        if (failed(lowerKernel(func, *target)))
          return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> flashc::createTileToVectorPass() { return std::make_unique<TileToVector>(); }
void flashc::registerTileToVectorPass() { PassRegistration<TileToVector>(); }
