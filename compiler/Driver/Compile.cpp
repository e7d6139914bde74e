//===- Compile.cpp - from a description or a stage to any stage -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Compile.h"
#include "compiler/Driver/BuildAttention.h"
#include "compiler/Driver/CheckText.h"
#include "compiler/Driver/Schedule.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Target/CPU/EmitObject.h"
#include "compiler/Target/NVPTX/EmitPTX.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KeyRanges.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CUDA/Device.h"
#include "runtime/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace flashc {

namespace {

/// A context with flashc's dialects that collects diagnostics as text.
class Session {
public:
  Session() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        add(diagnostic);
    });
  }

  MLIRContext &get() { return context; }

  /// Throws what has been reported, or `fallback`.
  [[noreturn]] void fail(std::string_view fallback) {
    throw Error(messages.empty() ? std::string(fallback) : messages);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  void add(Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(messages);
    if (!messages.empty())
      os << "; ";
    if (auto loc = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      os << loc.getFilename().getValue() << ':' << loc.getLine() << ':' << loc.getColumn() << ": ";
    os << diagnostic;
  }

  MLIRContext context;
  std::string messages;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

void writeFile(const std::string &directory, Stage stage, bool isGPU, std::string_view contents) {
  const char *extension = isMLIR(stage)            ? ".mlir"
                          : stage == Stage::LLVMIR ? ".ll"
                          : stage == Stage::Asm    ? ".s"
                          : stage == Stage::PTX    ? ".ptx"
                                                   : ".o";
  int number = 0; // of the stage on its path
  for (int i = 0; i < static_cast<int>(stage); ++i)
    number += isOnPath(static_cast<Stage>(i), isGPU);
  llvm::SmallString<128> path(directory);
  std::string name = "0" + std::to_string(number) + "-" + std::string(nameOf(stage)) + extension;
  llvm::sys::path::append(path, name);
  std::string message;
  auto file = mlir::openOutputFile(path, &message);
  if (!file)
    fail("expected a writable directory for stages, got '", directory, "': ", message);
  file->os() << llvm::StringRef(contents.data(), contents.size());
  file->os().flush();
  if (std::error_code error = file->os().error()) {
    file->os().clear_error(); // the stream ends the process over an error that nobody cleared
    fail("expected room for ", path.str().str(), ", got '", error.message(), "'");
  }
  file->keep();
}

std::string emitText(Session &session, ModuleOp module, const TargetInfo &target, Stage stage) {
  if (target.kind == TargetKind::GPU) {
    FailureOr<std::string> text =
        emitForGPU(module, target, stage == Stage::LLVMIR ? PTXKind::LLVMIR : PTXKind::PTX);
    if (failed(text))
      session.fail("code generation failed");
    return std::move(*text);
  }
  EmitKind kind = stage == Stage::LLVMIR ? EmitKind::LLVMIR
                  : stage == Stage::Asm  ? EmitKind::Assembly
                                         : EmitKind::Object;
  FailureOr<std::string> text = emitForCPU(module, target, kind);
  if (failed(text))
    session.fail("code generation failed");
  return std::move(*text);
}

/// The target that `module` names.
const TargetInfo &requireTarget(ModuleOp module) {
  const TargetInfo *target = flash::targetOf(module);
  if (!target)
    fail("expected a module with a target, got none");
  return *target;
}

std::string lower(Session &session, ModuleOp module, Stage from, const CompileOptions &options) {
  const TargetInfo &target = requireTarget(module);
  bool isGPU = target.kind == TargetKind::GPU;
  // The last stage of either path is what can be run.
  Stage emit = isGPU && options.emit == Stage::Obj ? Stage::PTX : options.emit;
  for (Stage stage : {from, emit})
    if (!isOnPath(stage, isGPU))
      fail("expected a stage on the path to ", target.name, ", got ", nameOf(stage));
  bool dumps = !options.dumpStages.empty();
  if (dumps) {
    if (std::error_code error = llvm::sys::fs::create_directories(options.dumpStages))
      fail("expected a writable directory for stages, got '", options.dumpStages,
           "': ", error.message());
    writeFile(options.dumpStages, from, isGPU, print(module));
  }
  if (emit < from)
    fail("expected a stage from ", nameOf(from), " on, got ", nameOf(emit));
  Stage last = std::min(emit, Stage::LLVM);
  for (int i = static_cast<int>(from) + 1; i <= static_cast<int>(last); ++i) {
    auto stage = static_cast<Stage>(i);
    if (!isOnPath(stage, isGPU))
      continue;
    PassManager manager(&session.get());
    // Once per stage, not per pass: flash-opt's tests of passes do that.
    manager.enableVerifier(false);
    buildStage(manager, stage, isGPU);
    if (failed(manager.run(module)) || failed(verify(module)))
      session.fail(concat("the stage ", nameOf(stage), " failed"));
    if (dumps)
      writeFile(options.dumpStages, stage, isGPU, print(module));
  }
  if (isMLIR(emit))
    return print(module);

  if (dumps)
    for (Stage stage : {Stage::LLVMIR, Stage::Asm})
      if (stage < emit && isOnPath(stage, isGPU))
        writeFile(options.dumpStages, stage, isGPU, emitText(session, module, target, stage));
  std::string result = emitText(session, module, target, emit);
  if (dumps)
    writeFile(options.dumpStages, emit, isGPU, result);
  return result;
}

OwningOpRef<ModuleOp> parseText(Session &session, std::string_view text, std::string_view name) {
  checkText(text, name);
  ParserConfig config(&session.get());
  // MLIR's lexer finds the end of its buffer by a null character after it, which a view need not have.
  std::string terminated(text);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(terminated, config, llvm::StringRef(name.data(), name.size()));
  if (!module)
    session.fail(concat(name, ": expected MLIR, got text that does not parse"));
  return module;
}

/// The type of the first argument of the first function with arguments.
DType inputTypeOf(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.getNumArguments() == 0)
      continue;
    Type element = getElementTypeOrSelf(func.getArgument(0).getType());
    return element.isBF16() ? DType::BF16 : element.isF16() ? DType::F16 : DType::F32;
  }
  return DType::F32;
}

} // namespace

std::string resolveTarget(std::string_view target, DType type) {
  if (target.empty() || target == "cpu")
    return std::string(bestHostTarget(type).name);
  if (target == "cuda")
    return cuda::bestDeviceTarget();
  const TargetInfo *info = lookupTarget(target);
  if (!info)
    fail("expected a target out of cpu, cuda, ", listTargetNames(), ", got '", target,
         "'; `flashc targets` describes them");
  return std::string(info->name);
}

std::string compileAttention(const AttentionDesc &desc, const CompileOptions &options) {
  Session session;
  std::string target = resolveTarget(desc.target, desc.dtype);
  OwningOpRef<ModuleOp> module = buildAttention(session.get(), desc, target);
  setSchedule(*module, desc, *lookupTarget(target));
  if (failed(verify(*module)))
    session.fail("the description gave an invalid module");
  return lower(session, *module, Stage::Flash, options);
}

std::string compileText(std::string_view text, std::string_view name, Stage from,
                        std::string_view target, const CompileOptions &options) {
  if (!isMLIR(from))
    fail("expected a stage of MLIR to start from (", listStages(/*onlyMLIR=*/true), "), got ",
         nameOf(from));
  Session session;
  OwningOpRef<ModuleOp> module = parseText(session, text, name);
  bool hasTarget = (*module)->hasAttr(flash::kTargetAttrName);
  if (!target.empty() || !hasTarget) {
    std::string resolved = resolveTarget(target, inputTypeOf(*module));
    if (from != Stage::Flash && hasTarget &&
        (*module)->getAttrOfType<flash::TargetAttr>(flash::kTargetAttrName).getName() != resolved)
      fail(name, ": expected no other target from stage ", nameOf(from), " on, got ", resolved,
           "; the module was lowered for its own");
    (*module)->setAttr(flash::kTargetAttrName, flash::TargetAttr::get(&session.get(), resolved));
  }
  return lower(session, *module, from, options);
}

DType inputTypeOf(std::string_view text, std::string_view name) {
  Session session;
  return inputTypeOf(*parseText(session, text, name));
}

std::vector<std::byte> compileToObject(const AttentionDesc &desc) {
  std::string object = compileAttention(desc, {Stage::Obj, {}});
  auto begin = reinterpret_cast<const std::byte *>(object.data());
  return {begin, begin + object.size()};
}

MaskTileCounts countMaskTiles(const AttentionDesc &desc, int64_t batch, int64_t heads, int64_t sq,
                              int64_t sk, int64_t br, int64_t bc) {
  Session session;
  OwningOpRef<ModuleOp> module =
      buildAttention(session.get(), desc, resolveTarget(desc.target, desc.dtype));
  MaskTileCounts result;
  bool found = false;
  module->walk([&](flash::AttentionOp op) {
    FailureOr<flash::TileCounts> counts =
        flash::countTiles(op.getMask(), batch, heads, sq, sk, br, bc);
    if (failed(counts))
      return;
    found = true;
    result = {counts->empty, counts->full, counts->partial, counts->exact, counts->why};
  });
  if (!found)
    session.fail("expected sizes that are not negative and tiles that are not empty");
  return result;
}

} // namespace flashc
