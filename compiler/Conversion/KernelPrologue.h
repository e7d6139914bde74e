//===- KernelPrologue.h - the grid of a kernel on tiles ---------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What all targets make of the ops that stand before a kernel's parallel loop.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_KERNELPROLOGUE_H
#define FLASHC_COMPILER_CONVERSION_KERNELPROLOGUE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace flashc {

/// On a function, with the phase as its value: counts the points of the phase's grid.
constexpr llvm::StringLiteral kGridAttrName = "flash.grid";

/// A function with the kernel's arguments and `extra` ones, whose body begins with the ops that stand
/// before the kernel's parallel loop.
mlir::func::FuncOp createFromPrologue(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                                      mlir::scf::ForallOp forall, llvm::StringRef name,
                                      mlir::TypeRange extra, mlir::TypeRange results,
                                      mlir::IRMapping &map);

/// The function KERNEL_grid, which counts the points of the kernel's parallel loop.
mlir::func::FuncOp createGridFunction(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                                      mlir::scf::ForallOp forall);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_KERNELPROLOGUE_H
