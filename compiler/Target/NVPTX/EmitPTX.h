//===- EmitPTX.h - LLVM dialect to PTX --------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_NVPTX_EMITPTX_H
#define FLASHC_COMPILER_TARGET_NVPTX_EMITPTX_H

#include "compiler/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace flashc {

/// What PTX begins with, before the description as JSON, on its first line.
constexpr llvm::StringLiteral kPTXInfoPrefix = "// flashc_kernel_info ";

enum class PTXKind { LLVMIR, PTX };

/// Translates `module` (LLVM dialect, with the kernels' description) for an NVIDIA GPU. Emits an error and fails
/// where code generation does.
mlir::FailureOr<std::string> emitForGPU(mlir::ModuleOp module, const TargetInfo &target,
                                        PTXKind kind);

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_NVPTX_EMITPTX_H
