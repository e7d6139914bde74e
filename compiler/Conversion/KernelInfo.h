//===- KernelInfo.h - what a compiled kernel says of itself -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The JSON that the runtime reads from objects and PTX; runtime/API/KernelInfo.h is the reader.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_KERNELINFO_H
#define FLASHC_COMPILER_CONVERSION_KERNELINFO_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace flashc {

/// The functions of a module of kernels: per phase the kernel and the count of its grid's points, and what computes
/// a point exactly, where a kernel calls that; and the size of the workspace, or null.
struct KernelFunctions {
  std::map<int64_t, mlir::func::FuncOp> kernels, grids, rescues;
  mlir::func::FuncOp workspaceSize;

  /// Emits an error where a phase lacks one of the two, or facts that the description needs.
  static mlir::FailureOr<KernelFunctions> find(mlir::ModuleOp module);
};

/// What all targets say: names, target, schedule, arguments.
llvm::json::Object describeKernels(mlir::ModuleOp module, const KernelFunctions &functions);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_KERNELINFO_H
