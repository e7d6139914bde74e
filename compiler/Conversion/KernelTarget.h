//===- KernelTarget.h - the target that a pass lowers for -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_KERNELTARGET_H
#define FLASHC_COMPILER_CONVERSION_KERNELTARGET_H

#include "compiler/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"

namespace flashc {

/// The target that `module` names; null, after an error, where that is none of this kind.
const TargetInfo *expectTarget(mlir::ModuleOp module, TargetKind kind);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_KERNELTARGET_H
