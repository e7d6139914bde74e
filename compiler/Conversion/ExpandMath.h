//===- ExpandMath.h - math functions as arithmetic -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The pass `flash-expand-math`: rewrites f32 math.exp2, math.exp, math.log and
// math.tanh (scalars and fixed-size vectors) to arith ops and math.fma, so that
// no libm is called, and conversions between f32 and bf16 to integer ops where
// the target has none. The bounds hold for all 2^32 inputs with IEEE arithmetic
// (no flushing of subnormals); the unit test checks them.
//
//   exp2        0.9 ulp   gradual underflow, overflow to inf
//   exp         1.05 ulp  gradual underflow, overflow to inf
//   log         0.9 ulp   subnormal arguments too; log(+-0) = -inf, log(x < 0) = NaN
//   tanh        1.4 ulp   of the result however small; tanh(-0) = -0
//   exp fastmath<afn>: for arguments up to 0 (softmax); results under 2^-126 become 0
//   NaN gives NaN, infinities the exact limits.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_CONVERSION_EXPANDMATH_H
#define FLASHC_COMPILER_CONVERSION_EXPANDMATH_H

#include <memory>

namespace mlir {
class Pass;
class RewritePatternSet;
} // namespace mlir

namespace flashc {

struct ExpandMathOptions {
  /// Leave f32 <-> bf16 conversions alone: the target has AVX-512 BF16 (whose instructions take
  /// and give subnormal numbers as zero).
  bool nativeBF16 = false;
  /// Use vscalefps in vectors of 16.
  bool hasAVX512 = false;
};

std::unique_ptr<mlir::Pass> createExpandMathPass(ExpandMathOptions options = {});

/// The patterns of the pass, for use among others.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns, ExpandMathOptions options = {});

/// Makes `flash-expand-math` known to pass pipelines given as text.
void registerExpandMathPass();

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_EXPANDMATH_H
