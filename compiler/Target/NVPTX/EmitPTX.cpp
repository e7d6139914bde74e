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
#include "runtime/CUDA/PTXParts.h"
#include "runtime/Support/InThread.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
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

/// Makes functions with launch bounds kernels; what they call stays a function of its own.
void setKernelAttributes(llvm::Module &llvmModule, mlir::ModuleOp module) {
  module.walk([&](mlir::LLVM::LLVMFuncOp op) {
    llvm::Function *function = llvmModule.getFunction(op.getName());
    if (!function || function->isDeclaration())
      return;
    function->setDoesNotThrow();
    auto threads = op->getAttrOfType<mlir::IntegerAttr>(nvtile::kThreadsAttrName);
    if (!threads) {
      function->setConvergent(); // threads meet in it
      function->addFnAttr(llvm::Attribute::NoInline);
      return;
    }
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->addFnAttr("nvvm.maxntid", std::to_string(threads.getInt()));
    auto setBound = [&](llvm::StringRef name, llvm::StringRef bound) {
      auto value = op->getAttrOfType<mlir::IntegerAttr>(name);
      if (value && value.getInt())
        function->addFnAttr(bound, std::to_string(value.getInt()));
      return value && value.getInt();
    };
    if (!setBound(nvtile::kRegistersAttrName, "nvvm.maxnreg"))
      setBound(nvtile::kBlocksAttrName, "nvvm.minctasm");
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

/// The PTX of a module, or what went wrong.
struct Emission {
  std::string ptx, errors;
};

Emission emitModule(llvm::Module &module, const TargetInfo &target) {
  Emission result;
  llvm::LLVMContext &context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(result.errors));
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  optimize(module, *machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    result.errors = "LLVM's NVPTX target cannot write PTX";
    return result;
  }
  StrengthReductionGate gate;
  context.setOptPassGate(gate);
  codegen.run(module);
  result.ptx = text.str().str();
  context.setDiagnosticHandler(nullptr); // before what it writes to goes
  return result;
}

/// Whether PTX can name a function so.
bool isPTXName(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
}

/// Leaves of all functions in `module` but `name` declarations.
void keepFunction(llvm::Module &module, llvm::StringRef name) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.getName() != name)
      function.deleteBody();
}

/// The same in a context of its own, of the module that `bitcode` holds.
Emission emitFunction(llvm::StringRef bitcode, const std::string &name, const TargetInfo &target) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "flashc"), context);
  if (!module)
    return {"", llvm::toString(module.takeError())};
  keepFunction(**module, name);
  return emitModule(**module, target);
}

/// Every function in a thread of its own: LLVM takes longer than all passes before it.
Emission emitFunctions(llvm::Module &module, const TargetInfo &target) {
  std::vector<std::string> names;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration())
      names.push_back(function.getName().str());
  if (names.size() < 2)
    return emitModule(module, target);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  std::vector<std::future<Emission>> others;
  for (const std::string &name : llvm::drop_begin(names))
    others.push_back(inThread([&bitcode, &name, &target] {
      return emitFunction({bitcode.data(), bitcode.size()}, name, target);
    }));
  keepFunction(module, names.front());
  std::vector<Emission> parts = {emitModule(module, target)};
  for (std::future<Emission> &other : others)
    parts.push_back(other.get());
  std::vector<std::string> texts;
  for (Emission &part : parts) {
    if (!part.errors.empty())
      return part;
    texts.push_back(std::move(part.ptx));
  }
  return {joinPTX(texts), ""};
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
  for (const llvm::Function &function : *llvmModule)
    if (!function.isDeclaration() && !isPTXName(function.getName()))
      return module.emitError("expected names of letters, digits, _ and $ for kernels, got '")
             << function.getName() << "'";
  if (kind == PTXKind::LLVMIR) {
    optimize(*llvmModule, *machine);
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvmModule->print(stream, nullptr);
    return text;
  }
  Emission emission = emitFunctions(*llvmModule, target);
  if (!emission.errors.empty())
    return module.emitError("LLVM: ") << emission.errors;
  return (kPTXInfoPrefix + info.getValue() + "\n" + emission.ptx).str();
}
