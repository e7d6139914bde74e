//===- TileToNVTile.h - tiles over the threads of a GPU ---------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass tile-to-nvtile, which leads to stage `scheduled`: register tiles get their layout, the tiles that
// products read go to shared memory, by copies that run ahead of the loops, and grid points become blocks.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETONVTILE_TILETONVTILE_H
#define FLASHC_COMPILER_CONVERSION_TILETONVTILE_TILETONVTILE_H

#include "mlir/Pass/Pass.h"

namespace flashc {

std::unique_ptr<mlir::Pass> createTileToNVTilePass();
void registerTileToNVTilePass();

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETONVTILE_TILETONVTILE_H
