//===- Passes.h - passes on the flash dialect -------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One file per pass; the descriptions stand in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_PASSES_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_PASSES_H

#include "dialects/Flash/IR/Flash.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace flashc::flash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dialects/Flash/Transforms/Passes.h.inc"

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_PASSES_H
