//===- EmitObject.h - LLVM dialect to an x86-64 object -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The last stage of the CPU path: an MLIR module in the LLVM dialect becomes
// an ELF relocatable (or assembly, or optimised LLVM IR) for one CPU target.
// The object is closed: it refers to no symbol that it does not define, so it
// can call no library function; emission fails with the symbol's name
// otherwise. Safe to call from many threads, each with its own MLIRContext.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_TARGET_CPU_EMITOBJECT_H
#define FLASHC_COMPILER_TARGET_CPU_EMITOBJECT_H

#include "compiler/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace flashc {

enum class EmitKind {
  Object,   ///< ELF relocatable, the input of runtime/CPU/ObjectLoader.h
  Assembly, ///< AT&T assembly text
  LLVMIR,   ///< textual LLVM IR after optimisation
};

/// Compiles `module` (LLVM dialect only) for the CPU target `target` and returns the bytes or text.
/// Functions and globals whose names begin with `flashc_` stay visible, all others become internal.
/// No fast-math is added, and multiply-adds are fused only where the IR says so (fma, fmuladd).
/// Errors (not a CPU target, not translatable, an undefined symbol) are emitted on `module`.
mlir::FailureOr<std::string> emitForCPU(mlir::ModuleOp module, const TargetInfo &target,
                                        EmitKind kind);

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_CPU_EMITOBJECT_H
