//===- TileMath.h - the softmax state's arithmetic on tiles -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Elementwise building blocks on tiles that the lowering of every flash op shares, so that the guard for
// empty rows and the exponential have one definition.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_TILEMATH_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_TILEMATH_H

#include "dialects/Flash/IR/Flash.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace flashc::flash {

class TileMath {
public:
  TileMath(mlir::OpBuilder &builder, mlir::Location loc, int32_t base)
      : b(builder), loc(loc), base(base) {}

  /// The constant `value` in all elements of `type`, a tile or f32.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value negativeInfinity(mlir::Type type);
  /// The scalar `value` in all elements of a tile.
  mlir::Value splat(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// The tile (r, c) of the row vector `row` (r); c is the columns of `like`.
  mlir::Value broadcast(mlir::Value row, mlir::Value like);
  /// exp(x) for x <= 0, flushed to 0 under 2^-126: the only place that knows the exponent base.
  mlir::Value exp(mlir::Value x);
  /// exp(scale x - m) for a tile x and rows m, as exp2 of one fused multiply-add (base 2).
  mlir::Value fusedExp(mlir::Value x, double scale, mlir::Value m);
  /// The reference to subtract: m, or 0 where m is -inf, so that no -inf - -inf arises.
  mlir::Value safeReference(mlir::Value m);
  /// exp(m - reference): the factor that moves a state from m to a new reference.
  mlir::Value rescale(mlir::Value m, mlir::Value safeReference);
  mlir::Value isNegativeInfinity(mlir::Value m);
  /// Whether a state's keys have no weight: m = -inf, and l = 0 (a NaN, which m passes over, reaches l).
  mlir::Value isEmpty(mlir::Value m, mlir::Value l);
  /// The larger of the two, passing over a NaN in `b` (by the rule of x86's maxps).
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  /// acc(r, c) * factor(r).
  mlir::Value scaleRows(mlir::Value acc, mlir::Value factor);
  /// `value` (f32) rounded to the element type of `type`.
  mlir::Value round(mlir::Value value, mlir::Type elementType);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  int32_t base;
};

/// A tile type of `shape`.
mlir::RankedTensorType tileOf(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_TILEMATH_H
