//===- KeepBits.h - what a mask keeps of a tile, as bits --------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A mask is evaluated once for a tile, however often it is read. The rows that keep nothing are found on the
// way.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_KEEPBITS_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_KEEPBITS_H

#include "compiler/Conversion/TileToVector/Context.h"

namespace flashc {

/// Evaluates `keep`, a pure tile of i1, into a buffer of bits, and gives the rows from the first to the last that
/// keep something, out to whole micro-tiles. Where there are none, begin is not below end.
ActiveRows emitKeepBits(Context &c, mlir::Value keep);

/// Elements [column, column + width) of a row of bits: a vector of as many as lanes, or with `width` 1 a scalar.
mlir::Value loadBits(Context &c, const Buffer &buffer, mlir::Value row, mlir::Value column,
                     int64_t width);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_KEEPBITS_H
