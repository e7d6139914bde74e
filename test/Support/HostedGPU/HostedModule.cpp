//===- HostedModule.cpp - a GPU kernel's code for the host ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/HostedGPU/HostedModule.h"
#include "runtime/Support/Error.h"
#include "test/Support/HostedGPU/HostedBlock.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace flashc::test {
namespace {

std::unique_ptr<llvm::TargetMachine> makeMachine() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    fail("expected LLVM's target for x86-64, got none: ", error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64-v3", "", llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Less));
}

class Hosting {
public:
  explicit Hosting(llvm::Module &module)
      : module(module), context(module.getContext()), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)), pointer(llvm::PointerType::get(context, 0)) {}

  void run() {
    llvm::SmallVector<llvm::Function *> functions;
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        functions.push_back(&function);
    for (llvm::Function *function : functions) {
      function->setAttributes({});
      function->setCallingConv(llvm::CallingConv::C);
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      hostInstructions(*function);
      makeEntry(*function);
    }
    for (llvm::GlobalVariable &global : llvm::make_early_inc_range(module.globals()))
      if (global.isDeclaration()) { // shared memory
        global.replaceAllUsesWith(address(hostedSharedMemory(), global.getType()));
        global.eraseFromParent();
      }
  }

private:
  llvm::Constant *address(uint64_t at, llvm::Type *type) {
    return llvm::ConstantExpr::getIntToPtr(llvm::ConstantInt::get(i64, at), type);
  }

  void hostInstructions(llvm::Function &function) {
    llvm::SmallVector<llvm::Instruction *> all;
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        all.push_back(&instruction);
    llvm::IRBuilder<> entry(&function.getEntryBlock(), function.getEntryBlock().begin());
    in = entry.CreateAlloca(llvm::ArrayType::get(i32, 32));
    out = entry.CreateAlloca(llvm::ArrayType::get(i32, 8));
    for (llvm::Instruction *instruction : all) {
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(instruction))
        hostCall(*call);
      else if (auto *rounding = llvm::dyn_cast<llvm::FPTruncInst>(instruction))
        hostRounding(*rounding);
    }
  }

  void hostCall(llvm::CallInst &call) {
    call.setAttributes({});
    std::string text;
    if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
      text = assembly->getAsmString();
    else if (call.getCalledFunction()->getName().starts_with("llvm.nvvm."))
      text = call.getCalledFunction()->getName();
    else
      return; // LLVM's own
    HostedOp op = findHostedOp(text);
    if (!op)
      fail("expected an instruction that the host knows, got '", text, "'");
    llvm::IRBuilder<> b(&call);
    unsigned word = 0;
    for (llvm::Value *operand : call.args()) {
      llvm::Value *value = asWords(b, operand);
      b.CreateStore(value, b.CreateConstGEP1_32(i32, in, word));
      word += value->getType()->getPrimitiveSizeInBits() / 32;
    }
    b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer}, false),
                 address(reinterpret_cast<uint64_t>(op), pointer), {in, out});
    if (!call.getType()->isVoidTy())
      call.replaceAllUsesWith(fromWords(b, call.getType()));
    call.eraseFromParent();
  }

  /// A value as one or more whole words.
  llvm::Value *asWords(llvm::IRBuilder<> &b, llvm::Value *value) {
    llvm::Type *type = value->getType();
    if (auto *address = llvm::dyn_cast<llvm::PointerType>(type))
      return b.CreatePtrToInt(value, address->getAddressSpace() == 3 ? i32 : i64);
    if (type->isVectorTy())
      return b.CreateBitCast(value, i32);
    return type->isIntegerTy() && type->getIntegerBitWidth() < 32 ? b.CreateZExt(value, i32)
                                                                  : value;
  }

  llvm::Value *fromWords(llvm::IRBuilder<> &b, llvm::Type *type) {
    const auto load = [&](llvm::Type *each, unsigned word) -> llvm::Value * {
      bool isShort = each->isIntegerTy() && each->getIntegerBitWidth() < 32;
      llvm::Value *value = b.CreateLoad(isShort ? i32 : each, b.CreateConstGEP1_32(i32, out, word));
      return isShort ? b.CreateTrunc(value, each) : value;
    };
    auto *structure = llvm::dyn_cast<llvm::StructType>(type);
    if (!structure)
      return load(type, 0);
    llvm::Value *result = llvm::PoisonValue::get(type);
    for (unsigned n = 0; n < structure->getNumElements(); ++n)
      result = b.CreateInsertValue(result, load(structure->getElementType(n), n), n);
    return result;
  }

  /// To bf16, to nearest even: x86-64-v3 has a library's function for it.
  void hostRounding(llvm::FPTruncInst &rounding) {
    llvm::Type *type = rounding.getType();
    if (!type->getScalarType()->isBFloatTy())
      return;
    llvm::IRBuilder<> b(&rounding);
    llvm::Value *x = rounding.getOperand(0);
    llvm::Type *words = i32, *halves = b.getInt16Ty();
    if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      words = llvm::FixedVectorType::get(words, vector->getNumElements());
      halves = llvm::FixedVectorType::get(halves, vector->getNumElements());
    }
    const auto constant = [&](uint32_t value) { return llvm::ConstantInt::get(words, value); };
    llvm::Value *bits = b.CreateBitCast(x, words);
    llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
    llvm::Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, constant(0x7fff)));
    rounded = b.CreateSelect(b.CreateFCmpUNO(x, x), constant(0x7fc00000), rounded);
    llvm::Value *half = b.CreateTrunc(b.CreateLShr(rounded, constant(16)), halves);
    rounding.replaceAllUsesWith(b.CreateBitCast(half, type));
    rounding.eraseFromParent();
  }

  /// hosted_NAME, which takes NAME's parameters from memory.
  void makeEntry(llvm::Function &function) {
    llvm::Function *made = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
        llvm::GlobalValue::ExternalLinkage, "hosted_" + function.getName(), module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", made));
    llvm::SmallVector<llvm::Value *> arguments;
    for (llvm::Argument &argument : function.args())
      arguments.push_back(b.CreateLoad(
          argument.getType(), b.CreateConstGEP1_32(i64, made->getArg(0), argument.getArgNo())));
    b.CreateCall(&function, arguments);
    b.CreateRetVoid();
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::Type *i32, *i64, *pointer;
  llvm::Value *in = nullptr, *out = nullptr;
};

} // namespace

std::string compileHosted(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (!module)
    fail("expected LLVM IR, got '", diagnostic.getMessage().str(), "'");
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  Hosting(*module).run();
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    fail("expected LLVM to write objects for x86-64, got a refusal");
  passes.run(*module);
  return object.str().str();
}

} // namespace flashc::test
