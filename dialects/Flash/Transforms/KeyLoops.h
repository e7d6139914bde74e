//===- KeyLoops.h - loops over full and over partial tiles ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYLOOPS_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYLOOPS_H

#include "dialects/Flash/IR/Flash.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flashc::flash {

/// Bounds of the loop over full tiles and of the one over partial tiles. Where `skipped` is given, turns of the
/// latter from fullBegin on stand for keys that lie so much further.
struct KeyLoops {
  mlir::Value fullBegin, fullEnd, partialBegin, partialEnd, skipped;
};

/// Clones `loop`, over the tiles of all keys, over [from, to) with `init`.
mlir::scf::ForOp cloneLoop(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::Value from,
                           mlir::Value to, mlir::ValueRange init);

/// Makes the tiles of `loop` full ones, without the mask and the end-of-sequence check.
void makeFull(mlir::scf::ForOp loop);

/// Makes the turns of `loop` from `from` on stand for tiles that lie `distance` keys further.
void jump(mlir::scf::ForOp loop, mlir::Value from, mlir::Value distance);

/// The two loops, from `state` on; `adapt` changes the op in both.
mlir::ValueRange emitLoops(mlir::OpBuilder &b, mlir::scf::ForOp loop, const KeyLoops &loops,
                           mlir::ValueRange state,
                           llvm::function_ref<void(OnlineAttentionOp)> adapt);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYLOOPS_H
