//===- BandStates.h - softmax states of the bands of a tile ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_BANDSTATES_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_BANDSTATES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace flashc::flash {

/// Merges the states of the bands of tiles of keys: of m, l and row_max `[bands rows]` and acc `[bands rows, Dv]`, as
/// flash.online_attention gives them, those of all keys, `[rows]` and `[rows, Dv]`. `base` is that of its exponentials.
llvm::SmallVector<mlir::Value> mergeBands(mlir::OpBuilder &b, mlir::Location loc,
                                          mlir::ValueRange state, int64_t rows, int32_t base);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_BANDSTATES_H
