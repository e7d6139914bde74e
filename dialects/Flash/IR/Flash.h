//===- Flash.h - the flash dialect ------------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Attention as an algorithm. The ops' descriptions, with the mathematics, stand in FlashOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_IR_FLASH_H
#define FLASHC_DIALECTS_FLASH_IR_FLASH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Flash/IR/FlashDialect.h.inc"
#include "dialects/Flash/IR/FlashEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Flash/IR/FlashAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Flash/IR/FlashOps.h.inc"

namespace flashc {
struct TargetInfo;
} // namespace flashc

namespace flashc::flash {

/// Number of leading arguments of a score region before the captures: (s, b, h, i, j, sq, sk).
constexpr unsigned kScoreArguments = 7;
/// Number of leading arguments of a mask region before the captures: (b, h, i, j, sq, sk).
constexpr unsigned kMaskArguments = 6;
/// Largest head dim of q, k and v.
constexpr int64_t kMaxHeadDim = 576;

/// The module attribute that names the target.
constexpr llvm::StringLiteral kTargetAttrName = "flash.target";
/// The target of the module that `op` is or lies in; null where it names none.
const TargetInfo *targetOf(mlir::Operation *op);

/// Appends an empty block with the arguments of a score (or mask) region to `region` and returns it.
mlir::Block *addScoreBlock(mlir::Region &region, mlir::ValueRange captures, mlir::Location loc);
mlir::Block *addMaskBlock(mlir::Region &region, mlir::ValueRange captures, mlir::Location loc);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_IR_FLASH_H
