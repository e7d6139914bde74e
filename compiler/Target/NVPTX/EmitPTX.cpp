//===- EmitPTX.cpp - LLVM dialect to PTX ----------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass pipeline is picked by hand: kernels come unrolled, in the order in which instructions should issue, and
// ptxas optimises once more. What is left is to find common addresses and to move them out of loops.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/NVPTX/EmitPTX.h"
#include "compiler/Conversion/NVTileToLLVM/NVTileToLLVM.h"
#include "compiler/Target/DiagnosticCollector.h"
#include "compiler/Target/RunPasses.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace flashc;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace {

void initializeNVPTXOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Shared memory has 32-bit addresses; the back end knows of it by this option alone.
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto option = options.find("nvptx-short-ptr"); option != options.end())
      static_cast<llvm::cl::opt<bool> *>(option->second)->setValue(true);
  });
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const TargetInfo &target) {
  initializeNVPTXOnce();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!nvptx)
    return nullptr;
  llvm::TargetOptions options;
  // Contraction is MLIR's to ask for: the reference of an exponent must round as written.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::string features = "+ptx" + std::to_string(target.ptxVersion);
  return std::unique_ptr<llvm::TargetMachine>(nvptx->createTargetMachine(
      triple, llvm::StringRef(target.llvmCPU.data(), target.llvmCPU.size()), features, options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Makes functions kernels with their launch bounds.
void setKernelAttributes(llvm::Module &llvmModule, mlir::ModuleOp module) {
  module.walk([&](mlir::LLVM::LLVMFuncOp op) {
    llvm::Function *function = llvmModule.getFunction(op.getName());
    auto threads = op->getAttrOfType<mlir::IntegerAttr>(nvtile::kThreadsAttrName);
    if (!function || !threads)
      return;
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->setDoesNotThrow();
    function->addFnAttr("nvvm.maxntid", std::to_string(threads.getInt()));
    if (auto blocks = op->getAttrOfType<mlir::IntegerAttr>(nvtile::kBlocksAttrName))
      function->addFnAttr("nvvm.minctasm", std::to_string(blocks.getInt()));
  });
}

/// Leaves out the back end's strength reduction of straight lines, which on code as long as unrolled loops takes up to
/// half of all time and finds nothing: addresses come with their constants apart.
class StrengthReductionGate final : public llvm::OptPassGate {
public:
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return pass != "slsr";
  }
  bool isEnabled() const override { return true; }
};

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::FunctionPassManager fpm;
  fpm.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  fpm.addPass(llvm::InstCombinePass());
  fpm.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager lpm;
  lpm.addPass(llvm::LoopRotatePass());
  lpm.addPass(llvm::LICMPass(llvm::LICMOptions()));
  fpm.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(lpm), /*UseMemorySSA=*/true));
  fpm.addPass(llvm::GVNPass());
  fpm.addPass(llvm::InstCombinePass());
  fpm.addPass(llvm::ADCEPass());
  fpm.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager mpm;
  mpm.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(fpm)));
  runPasses(module, machine, std::move(mpm));
}

} // namespace

mlir::FailureOr<std::string> flashc::emitForGPU(mlir::ModuleOp module, const TargetInfo &target,
                                                PTXKind kind) {
  auto info = module->getAttrOfType<mlir::StringAttr>(kKernelInfoAttrName);
  if (target.kind != TargetKind::GPU || !info)
    return module.emitError("expected kernels for a GPU with their description in ")
           << kKernelInfoAttrName;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  if (!machine)
    return module.emitError("LLVM was built without its NVPTX target");

  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(module));
  std::unique_ptr<llvm::Module> llvmModule =
      mlir::translateModuleToLLVMIR(module, context, "flashc");
  if (!llvmModule)
    return module.emitError(
        "expected a module in the LLVM dialect, got one that does not translate");
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setSourceFileName("flashc");
  setKernelAttributes(*llvmModule, module);
  optimize(*llvmModule, *machine);

  llvm::SmallString<0> output;
  llvm::raw_svector_ostream stream(output);
  if (kind == PTXKind::LLVMIR) {
    llvmModule->print(stream, nullptr);
    return output.str().str();
  }
  stream << kPTXInfoPrefix << info.getValue() << "\n";
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("LLVM's NVPTX target cannot write PTX");
  StrengthReductionGate gate;
  context.setOptPassGate(gate);
  codegen.run(*llvmModule);
  if (context.getDiagHandlerPtr()->HasErrors)
    return mlir::failure();
  return output.str().str();
}
