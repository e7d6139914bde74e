//===- EmitObject.cpp - LLVM dialect to an x86-64 object -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass pipeline is picked by hand: the kernels come out of MLIR vectorised
// and unrolled, so LLVM's vectorisers, unroller and loop-idiom recognition can
// only harm (the last one by making memset calls). On a 6x64 attention kernel
// -O2 takes four times as long over its passes for the same code.
//
//===----------------------------------------------------------------------===//
#include "compiler/Target/CPU/EmitObject.h"
#include "compiler/Target/DiagnosticCollector.h"
#include "compiler/Target/RunPasses.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LowerMemIntrinsics.h"

#include <mutex>

using namespace flashc;

// Only this target is linked; llvm::InitializeAllTargets would ask for every one.
extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser();
}

namespace {

constexpr llvm::StringLiteral targetTriple = "x86_64-unknown-linux-gnu";
constexpr llvm::StringLiteral exportedPrefix = "flashc_";
/// Longest memset or memcpy that the code generator is trusted to expand in line.
constexpr uint64_t maxInlineMemoryBytes = 128;

void initializeX86Once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const TargetInfo &target) {
  initializeX86Once();
  llvm::Triple triple(targetTriple);
  std::string error;
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!x86)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = true;
  auto toRef = [](std::string_view text) { return llvm::StringRef(text.data(), text.size()); };
  return std::unique_ptr<llvm::TargetMachine>(x86->createTargetMachine(
      triple, toRef(target.llvmCPU), toRef(target.llvmFeatures), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Hides everything but the kernel's entry points, and makes every reference local to the object,
/// so that no global offset table is needed.
void setLinkageAndAttributes(llvm::Module &module, const TargetInfo &target) {
  std::string vectorBits = std::to_string(target.vectorBits);
  for (llvm::GlobalValue &value : module.global_values()) {
    if (value.isDeclaration())
      continue;
    if (!value.getName().starts_with(exportedPrefix))
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
    value.setDSOLocal(true);
  }
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    function.setUWTableKind(llvm::UWTableKind::None);
    function.addFnAttr("no-builtins");
    function.addFnAttr("no-jump-tables", "true");
    function.addFnAttr("prefer-vector-width", vectorBits);
    function.addFnAttr("min-legal-vector-width", vectorBits);
  }
}

/// Expands memset, memcpy and memmove of unknown or large size, which would become library calls.
void expandMemoryIntrinsics(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<llvm::MemIntrinsic *> intrinsics;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &inst : block)
        if (auto *intrinsic = llvm::dyn_cast<llvm::MemIntrinsic>(&inst)) {
          auto *length = llvm::dyn_cast<llvm::ConstantInt>(intrinsic->getLength());
          if (!length || length->getValue().ugt(maxInlineMemoryBytes))
            intrinsics.push_back(intrinsic);
        }
  for (llvm::MemIntrinsic *intrinsic : intrinsics) {
    llvm::TargetTransformInfo tti = machine.getTargetTransformInfo(*intrinsic->getFunction());
    if (auto *set = llvm::dyn_cast<llvm::MemSetInst>(intrinsic))
      llvm::expandMemSetAsLoop(set);
    else if (auto *copy = llvm::dyn_cast<llvm::MemCpyInst>(intrinsic))
      llvm::expandMemCpyAsLoop(copy, tti);
    else if (!llvm::expandMemMoveAsLoop(llvm::cast<llvm::MemMoveInst>(intrinsic), tti))
      continue; // stays a call; the check for undefined symbols reports it
    intrinsic->eraseFromParent();
  }
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              const llvm::TargetLibraryInfoImpl &noLibrary) {
  llvm::ModulePassManager mpm;
  mpm.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  mpm.addPass(llvm::GlobalDCEPass());

  llvm::FunctionPassManager fpm;
  // Descriptors come as structs built with insertvalue and as allocas.
  fpm.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  fpm.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  fpm.addPass(llvm::SimplifyCFGPass());
  fpm.addPass(llvm::InstCombinePass());
  // scf.for lowers to loops that test at the top; LICM needs them rotated to hoist loads.
  fpm.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  fpm.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                    /*UseMemorySSA=*/true));
  fpm.addPass(llvm::GVNPass());
  fpm.addPass(llvm::InstCombinePass());
  fpm.addPass(llvm::ADCEPass());
  fpm.addPass(llvm::SimplifyCFGPass());
  mpm.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(fpm)));
  runPasses(module, machine, std::move(mpm), &noLibrary);
  expandMemoryIntrinsics(module, machine);
}

/// Fails, naming the symbols, if the object refers to anything outside itself.
mlir::LogicalResult checkClosed(mlir::ModuleOp module, llvm::StringRef object) {
  auto fail = [&](llvm::Error error) {
    return module.emitError("cannot read back the emitted object: ")
           << llvm::toString(std::move(error));
  };
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    return fail(file.takeError());
  std::string undefined;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return fail(flags.takeError());
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined))
      continue;
    auto name = symbol.getName();
    if (!name)
      return fail(name.takeError());
    if (name->empty())
      continue;
    undefined += (undefined.empty() ? "'" : ", '") + name->str() + "'";
  }
  if (undefined.empty())
    return mlir::success();
  return module.emitError("expected a kernel that calls nothing outside itself, got undefined ")
         << undefined << "; expand the operation before code generation";
}

} // namespace

mlir::FailureOr<std::string> flashc::emitForCPU(mlir::ModuleOp module, const TargetInfo &target,
                                                EmitKind kind) {
  if (target.kind != TargetKind::CPU) {
    module.emitError("expected a CPU target, got '")
        << llvm::StringRef(target.name.data(), target.name.size()) << "'";
    return mlir::failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  if (!machine) {
    module.emitError("LLVM was built without its X86 target");
    return mlir::failure();
  }

  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(module));
  std::unique_ptr<llvm::Module> llvmModule =
      mlir::translateModuleToLLVMIR(module, context, "flashc");
  if (!llvmModule) {
    module.emitError("expected a module in the LLVM dialect, got one that does not translate");
    return mlir::failure();
  }
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setSourceFileName("flashc");
  setLinkageAndAttributes(*llvmModule, target);

  // No function is known by name: nothing may be turned into, or taken for, a library call.
  llvm::TargetLibraryInfoImpl noLibrary(machine->getTargetTriple());
  noLibrary.disableAllFunctions();
  optimize(*llvmModule, *machine, noLibrary);

  llvm::SmallString<0> output;
  llvm::raw_svector_ostream stream(output);
  if (kind == EmitKind::LLVMIR) {
    llvmModule->print(stream, nullptr);
    return output.str().str();
  }
  llvm::legacy::PassManager codegen;
  codegen.add(new llvm::TargetLibraryInfoWrapperPass(noLibrary));
  auto fileType = kind == EmitKind::Object ? llvm::CodeGenFileType::ObjectFile
                                           : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, fileType)) {
    module.emitError("LLVM's X86 target cannot write this kind of file");
    return mlir::failure();
  }
  codegen.run(*llvmModule);
  if (context.getDiagHandlerPtr()->HasErrors)
    return mlir::failure();
  if (kind == EmitKind::Object && mlir::failed(checkClosed(module, output)))
    return mlir::failure();
  return output.str().str();
}
