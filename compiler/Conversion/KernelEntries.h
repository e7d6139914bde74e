//===- KernelEntries.h - the functions a kernel object exports --*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass `flash-kernel-entries`: adds flashc_kernel_grid, _workspace, _run and _info to a module whose
// kernels work on memory and vectors. Their contract stands in runtime/API/KernelInfo.h.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_KERNELENTRIES_H
#define FLASHC_COMPILER_CONVERSION_KERNELENTRIES_H

#include "mlir/Pass/Pass.h"

namespace flashc {

std::unique_ptr<mlir::Pass> createKernelEntriesPass();
void registerKernelEntriesPass();

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_KERNELENTRIES_H
