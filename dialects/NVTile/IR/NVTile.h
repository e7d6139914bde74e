//===- NVTile.h - the nvtile dialect ----------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Tiles laid out over the threads of an NVIDIA GPU; see NVTileOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_NVTILE_IR_NVTILE_H
#define FLASHC_DIALECTS_NVTILE_IR_NVTILE_H

#include "dialects/Tile/IR/Tile.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NVTile/IR/NVTileDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NVTile/IR/NVTileAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/NVTile/IR/NVTileTypes.h.inc"

namespace flashc::nvtile {

/// On a kernel: the number of threads of a block.
constexpr llvm::StringLiteral kThreadsAttrName = "nvtile.threads";
/// On a kernel: the bytes of shared memory of a block.
constexpr llvm::StringLiteral kSharedBytesAttrName = "nvtile.shared_bytes";
/// On a kernel: how many blocks should fit on a multiprocessor at once.
constexpr llvm::StringLiteral kBlocksAttrName = "nvtile.blocks";
/// On a kernel: registers of a thread at most, where that is not for blocks to say.
constexpr llvm::StringLiteral kRegistersAttrName = "nvtile.registers";

} // namespace flashc::nvtile

#define GET_OP_CLASSES
#include "dialects/NVTile/IR/NVTileOps.h.inc"

#endif // FLASHC_DIALECTS_NVTILE_IR_NVTILE_H
