//===- OptimisticLoops.h - exponents relative to a fixed reference *- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H

#include "dialects/Flash/Transforms/KeyLoops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashc::flash {

/// Whether the schedule asks for an optimistic reference, and rows are many enough for one.
bool isOptimistic(ScheduleAttr schedule);

/// The call that computes exactly, and unconditionally so far, what the block of `loop` computes; null where it has none.
mlir::func::CallOp rescueAfter(mlir::scf::ForOp loop);

/// Exponents relative to the maxima of a few scores: the loops need no maximum and rescale nothing. Only where that went
/// wrong `rescue` computes all again, exactly; else what follows the loop stores the results.
llvm::SmallVector<mlir::Value> emitOptimistic(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                                              OnlineAttentionOp op, const KeyLoops &loops,
                                              mlir::Value begin, mlir::Value end,
                                              mlir::func::CallOp rescue);

/// The same for full tiles alone. The partial ones follow exactly, in a loop that takes all tiles, from the start,
/// where the check failed: compiling it once more would take longer than most programs run.
llvm::SmallVector<mlir::Value> emitOptimisticFull(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                                                  OnlineAttentionOp op, const KeyLoops &loops,
                                                  mlir::Value begin, mlir::Value end);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_OPTIMISTICLOOPS_H
