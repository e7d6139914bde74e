//===- TileToNVTile.cpp - tiles over the threads of a GPU -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToNVTile/TileToNVTile.h"
#include "compiler/Conversion/KernelPrologue.h"
#include "compiler/Conversion/KernelTarget.h"
#include "compiler/Conversion/NVTileToLLVM/CheckKernel.h"
#include "compiler/Conversion/TileToNVTile/Layouts.h"
#include "compiler/Conversion/TileToNVTile/Pipeline.h"
#include "compiler/Target/GPUSchedules.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

using namespace mlir;
using namespace flashc;

namespace {

class KernelScheduling {
public:
  KernelScheduling(func::FuncOp kernel, flash::ScheduleAttr schedule)
      : kernel(kernel), schedule(schedule), buffers(kernel.getBody().front()) {}

  LogicalResult run() {
    if (!isRescue() && failed(takeGrid()))
      return failure();
    warps = {schedule.getTile()[0] / schedule.getMicro()[0], schedule.getAcross(),
             schedule.getBands(), schedule.getTile()[0]};
    shareTiles();
    assignLayouts(kernel, warps);
    replaceProducts();
    replaceFolds();
    kernel->setAttr(nvtile::kThreadsAttrName, b().getI64IntegerAttr(warps.count() * kWarpSize));
    kernel->setAttr(nvtile::kSharedBytesAttrName, b().getI64IntegerAttr(buffers.bytes()));
    if (schedule.getBlocks())
      kernel->setAttr(nvtile::kBlocksAttrName, b().getI64IntegerAttr(schedule.getBlocks()));
    if (schedule.getRegisters())
      kernel->setAttr(nvtile::kRegistersAttrName, b().getI64IntegerAttr(schedule.getRegisters()));
    return success();
  }

private:
  OpBuilder b() { return OpBuilder(kernel.getContext()); }

  bool isRescue() { return kernel->hasAttr(flash::kRescueAttrName); }

  /// A kernel has one parallel loop: its points become blocks.
  LogicalResult takeGrid() {
    auto foralls = llvm::to_vector(kernel.getBody().front().getOps<scf::ForallOp>());
    if (foralls.size() != 1 || foralls[0].getRank() != 1 || foralls[0].getNumResults() != 0 ||
        !foralls[0].isNormalized())
      return kernel.emitOpError() << "expected one parallel loop of one dimension from 0 in steps "
                                     "of 1, without results, "
                                     "got "
                                  << foralls.size();
    OpBuilder builder(kernel);
    createGridFunction(builder, kernel, foralls.front());
    becomeBlock(foralls.front());
    return success();
  }

  /// The parallel loop's body becomes the kernel's.
  void becomeBlock(scf::ForallOp forall) {
    OpBuilder builder(forall);
    Value id = nvtile::BlockIdOp::create(builder, forall.getLoc(), builder.getIndexType());
    forall.getInductionVar(0).replaceAllUsesWith(id);
    Block *body = forall.getBody();
    body->getTerminator()->erase();
    forall->getBlock()->getOperations().splice(forall->getIterator(), body->getOperations());
    forall.erase();
  }

  /// Sends the tiles that products read to shared memory.
  void shareTiles() {
    SmallVector<LoopChain> chains = findChains(kernel.getBody().front());
    llvm::SmallPtrSet<Operation *, 16> piped;
    for (LoopChain &chain : chains)
      for (ArrayRef<tile::LoadOp> loads : chain.allLoads())
        piped.insert(loads.begin(), loads.end());
    SmallVector<tile::LoadOp> single;
    kernel.walk([&](tile::LoadOp load) {
      if (feedsProduct(load) && !piped.contains(load))
        single.push_back(load);
    });
    // What is loaded once is copied where its load stands; the barrier keeps a tile that was there before.
    for (auto [n, load] : llvm::enumerate(single)) {
      OpBuilder builder(load);
      Location loc = load.getLoc();
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value buffer = buffers.get(load, 1, kFirstSingle + n);
      // A block that works for several points, or has come here from another function.
      if (isRescue() || load->getBlock() != &kernel.getBody().front())
        nvtile::BarrierOp::create(builder, loc);
      emitCopy(builder, load, placeOf(load), {buffer, zero});
      nvtile::CommitOp::create(builder, loc);
      shared[load.getTile()] = {buffer, zero};
    }
    bool isFirst = true;
    for (LoopChain &chain : chains) {
      pipelineChain(chain, std::max<int64_t>(schedule.getStages(), 1), schedule.getValues(),
                    buffers, shared);
      if (isFirst && schedule.getQueries() == flash::Placement::Registers)
        readQueries(chain, single);
      isFirst = false;
    }
  }

  /// Left operands that stay the same are read into registers before the first chain's loops, once their
  /// copies, which are the oldest, have come.
  void readQueries(LoopChain &chain, ArrayRef<tile::LoadOp> single) {
    OpBuilder builder(chain.first());
    int64_t pending = std::max<int64_t>(schedule.getStages() - 1, 1);
    bool isWaiting = false;
    for (tile::LoadOp load : single) {
      bool isLeft = llvm::all_of(load->getUses(), [](OpOperand &use) {
        return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() == 0;
      });
      if (!isLeft || load->getBlock() != chain.first()->getBlock())
        continue;
      if (!isWaiting)
        nvtile::WaitOp::create(builder, load.getLoc(), pending);
      isWaiting = true;
      SharedTile tile = shared[load.getTile()];
      auto type = cast<RankedTensorType>(load.getTile().getType())
                      .cloneWithEncoding(nvtile::OperandAttr::get(kernel.getContext(), warps.rows));
      registers[load.getTile()] =
          nvtile::ReadOp::create(builder, load.getLoc(), type, tile.buffer, tile.stage);
    }
  }

  /// Layouts are assigned: the ops that are created take those of their operands.
  void replaceProducts() {
    SmallVector<tile::DotOp> dots;
    kernel.walk([&](tile::DotOp dot) { dots.push_back(dot); });
    for (tile::DotOp dot : dots) {
      OpBuilder builder(dot);
      Location loc = dot.getLoc();
      SharedTile b = shared.lookup(dot.getB());
      Value a = dot.getA(), aStage;
      if (Value operand = registers.lookup(a)) {
        a = operand;
      } else if (SharedTile tile = shared.lookup(a); tile.buffer) {
        a = tile.buffer;
        aStage = tile.stage;
      }
      Value finite;
      if (dot.getLoose())
        finite = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1);
      else if (dot.getKeep())
        finite = nvtile::AllFiniteOp::create(builder, loc, builder.getI1Type(), b.buffer, b.stage);
      auto product =
          nvtile::DotOp::create(builder, loc, dot.getResult().getType(), a, b.buffer, b.stage,
                                aStage, dot.getInit(), dot.getKeep(), finite,
                                dot.getTransposeBAttr(), dot.getIdleRowsAttr(), dot.getBandsAttr());
      dot.replaceAllUsesWith(product.getResult());
      dot.erase();
    }
    kernel.walk([&](tile::LoadOp load) {
      if (shared.contains(load.getTile()))
        load.erase();
    });
  }

  /// Rows are exchanged through memory of their own, which is little, tiles through that of keys or values once no
  /// thread needs these any more: the threads meet before the first fold of a block, and in each.
  void replaceFolds() {
    SmallVector<tile::FoldOp> folds;
    kernel.walk([&](tile::FoldOp fold) { folds.push_back(fold); });
    llvm::SmallPtrSet<Block *, 4> begun;
    for (tile::FoldOp fold : folds) {
      OpBuilder builder(fold);
      Location loc = fold.getLoc();
      if (begun.insert(fold->getBlock()).second)
        nvtile::BarrierOp::create(builder, loc);
      auto source = cast<RankedTensorType>(fold.getSource().getType());
      auto result = cast<RankedTensorType>(fold.getResult().getType());
      nvtile::SharedType memory = nvtile::FoldOp::memoryFor(source, result);
      Value through =
          source.getRank() == 2 ? buffers.getOver(loc, memory) : buffers.getOwn(loc, memory);
      auto made =
          nvtile::FoldOp::create(builder, loc, result, fold.getKind(), fold.getSource(), through);
      fold.replaceAllUsesWith(made.getResult());
      fold.erase();
    }
  }

  /// Numbers of buffers under which tiles that are loaded once are kept apart from those of chains.
  static constexpr unsigned kFirstSingle = 1000;

  func::FuncOp kernel;
  flash::ScheduleAttr schedule;
  WarpGrid warps;
  SharedBuffers buffers;
  llvm::DenseMap<Value, SharedTile> shared;
  llvm::DenseMap<Value, Value> registers;
};

/// What the transformation relies on, since stages can be written by hand.
LogicalResult checkKernel(func::FuncOp kernel, flash::ScheduleAttr schedule,
                          const TargetInfo &target) {
  if (failed(checkKernelFunction(kernel)))
    return failure();
  int64_t threads = gpuThreads(flash::toSizes(schedule));
  if (threads > target.maxThreadsPerBlock)
    return kernel.emitOpError() << "expected a schedule of at most " << target.maxThreadsPerBlock
                                << " threads per block, got " << threads;
  WalkResult walked = kernel.walk([&](Operation *op) {
    auto dot = dyn_cast<tile::DotOp>(op);
    if (dot && !dot.getB().getDefiningOp<tile::LoadOp>()) {
      dot.emitOpError() << "expected a right operand that is loaded, got a result of another op";
      return WalkResult::interrupt();
    }
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!load || !feedsProduct(load))
      return WalkResult::advance();
    Type element = cast<RankedTensorType>(load.getTile().getType()).getElementType();
    bool isForProducts = llvm::all_of(load->getUses(), [](OpOperand &use) {
      return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
    });
    if (isForProducts && (element.isF16() || element.isBF16() || element.isF32()))
      return WalkResult::advance();
    load.emitOpError() << "expected a tile of f16, bf16 or f32 that products alone read, since it "
                          "goes to shared memory";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult scheduleKernel(func::FuncOp kernel, const TargetInfo &target) {
  auto schedule = kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName);
  if (!schedule)
    return kernel.emitOpError() << "expected a " << flash::kScheduleAttrName << " attribute";
  if (failed(checkKernel(kernel, schedule, target)))
    return failure();
  return KernelScheduling(kernel, schedule).run();
}

/// Kernels that are launched one after another: each lets the next begin when all of its blocks have, and waits for the
/// one before. What it takes to launch a kernel, and to find what its blocks are for, passes meanwhile.
void overlapLaunches(ArrayRef<func::FuncOp> functions) {
  std::map<int64_t, func::FuncOp> kernels;
  for (func::FuncOp function : functions)
    if (auto phase = function->getAttrOfType<IntegerAttr>(flash::kKernelAttrName))
      kernels[phase.getInt()] = function;
  for (auto [phase, kernel] : kernels) {
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
    if (phase != kernels.rbegin()->first)
      nvtile::LaunchDependentsOp::create(b, kernel.getLoc());
    if (phase != kernels.begin()->first)
      nvtile::WaitPrerequisitesOp::create(b, kernel.getLoc());
  }
}

struct TileToNVTile : PassWrapper<TileToNVTile, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToNVTile)

  StringRef getArgument() const override { return "tile-to-nvtile"; }
  StringRef getDescription() const override {
    return "Lays kernels on tiles out over the threads and shared memory of an NVIDIA GPU";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                    nvtile::NVTileDialect>();
  }

  void runOnOperation() override {
    const TargetInfo *target = expectTarget(getOperation(), TargetKind::GPU);
    if (!target)
      return signalPassFailure();
    SmallVector<func::FuncOp> kernels;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if ((func->hasAttr(flash::kKernelAttrName) || func->hasAttr(flash::kRescueAttrName)) &&
          !func->hasAttr(nvtile::kThreadsAttrName))
        kernels.push_back(func);
    for (func::FuncOp kernel : kernels)
      if (failed(scheduleKernel(kernel, *target)))
        return signalPassFailure();
    if (target->hasDependentLaunch)
      overlapLaunches(kernels);
    for (func::FuncOp kernel : kernels) // of which some call others
      if (failed(checkScheduled(kernel, *target)))
        return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> flashc::createTileToNVTilePass() { return std::make_unique<TileToNVTile>(); }
void flashc::registerTileToNVTilePass() { PassRegistration<TileToNVTile>(); }
