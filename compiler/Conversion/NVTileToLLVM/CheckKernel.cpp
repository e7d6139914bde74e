//===- CheckKernel.cpp - what the lowering of kernels relies on -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/CheckKernel.h"
#include "compiler/Conversion/CheckSteps.h"
#include "compiler/Target/GPUSchedules.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc;

namespace {

constexpr int64_t kThreadsPerWarp = 32, kBlockRows = 16;

bool isNumber(Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64; }

/// Warps along the rows and columns of a tile.
std::pair<int64_t, int64_t> warpsOf(RankedTensorType tile) {
  if (auto operand = dyn_cast<nvtile::OperandAttr>(tile.getEncoding()))
    return {operand.getRowWarps(), 1};
  if (auto lines = dyn_cast<nvtile::LinesAttr>(tile.getEncoding()))
    return {lines.getRowWarps(), 1};
  auto fragment = cast<nvtile::FragmentAttr>(tile.getEncoding());
  return {fragment.getRowWarps(), tile.getRank() == 2 ? fragment.getColumnWarps() : 1};
}

bool isLines(Type tile) {
  return isa_and_nonnull<nvtile::LinesAttr>(cast<RankedTensorType>(tile).getEncoding());
}

bool isOperandTile(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile && isa_and_nonnull<nvtile::OperandAttr>(tile.getEncoding());
}

class ScheduledCheck {
public:
  ScheduledCheck(func::FuncOp kernel, const TargetInfo &target) : kernel(kernel), target(target) {}

  LogicalResult run() {
    auto threads = kernel->getAttrOfType<IntegerAttr>(nvtile::kThreadsAttrName);
    if (!threads || threads.getInt() < kThreadsPerWarp ||
        threads.getInt() > target.maxThreadsPerBlock || threads.getInt() % kThreadsPerWarp != 0)
      return kernel.emitOpError() << "expected in " << nvtile::kThreadsAttrName
                                  << " whole warps of at most " << target.maxThreadsPerBlock
                                  << " threads, got " << kernel->getAttr(nvtile::kThreadsAttrName);
    warps = threads.getInt() / kThreadsPerWarp;
    for (auto [name, what, most] :
         {std::tuple(StringRef(nvtile::kBlocksAttrName), "blocks", int64_t(32)),
          {StringRef(nvtile::kRegistersAttrName), "registers", target.maxRegistersPerThread}}) {
      Attribute value = kernel->getAttr(name);
      auto number = dyn_cast_or_null<IntegerAttr>(value);
      if (value && (!number || number.getInt() < 0 || number.getInt() > most))
        return kernel.emitOpError()
               << "expected 0 to " << most << " " << what << " in " << name << ", got " << value;
    }
    if (auto registers = kernel->getAttrOfType<IntegerAttr>(nvtile::kRegistersAttrName);
        registers && registers.getInt() * threads.getInt() > target.registersPerSM)
      return kernel.emitOpError() << "expected at most " << target.registersPerSM
                                  << " registers for the threads of a block, got "
                                  << registers.getInt() << " for each of " << threads.getInt();
    auto schedule = kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName);
    bool hasMicro =
        schedule && (schedule.getMicro()[1] % kBlockRows == 0 || hasFewestKeys(schedule));
    if (!hasMicro)
      return kernel.emitOpError() << "expected a schedule whose micro columns are a multiple of "
                                  << kBlockRows << ", got "
                                  << kernel->getAttr(flash::kScheduleAttrName);
    isForFMA = hasFewestKeys(schedule);
    WalkResult walked = kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      return failed(checkValues(*op)) || failed(checkOp(*op)) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

private:
  /// Types of what an op defines, and uses of what not every op can use.
  LogicalResult checkValues(Operation &op) {
    for (Value result : op.getResults())
      if (failed(checkType(op, result)))
        return failure();
    for (Region &region : op.getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(checkType(op, argument)))
            return failure();
    bool movesMemory =
        isa<tile::LoadOp, tile::StoreOp, tile::GatherOp, nvtile::CopyOp, memref::DimOp,
            memref::LoadOp, memref::ViewOp, memref::CastOp, func::CallOp>(op);
    bool readsStages = isa<nvtile::AllocOp, nvtile::CopyOp, nvtile::ReadOp, nvtile::AllFiniteOp,
                           nvtile::DotOp, nvtile::FoldOp>(op);
    for (OpOperand &operand : op.getOpOperands()) {
      Type type = operand.get().getType();
      bool isMisused = (isa<BaseMemRefType>(type) && !movesMemory) ||
                       (isa<nvtile::SharedType>(type) && !readsStages) ||
                       (isOperandTile(operand.get()) && !isa<nvtile::DotOp>(op));
      if (isMisused)
        return op.emitOpError() << "expected an op that a thread can run, got one on " << type;
    }
    return success();
  }

  LogicalResult checkType(Operation &op, Value value) {
    Type type = value.getType();
    if (auto memory = dyn_cast<BaseMemRefType>(type)) {
      auto ranked = dyn_cast<MemRefType>(type);
      if (!ranked || !isNumber(ranked.getElementType()) || !isa<memref::ViewOp, memref::CastOp>(op))
        return op.emitOpError() << "expected memory of numbers that is an argument or a view of "
                                   "one, got "
                                << type;
      return success();
    }
    if (auto shared = dyn_cast<nvtile::SharedType>(type)) {
      if (!isa<nvtile::AllocOp>(op))
        return op.emitOpError() << "expected shared memory from nvtile.alloc only";
      int64_t multiple = hasTensorCores(shared.getElementType()) ? kBlockRows : kLeastRows;
      if (shared.getRows() % multiple != 0)
        return op.emitOpError() << "expected rows that are a multiple of " << multiple << ", got "
                                << type;
      return success();
    }
    return isa<TensorType>(type) ? checkTile(op, type, isa<nvtile::ReadOp>(op)) : success();
  }

  LogicalResult checkTile(Operation &op, Type type, bool mayBeOperand) {
    auto tile = dyn_cast<RankedTensorType>(type);
    bool isTile = tile && tile::isTile(tile) &&
                  (isNumber(tile.getElementType()) || tile.getElementType().isIndex());
    bool hasLayout =
        isTile && (isa_and_nonnull<nvtile::FragmentAttr, nvtile::LinesAttr>(tile.getEncoding()) ||
                   (mayBeOperand && isa_and_nonnull<nvtile::OperandAttr>(tile.getEncoding())));
    if (!hasLayout)
      return op.emitOpError() << "expected tiles of numbers with the layout nvtile.fragment or "
                                 "nvtile.lines, got "
                              << type;
    auto [rows, columns] = warpsOf(tile);
    if (rows > warps || columns > warps || warps % (rows * columns) != 0)
      return op.emitOpError() << "expected a layout for the kernel's " << warps << " warps, got "
                              << type;
    // Products on tensor cores ask for more (checkDot).
    int64_t blockRows = isLines(tile) ? 1 : kLeastRows;
    if (tile.getDimSize(0) % (blockRows * rows) != 0)
      return op.emitOpError() << "expected rows that are a multiple of " << blockRows * rows << ", "
                              << blockRows << " for each warp, got " << type;
    // The division first: sizes may be as large as numbers are.
    int64_t perThread = tile.getDimSize(0) / rows / blockRows;
    int64_t lanes = isLines(tile) ? kThreadsPerWarp : 4;
    int64_t width = tile.getRank() == 2 ? tile.getDimSize(1) / (lanes * columns) + 4 : 1;
    if (perThread > kMostTileElements || width > kMostTileElements ||
        perThread * width > kMostTileElements)
      return op.emitOpError() << "expected a tile of at most about " << kMostTileElements
                              << " elements for a thread, got " << type;
    return success();
  }

  /// What goes with other launches: every block waits before it touches memory.
  LogicalResult checkLaunch(Operation *op) {
    if (!target.hasDependentLaunch)
      return op->emitOpError() << "expected a target from sm_90 on, got "
                               << StringRef(target.name.data(), target.name.size());
    if (!isa<nvtile::WaitPrerequisitesOp>(op))
      return success();
    auto touchesMemory = [](Operation &before) {
      return !isMemoryEffectFree(&before) && !isa<nvtile::LaunchDependentsOp>(before);
    };
    Block &entry = kernel.getBody().front();
    if (op->getBlock() != &entry ||
        llvm::any_of(llvm::make_range(entry.begin(), op->getIterator()), touchesMemory))
      return op->emitOpError() << "expected to be first in the kernel, got it behind or among ops "
                                  "that may read or write memory";
    return success();
  }

  LogicalResult checkOp(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<scf::ForOp, scf::IfOp, scf::YieldOp, func::ReturnOp, nvtile::BlockIdOp,
              nvtile::AllocOp, nvtile::CopyOp, nvtile::CommitOp, nvtile::BarrierOp, nvtile::ReadOp,
              nvtile::AllFiniteOp, nvtile::FoldOp, tile::AllOp, tile::StoreOp, tile::LoadOp,
              tensor::SplatOp, memref::ViewOp, memref::CastOp, memref::LoadOp>(
            [](auto) { return success(); })
        .Case<nvtile::LaunchDependentsOp, nvtile::WaitPrerequisitesOp>(
            [&](Operation *launch) { return checkLaunch(launch); })
        .Case([&](nvtile::WaitOp wait) -> LogicalResult {
          if (wait.getPending() > 64)
            return wait.emitOpError() << "expected 0 to 64 pending groups, got "
                                      << static_cast<int64_t>(wait.getPending());
          return success();
        })
        .Case([&](memref::DimOp dim) -> LogicalResult {
          std::optional<int64_t> index = dim.getConstantIndex();
          int64_t rank = cast<MemRefType>(dim.getSource().getType()).getRank();
          if (!index || *index < 0 || *index >= rank)
            return dim.emitOpError() << "expected a constant dimension below " << rank;
          return success();
        })
        .Case([&](arith::ConstantOp constant) -> LogicalResult {
          auto elements = dyn_cast<ElementsAttr>(constant.getValue());
          if (elements && (!isa<DenseElementsAttr>(elements) || !elements.isSplat()))
            return constant.emitOpError() << "expected a tile of one constant";
          return success();
        })
        .Case([&](tile::CoordsOp coords) -> LogicalResult {
          auto type = cast<RankedTensorType>(coords.getResult().getType());
          int64_t bands = coords.getBands();
          if (bands == 1 || (areBands(type, bands) && warpsOf(type).second == 1 &&
                             isBandWidth(type.getDimSize(1), !isForFMA)))
            return success();
          return coords.emitOpError() << "expected bands with warps of their own and columns that "
                                         "are a multiple of "
                                      << kBlockRows << ", got " << bands << " in " << type;
        })
        .Case([&](tile::RepeatOp repeat) -> LogicalResult {
          auto from = cast<RankedTensorType>(repeat.getSource().getType());
          auto to = cast<RankedTensorType>(repeat.getResult().getType());
          int64_t bands = to.getDimSize(0) / from.getDimSize(0);
          if (areBands(to, bands) && !isLines(from) &&
              warpsOf(to).first == bands * warpsOf(from).first)
            return success();
          return repeat.emitOpError()
                 << "expected fragments, and " << bands << " times the warps along the rows, got "
                 << from << " and " << to;
        })
        .Case([&](tile::BroadcastOp broadcast) {
          return sameRows(op, broadcast.getSource(), broadcast.getResult());
        })
        .Case([&](tile::ReduceOp reduce) -> LogicalResult {
          if (warpsOf(cast<RankedTensorType>(reduce.getSource().getType())).second != 1)
            return reduce.emitOpError() << "expected rows that are whole in a warp, got "
                                        << reduce.getSource().getType();
          return sameRows(op, reduce.getSource(), reduce.getResult());
        })
        .Case([&](nvtile::DotOp dot) { return checkDot(dot); })
        .Case([&](func::CallOp call) { return checkCall(call); })
        .Default([&](Operation *other) { return checkOther(*other); });
  }

  LogicalResult sameRows(Operation &op, Value a, Value b) {
    if (warpsOf(cast<RankedTensorType>(a.getType())).first ==
            warpsOf(cast<RankedTensorType>(b.getType())).first &&
        isLines(a.getType()) == isLines(b.getType()))
      return success();
    return op.emitOpError() << "expected tiles with the same warps along their rows, got "
                            << a.getType() << " and " << b.getType();
  }

  /// Whether every band of a tile's rows has warps of its own.
  bool areBands(RankedTensorType tile, int64_t bands) {
    return !isLines(tile) && warpsOf(tile).first % bands == 0;
  }

  /// Keys of a band: whole blocks of products.
  static bool isBandWidth(int64_t keys, bool isOnTensorCores) {
    return keys % kBlockRows == 0 || (keys == kFewestKeys && !isOnTensorCores);
  }

  LogicalResult checkBands(nvtile::DotOp dot) {
    int64_t bands = dot.getBands();
    auto b = cast<nvtile::SharedType>(dot.getB().getType());
    auto result = cast<RankedTensorType>(dot.getResult().getType());
    if (!areBands(result, bands) ||
        !isBandWidth(b.getRows() / bands, hasTensorCores(b.getElementType())))
      return dot.emitOpError() << "expected bands with warps of their own, and of rows of b that "
                                  "are a multiple of "
                               << kBlockRows << ", got " << bands << " for " << b << " and "
                               << result;
    return success();
  }

  LogicalResult checkDot(nvtile::DotOp dot) {
    if (dot.getBands() > 1 && failed(checkBands(dot)))
      return failure();
    Type element = cast<nvtile::SharedType>(dot.getB().getType()).getElementType();
    bool isOnTensorCores = hasTensorCores(element);
    if (!isOnTensorCores && !element.isBF16() && !element.isF32())
      return dot.emitOpError() << "expected operands of f16, bf16 or f32, got " << element;
    if (isOnTensorCores && isForFMA)
      return dot.emitOpError() << "expected products on FMA units with tiles of " << kFewestKeys
                               << " keys, got elements of " << element;
    auto result = cast<RankedTensorType>(dot.getResult().getType());
    if (isOnTensorCores && result.getDimSize(0) / warpsOf(result).first % kBlockRows != 0)
      return dot.emitOpError() << "expected rows of a warp that are a multiple of " << kBlockRows
                               << " on tensor cores, got " << result;
    if (dot.getTransposeB() && warpsOf(result).second != 1)
      return dot.emitOpError() << "expected rows of scores that are whole in a warp, got "
                               << result;
    auto a = dyn_cast<RankedTensorType>(dot.getA().getType());
    if (isOperandTile(dot.getA()) && !isOnTensorCores)
      return dot.emitOpError() << "expected a left operand that is no nvtile.operand where "
                                  "products run on FMA units";
    // The rows of a are those of the result or of one of its bands.
    bool isBand = a && a.getDimSize(0) != result.getDimSize(0);
    if (isBand && (isLines(a) || warpsOf(a).first * static_cast<int64_t>(dot.getBands()) !=
                                     warpsOf(result).first))
      return dot.emitOpError() << "expected left rows over the warps of a band, got " << a;
    if (a && ((!isBand && failed(sameRows(*dot, dot.getA(), dot.getResult()))) ||
              warpsOf(a).second != 1))
      return dot.emitOpError() << "expected left rows that are whole in a warp, got " << a;
    if (Value keep = dot.getKeep()) {
      auto kept = cast<RankedTensorType>(keep.getType());
      if (isLines(kept) || warpsOf(kept).second != 1 ||
          warpsOf(kept).first != warpsOf(result).first)
        return dot.emitOpError() << "expected rows of keep that are whole in a warp, got " << kept;
    }
    return success();
  }

  /// A rescue is called with what the kernel itself was called with, and a number.
  LogicalResult checkCall(func::CallOp call) {
    auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || !callee->hasAttr(flash::kRescueAttrName) ||
        callee->getAttr(flash::kRescueAttrName) != kernel->getAttr(flash::kKernelAttrName))
      return call.emitOpError() << "expected a call from a kernel to a function with its phase in "
                                << flash::kRescueAttrName;
    if (callee->getAttr(nvtile::kThreadsAttrName) != kernel->getAttr(nvtile::kThreadsAttrName))
      return call.emitOpError() << "expected a function for the kernel's threads";
    if (call.getNumOperands() != kernel.getNumArguments() + 1 ||
        !llvm::equal(call.getOperands().drop_back(), kernel.getArguments()))
      return call.emitOpError() << "expected the kernel's arguments and a number";
    return success();
  }

  LogicalResult checkOther(Operation &op) {
    auto isTile = [](Value value) { return isa<TensorType>(value.getType()); };
    bool handlesTiles =
        llvm::any_of(op.getOperands(), isTile) || llvm::any_of(op.getResults(), isTile);
    bool isElementwise = isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
                         OpTrait::hasElementwiseMappableTraits(&op) && op.getNumResults() == 1;
    if (isa<tile::GatherOp>(op))
      isElementwise = true;
    if (op.getNumRegions() || !isMemoryEffectFree(&op) ||
        (handlesTiles && (!isElementwise || !isTile(op.getResult(0)))))
      // A gather reads memory that nothing writes.
      if (!isa<tile::GatherOp>(op))
        return op.emitOpError() << "expected an op that a thread can run";
    if (!handlesTiles)
      return success();
    auto result = cast<RankedTensorType>(op.getResult(0).getType());
    for (Value operand : op.getOperands())
      if (auto tile = dyn_cast<RankedTensorType>(operand.getType()))
        if (tile.getEncoding() != result.getEncoding() || tile.getShape() != result.getShape())
          return op.emitOpError() << "expected tiles in one layout, got " << tile << " and "
                                  << result;
    return success();
  }

  bool hasTensorCores(Type element) const {
    return element.isF16() || (element.isBF16() && target.hasBF16MMA);
  }

  static bool hasFewestKeys(flash::ScheduleAttr schedule) {
    return schedule.getTile()[1] == schedule.getBands() * kFewestKeys &&
           schedule.getMicro()[1] == kFewestKeys;
  }

  func::FuncOp kernel;
  const TargetInfo &target;
  int64_t warps = 1;
  /// Whether the schedule has tiles of keys that are too small for tensor cores.
  bool isForFMA = false;
};

} // namespace

LogicalResult flashc::checkFunction(func::FuncOp func, unsigned results, unsigned numbers) {
  if (func.isDeclaration() || !func.getBody().hasOneBlock() || func.getNumResults() != results)
    return func.emitOpError() << "expected a body of one block with " << results << " results";
  if (func.getNumArguments() < numbers)
    return func.emitOpError() << "expected the number of a point as the last argument";
  for (Type type : func.getArgumentTypes().take_back(numbers))
    if (!type.isIndex())
      return func.emitOpError() << "expected the number of a point as the last argument, got "
                                << type;
  for (Type type : func.getArgumentTypes().drop_back(numbers)) {
    auto memory = dyn_cast<MemRefType>(type);
    if (!memory || !isNumber(memory.getElementType()))
      return func.emitOpError() << "expected arguments in memory, of numbers, got " << type;
  }
  return checkSteps(func);
}

LogicalResult flashc::checkKernelFunction(func::FuncOp kernel) {
  return checkFunction(kernel, 0, kernel->hasAttr(flash::kRescueAttrName));
}

LogicalResult flashc::checkScheduled(func::FuncOp kernel, const TargetInfo &target) {
  if (failed(checkKernelFunction(kernel)))
    return failure();
  return ScheduledCheck(kernel, target).run();
}
