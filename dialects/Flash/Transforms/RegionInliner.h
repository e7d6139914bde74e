//===- RegionInliner.h - regions as elementwise ops on tiles ----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Score and mask regions speak of one (i, j); here they are applied to a whole tile. Values that do not
// depend on i or j stay scalar. Region arithmetic is made total (FlashBase.td): what LLVM leaves
// undefined is guarded here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_REGIONINLINER_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_REGIONINLINER_H

#include "mlir/IR/Builders.h"

namespace flashc::flash {

/// Inlines the block of `region` with `arguments` (scalars or tiles of `shape`, one per block argument)
/// and returns the yielded value, a scalar or a tile.
mlir::Value inlineRegion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region,
                         mlir::ValueRange arguments, llvm::ArrayRef<int64_t> shape);

/// Replaces a flash.read of memory with scalar indices by a guarded load.
mlir::Value lowerScalarRead(mlir::OpBuilder &builder, mlir::Operation *read);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_REGIONINLINER_H
