//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Target-neutral kernels on static tiles; see TileOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_TILE_IR_TILE_H
#define FLASHC_DIALECTS_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/IR/TileDialect.h.inc"
#include "dialects/Tile/IR/TileEnums.h.inc"

namespace flashc::tile {

/// On a loop of at most one turn: it loads tiles that the next loop's first turn loads again.
constexpr llvm::StringLiteral kPeekAttrName = "tile.peek";

/// Whether `type` is a tile: a static tensor of rank 1 or 2.
inline bool isTile(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && (tensor.getRank() == 1 || tensor.getRank() == 2);
}

} // namespace flashc::tile

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.h.inc"

#endif // FLASHC_DIALECTS_TILE_IR_TILE_H
