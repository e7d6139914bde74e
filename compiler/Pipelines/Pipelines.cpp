//===- Pipelines.cpp - the whole pipeline, stage by stage -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Conversion/KernelEntries.h"
#include "compiler/Conversion/NVTileToLLVM/NVTileToLLVM.h"
#include "compiler/Conversion/TileToNVTile/TileToNVTile.h"
#include "compiler/Conversion/TileToVector/TileToVector.h"
#include "dialects/Flash/Transforms/Passes.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace flashc;

namespace {

void cleanUp(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void buildOnline(OpPassManager &pm) {
  pm.addPass(flash::createFlashSetSchedule());
  pm.addNestedPass<func::FuncOp>(flash::createFlashToOnline());
}

void buildTiled(OpPassManager &pm) {
  pm.addPass(flash::createFlashTile());
  pm.addNestedPass<func::FuncOp>(flash::createFlashSplitMaskedTiles());
  cleanUp(pm);
}

void buildTile(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(flash::createFlashDecompose());
  cleanUp(pm);
}

void buildVector(OpPassManager &pm) {
  pm.addPass(createTileToVectorPass());
  cleanUp(pm);
  // Row values and addresses that do not change along the columns leave the loops.
  pm.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  pm.addNestedPass<func::FuncOp>(createExpandMathPass());
  cleanUp(pm);
}

void buildScheduled(OpPassManager &pm) {
  pm.addPass(createTileToNVTilePass());
  cleanUp(pm);
}

void buildGPULLVM(OpPassManager &pm) {
  pm.addPass(createNVTileToThreadsPass());
  pm.addNestedPass<func::FuncOp>(createExpandMathPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void buildLLVM(OpPassManager &pm) {
  pm.addPass(createKernelEntriesPass());
  // Strided accesses become a base and an offset, in index arithmetic that is lowered right after.
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  cleanUp(pm);
}

} // namespace

void flashc::buildStage(OpPassManager &manager, Stage stage, bool isGPU) {
  switch (stage) {
  case Stage::Online:
    return buildOnline(manager);
  case Stage::Tiled:
    return buildTiled(manager);
  case Stage::Tile:
    return buildTile(manager);
  case Stage::Vector:
    return buildVector(manager);
  case Stage::Scheduled:
    return buildScheduled(manager);
  case Stage::LLVM:
    return isGPU ? buildGPULLVM(manager) : buildLLVM(manager);
  default:
    llvm_unreachable("no pipeline leads to this stage");
  }
}

void flashc::registerDialects(DialectRegistry &registry) {
  registry.insert<flash::FlashDialect, tile::TileDialect, nvtile::NVTileDialect,
                  affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void flashc::registerPasses() {
  flash::registerFlashPasses();
  registerTileToVectorPass();
  registerTileToNVTilePass();
  registerNVTileToThreadsPass();
  registerKernelEntriesPass();
  registerExpandMathPass();
  registerTransformsPasses();
  // PassPipelineRegistration keeps references, so the strings live as long as the program.
  static std::string names[2][kNumStages], descriptions[2][kNumStages];
  for (bool isGPU : {false, true}) {
    std::string_view before = nameOf(Stage::Flash);
    for (int i = 1; i <= static_cast<int>(Stage::LLVM); ++i) {
      auto stage = static_cast<Stage>(i);
      if (!isOnPath(stage, isGPU))
        continue;
      // The stages up to `tile` are the same on both paths.
      std::string &name = names[isGPU][i], &description = descriptions[isGPU][i];
      name = (isGPU && stage == Stage::LLVM ? "to-gpu-" : "to-") + std::string(nameOf(stage));
      description = "from stage " + std::string(before) + " to stage " + std::string(nameOf(stage));
      before = nameOf(stage);
      if (!isGPU || stage > Stage::Tile)
        PassPipelineRegistration<>(
            name, description, [stage, isGPU](OpPassManager &pm) { buildStage(pm, stage, isGPU); });
    }
  }
}
