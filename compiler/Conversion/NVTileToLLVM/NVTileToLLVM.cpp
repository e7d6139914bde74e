//===- NVTileToLLVM.cpp - from scheduled kernels to threads ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/NVTileToLLVM.h"
#include "compiler/Conversion/KernelInfo.h"
#include "compiler/Conversion/KernelTarget.h"
#include "compiler/Conversion/NVTileToLLVM/CheckKernel.h"
#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Conversion/NVTileToLLVM/HostExpression.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"

using namespace mlir;
using namespace flashc;

namespace {

/// A function with the parameters of a kernel as it is launched: per argument pointer, sizes and strides; and `facts`
/// that the host computes. Launch bounds make it a kernel: a rescue has none.
func::FuncOp createThreadFunction(OpBuilder &b, func::FuncOp kernel, size_t facts) {
  SmallVector<Type> types;
  SmallVector<unsigned> pointers;
  for (Type type : kernel.getArgumentTypes()) {
    if (type.isIndex()) { // the number of a rescue's point
      types.push_back(b.getI64Type());
      continue;
    }
    pointers.push_back(types.size());
    types.push_back(LLVM::LLVMPointerType::get(b.getContext(), 1));
    types.append(2 * cast<MemRefType>(type).getRank(), b.getI64Type());
  }
  types.append(facts, b.getI64Type());
  auto func =
      func::FuncOp::create(b, kernel.getLoc(), kernel.getName(), b.getFunctionType(types, {}));
  // The runtime refuses tensors that overlap an output.
  for (unsigned pointer : pointers)
    func.setArgAttr(pointer, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  for (StringRef name :
       {nvtile::kThreadsAttrName, nvtile::kBlocksAttrName, nvtile::kRegistersAttrName})
    if (Attribute value = kernel->getAttr(name); value && kernel->hasAttr(flash::kKernelAttrName))
      func->setAttr(name, value);
  func.addEntryBlock();
  return func;
}

class ModuleLowering {
public:
  ModuleLowering(ModuleOp module, const TargetInfo &target) : module(module), target(target) {}

  LogicalResult run() {
    FailureOr<KernelFunctions> found = KernelFunctions::find(module);
    if (failed(found))
      return failure();
    if (failed(check(*found)))
      return failure();
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
    LLVM::GlobalOp::create(b, module.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedSymbol, Attribute(), kSharedAlignment, /*addrSpace=*/3);
    llvm::json::Object info = describeKernels(module, *found);
    llvm::json::Array kernels;
    for (auto &[phase, kernel] : found->kernels) {
      FailureOr<llvm::json::Value> grid = toHostExpression(found->grids[phase]);
      LaunchFacts facts = LaunchFacts::find(kernel);
      FailureOr<func::FuncOp> thread = lowerKernel(kernel, facts);
      if (failed(grid) || failed(thread))
        return failure();
      auto number = [](func::FuncOp function, StringRef name) {
        return function->getAttrOfType<IntegerAttr>(name).getInt();
      };
      int64_t bytes = number(*thread, nvtile::kSharedBytesAttrName);
      if (func::FuncOp rescue = found->rescues[phase]) {
        FailureOr<func::FuncOp> called = lowerKernel(rescue, LaunchFacts());
        if (failed(called))
          return failure();
        bytes = std::max(bytes, number(*called, nvtile::kSharedBytesAttrName));
      }
      auto waits = kernel.getBody().front().getOps<nvtile::WaitPrerequisitesOp>();
      bool isDependent = !waits.empty();
      kernels.push_back(llvm::json::Object{{"entry", kernel.getName().str()},
                                           {"threads", number(*thread, nvtile::kThreadsAttrName)},
                                           {"shared_bytes", bytes},
                                           {"grid", std::move(*grid)},
                                           {"facts", facts.takeExpressions()},
                                           {"dependent", isDependent}});
    }
    info["kernels"] = std::move(kernels);
    info["workspace"] = 0;
    if (found->workspaceSize) {
      FailureOr<llvm::json::Value> size = toHostExpression(found->workspaceSize);
      if (failed(size))
        return failure();
      info["workspace"] = std::move(*size);
      found->workspaceSize.erase();
    }
    for (auto &[phase, grid] : found->grids)
      grid.erase();
    for (auto *functions : {&found->kernels, &found->rescues})
      for (auto &[phase, kernel] : *functions)
        if (kernel)
          kernel.erase();
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(info));
    module->setAttr(kKernelInfoAttrName, b.getStringAttr(text));
    return success();
  }

private:
  /// Before anything is lowered: a stage may have been written by hand.
  LogicalResult check(const KernelFunctions &found) {
    for (const auto *functions : {&found.kernels, &found.rescues})
      for (const auto &[phase, kernel] : *functions) {
        if (!kernel->hasAttr(nvtile::kThreadsAttrName))
          return func::FuncOp(kernel).emitOpError()
                 << "expected the attribute " << nvtile::kThreadsAttrName
                 << "; run tile-to-nvtile first";
        if (failed(checkScheduled(kernel, target)))
          return failure();
      }
    SmallVector<func::FuncOp> sizes;
    for (const auto &[phase, grid] : found.grids)
      sizes.push_back(grid);
    if (found.workspaceSize)
      sizes.push_back(found.workspaceSize);
    func::FuncOp first = found.kernels.begin()->second;
    for (func::FuncOp size : sizes)
      if (failed(checkFunction(size, 1)))
        return failure();
    for (const auto &[phase, kernel] : found.kernels)
      sizes.push_back(kernel);
    for (func::FuncOp other : sizes)
      if (other.getArgumentTypes() != first.getArgumentTypes())
        return other.emitOpError() << "expected the arguments of " << first.getName()
                                   << ", since all are launched with the same";
    return success();
  }

  FailureOr<func::FuncOp> lowerKernel(func::FuncOp kernel, const LaunchFacts &facts) {
    auto schedule = kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName);
    OpBuilder b(kernel);
    func::FuncOp thread = createThreadFunction(b, kernel, facts.size());
    if (failed(Distributor(kernel, thread, target, schedule, facts).run()))
      return failure();
    int64_t bytes = thread->getAttrOfType<IntegerAttr>(nvtile::kSharedBytesAttrName).getInt();
    if (bytes > target.sharedMemoryPerBlock)
      return kernel.emitOpError() << "schedule does not fit "
                                  << StringRef(target.name.data(), target.name.size())
                                  << ": expected at most " << target.sharedMemoryPerBlock
                                  << " bytes of shared memory per block, got " << bytes
                                  << "; choose a smaller tile or fewer stages";
    return thread;
  }

  ModuleOp module;
  const TargetInfo &target;
};

struct NVTileToThreads : PassWrapper<NVTileToThreads, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NVTileToThreads)

  StringRef getArgument() const override { return "nvtile-to-threads"; }
  StringRef getDescription() const override {
    return "Lowers kernels on laid-out tiles to what one thread does";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    const TargetInfo *target = expectTarget(getOperation(), TargetKind::GPU);
    if (!target || failed(ModuleLowering(getOperation(), *target).run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> flashc::createNVTileToThreadsPass() {
  return std::make_unique<NVTileToThreads>();
}
void flashc::registerNVTileToThreadsPass() { PassRegistration<NVTileToThreads>(); }
