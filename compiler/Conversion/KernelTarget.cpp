//===- KernelTarget.cpp - the target that a pass lowers for ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelTarget.h"
#include "dialects/Flash/IR/Flash.h"

using namespace mlir;

const flashc::TargetInfo *flashc::expectTarget(ModuleOp module, TargetKind kind) {
  const TargetInfo *target = flash::targetOf(module);
  if (target && target->kind == kind)
    return target;
  module.emitOpError() << "expected a " << (kind == TargetKind::CPU ? "CPU" : "GPU")
                       << " target in " << flash::kTargetAttrName << ", got "
                       << (target ? StringRef(target->name.data(), target->name.size()) : "none");
  return nullptr;
}
