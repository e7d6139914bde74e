//===- KernelInfo.cpp - what a compiled kernel says of itself -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelInfo.h"
#include "compiler/Conversion/KernelPrologue.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"

using namespace mlir;
using namespace flashc;

/// Name, element type, shape and role of a kernel argument, as JSON.
static llvm::json::Value describeArgument(func::FuncOp func, unsigned index) {
  auto type = cast<MemRefType>(func.getArgumentTypes()[index]);
  auto text = [&](StringRef key) {
    auto attribute = func.getArgAttrOfType<StringAttr>(index, key);
    return attribute ? attribute.getValue().str() : std::string();
  };
  std::string dtype = text("flash.dtype");
  if (dtype.empty()) {
    llvm::raw_string_ostream(dtype) << type.getElementType();
  }
  llvm::json::Array shape;
  for (int64_t size : type.getShape())
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  bool isOutput = func.getArgAttr(index, flash::kOutputAttrName) != nullptr;
  return llvm::json::Object{{"name", text(flash::kArgNameAttrName)},
                            {"dtype", dtype},
                            {"rank", type.getRank()},
                            {"static_shape", std::move(shape)},
                            {"role", isOutput ? "output" : "input"}};
}

FailureOr<KernelFunctions> KernelFunctions::find(ModuleOp module) {
  KernelFunctions result;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (auto phase = func->getAttrOfType<IntegerAttr>(kGridAttrName))
      result.grids[phase.getInt()] = func;
    else if (auto phase = func->getAttrOfType<IntegerAttr>(flash::kKernelAttrName))
      result.kernels[phase.getInt()] = func;
    else if (Attribute rescue = func->getAttr(flash::kRescueAttrName)) {
      auto phase = dyn_cast<IntegerAttr>(rescue);
      if (!phase || !result.rescues.try_emplace(phase.getInt(), func).second)
        return func.emitOpError()
               << "expected one function with the number of its kernel's phase in "
               << flash::kRescueAttrName << ", got "
               << (phase ? StringRef("another") : StringRef("unit"));
    } else if (func->hasAttr(flash::kWorkspaceAttrName))
      result.workspaceSize = func;
  }
  auto samePhase = [](auto &a, auto &b) { return a.first == b.first; };
  if (result.kernels.empty() || !std::equal(result.kernels.begin(), result.kernels.end(),
                                            result.grids.begin(), result.grids.end(), samePhase))
    return module.emitOpError() << "expected kernels with a grid each, got "
                                << result.kernels.size() << " kernels and " << result.grids.size()
                                << " grids";
  for (auto &[phase, rescue] : result.rescues)
    if (!result.kernels.count(phase))
      return rescue.emitOpError() << "expected a kernel of phase " << phase
                                  << ", which this function would compute points of";
  if (!module->getAttrOfType<flash::TargetAttr>(flash::kTargetAttrName))
    return module.emitOpError() << "expected the module attribute " << flash::kTargetAttrName;
  for (auto *functions : {&result.kernels, &result.rescues})
    for (auto &[phase, kernel] : *functions)
      if (!kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName))
        return kernel.emitOpError() << "expected a " << flash::kScheduleAttrName << " attribute";
  for (Type argument : result.grids.begin()->second.getFunctionType().getInputs())
    if (!isa<MemRefType>(argument))
      return module.emitOpError() << "expected kernel arguments in memory, got " << argument;
  return result;
}

llvm::json::Object flashc::describeKernels(ModuleOp module, const KernelFunctions &functions) {
  func::FuncOp kernel = functions.grids.begin()->second;
  auto target = module->getAttrOfType<flash::TargetAttr>(flash::kTargetAttrName);
  auto schedule = functions.kernels.begin()->second->getAttrOfType<flash::ScheduleAttr>(
      flash::kScheduleAttrName);
  std::string scheduleText;
  llvm::raw_string_ostream(scheduleText) << schedule;
  llvm::json::Array arguments, features;
  for (unsigned i = 0; i + 1 < kernel.getNumArguments(); ++i)
    arguments.push_back(describeArgument(kernel, i));
  for (std::string_view feature : lookupTarget(target.getName())->requiredFeatures)
    features.push_back(std::string(feature));
  StringRef name = kernel.getName();
  return llvm::json::Object{{"abi", 2},
                            {"name", name.take_front(name.find("_phase")).str()},
                            {"target", target.getName().str()},
                            {"features", std::move(features)},
                            {"scratch_bytes", 0},
                            {"phases", static_cast<int64_t>(functions.kernels.size())},
                            {"schedule", scheduleText},
                            {"split", schedule.getSplit()},
                            {"tile_rows", schedule.getTile().front()},
                            {"strategy", flash::stringifyStrategy(schedule.getStrategy()).str()},
                            {"arguments", std::move(arguments)}};
}
