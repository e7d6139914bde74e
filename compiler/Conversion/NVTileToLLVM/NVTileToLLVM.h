//===- NVTileToLLVM.h - from scheduled kernels to threads -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass nvtile-to-threads: kernels on laid-out tiles become what one thread does, with PTX's instructions as
// LLVM intrinsics, and the counts of blocks become a description that the runtime evaluates on the host.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_NVTILETOLLVM_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_NVTILETOLLVM_H

#include "mlir/Pass/Pass.h"

namespace flashc {

/// On a module of GPU kernels: the description as JSON.
constexpr llvm::StringLiteral kKernelInfoAttrName = "flash.kernel_info";

std::unique_ptr<mlir::Pass> createNVTileToThreadsPass();
void registerNVTileToThreadsPass();

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_NVTILETOLLVM_H
