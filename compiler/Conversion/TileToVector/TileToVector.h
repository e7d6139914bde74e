//===- TileToVector.h - tiles to buffers and vectors ------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass `tile-to-vector`: a kernel on tiles becomes loops over register micro-tiles for a CPU. Its
// parallel loop becomes a function of the grid point, and a second function counts the points.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_TILETOVECTOR_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_TILETOVECTOR_H

#include "mlir/Pass/Pass.h"

namespace flashc {

/// On a kernel: bytes of scratch memory that each thread needs.
constexpr llvm::StringLiteral kScratchAttrName = "flash.scratch_bytes";

std::unique_ptr<mlir::Pass> createTileToVectorPass();
void registerTileToVectorPass();

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_TILETOVECTOR_H
