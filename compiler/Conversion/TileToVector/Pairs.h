//===- Pairs.h - bf16 operands of dots as pairs -----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// vdpbf16ps and AMX multiply pairs of bf16 that are adjacent along the sum. The buffers of both operands hold
// such pairs, an i32 each, the earlier element in the low half.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_PAIRS_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_PAIRS_H

#include "compiler/Conversion/TileToVector/Moves.h"

namespace flashc {

/// Loads `source`, a tile of bf16, into a buffer of pairs; what is not valid, and padding, becomes 0.
void emitPairLoad(Context &c, const Source &source, const Buffer &buffer);

/// The low or high halves of a vector of pairs, as f32.
mlir::Value loadHalves(Context &c, const Buffer &buffer, mlir::Value row, mlir::Value column,
                       bool high);

/// Element (row, k) of a left operand, as f32.
mlir::Value loadLeft(Context &c, const Buffer &buffer, mlir::Value row, mlir::Value k);

/// Elements (k, column...) of a right operand, as a vector of f32.
mlir::Value loadRight(Context &c, const Buffer &buffer, mlir::Value k, mlir::Value column);

/// Stores one or two vectors of f32, already rounded to bf16, from (row, column) on of a left operand.
void storeLeft(Context &c, const Buffer &buffer, mlir::Value row, mlir::Value column,
               mlir::ValueRange values);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_PAIRS_H
