//===- Pipelines.cpp - the whole pipeline, stage by stage -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Conversion/ExpandMath.h"
#include "compiler/Conversion/KernelEntries.h"
#include "compiler/Conversion/TileToVector/TileToVector.h"
#include "dialects/Flash/Transforms/Passes.h"
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

void flashc::buildStage(OpPassManager &manager, Stage stage) {
  switch (stage) {
  case Stage::Online:
    return buildOnline(manager);
  case Stage::Tiled:
    return buildTiled(manager);
  case Stage::Tile:
    return buildTile(manager);
  case Stage::Vector:
    return buildVector(manager);
  case Stage::LLVM:
    return buildLLVM(manager);
  default:
    llvm_unreachable("no pipeline leads to this stage");
  }
}

void flashc::registerDialects(DialectRegistry &registry) {
  registry.insert<flash::FlashDialect, tile::TileDialect, affine::AffineDialect,
                  arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void flashc::registerPasses() {
  flash::registerFlashPasses();
  registerTileToVectorPass();
  registerKernelEntriesPass();
  registerExpandMathPass();
  registerTransformsPasses();
  for (int i = 1; i <= static_cast<int>(Stage::LLVM); ++i) {
    auto stage = static_cast<Stage>(i);
    // PassPipelineRegistration keeps references, so the strings live as long as the program.
    static std::string names[kNumStages], descriptions[kNumStages];
    names[i] = "to-" + std::string(nameOf(stage));
    descriptions[i] =
        "from stage " + std::string(kStageNames[i - 1]) + " to stage " + std::string(nameOf(stage));
    PassPipelineRegistration<>(names[i], descriptions[i],
                               [stage](OpPassManager &pm) { buildStage(pm, stage); });
  }
}
