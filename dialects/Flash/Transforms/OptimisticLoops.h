//===- OptimisticLoops.h - exponents relative to a fixed reference *- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H

#include "dialects/Flash/Transforms/KeyLoops.h"

namespace flashc::flash {

/// Whether the schedule asks for an optimistic reference, and rows are many enough for one.
bool isOptimistic(OnlineAttentionOp op);

/// Exponents relative to the maxima of a few scores: the loops need no maximum and rescale nothing. Where that went
/// wrong, all is computed again, exactly.
mlir::ValueRange emitOptimistic(mlir::OpBuilder &b, mlir::scf::ForOp loop, OnlineAttentionOp op,
                                const KeyLoops &loops, mlir::Value begin, mlir::Value end);

/// The same for full tiles alone. The partial ones follow exactly, in a loop that takes all tiles, from the start,
/// where the check failed: compiling it once more would take longer than most programs run.
mlir::ValueRange emitOptimisticFull(mlir::OpBuilder &b, mlir::scf::ForOp loop, OnlineAttentionOp op,
                                    const KeyLoops &loops, mlir::Value begin, mlir::Value end);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H
