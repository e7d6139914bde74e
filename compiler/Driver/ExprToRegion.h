//===- ExprToRegion.h - expressions become region ops -----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Translates a checked score or mask expression, node by node, to ops of the closed list of flash
// regions. Integers are i64; what the arithmetic means where C leaves it undefined is the regions'
// matter (see the flash dialect's description), so every operation becomes the plain op.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_DRIVER_EXPRTOREGION_H
#define FLASHC_COMPILER_DRIVER_EXPRTOREGION_H

#include "mlir/IR/Builders.h"
#include "runtime/Expr/AST.h"

#include <array>

namespace flashc {

/// The element type that arrays of this type have in IR: Bool, I8 and U8 are all i8.
mlir::Type storageType(mlir::MLIRContext *context, DType type);

/// The values of one region that expressions refer to. Emits at the end of the region's block.
class RegionScope {
public:
  /// \param block  a score or mask block as flash::addScoreBlock and addMaskBlock make them.
  /// \param kind   which of the two it is.
  RegionScope(mlir::Block &block, ExprKind kind);

  /// Emits `expr` and returns its value: f32 for a score, i1 for a mask.
  ///
  /// \param firstCapture  number of the region's capture that is the expression's first; the others
  /// follow.
  /// \param score         what `s` is, in a score.
  mlir::Value emit(const TypedExpr &expr, unsigned firstCapture = 0, mlir::Value score = {});

  /// The score that the region maps (score regions only).
  mlir::Value score() const;
  /// A coordinate or a length as i64. Cast once per region.
  mlir::Value coordinate(Variable variable);
  /// A coordinate as the region has it, of type index.
  mlir::Value index(Variable variable) const;
  mlir::Value capture(unsigned number) const;
  mlir::Value constant(int64_t value);
  mlir::Value constant(float value);

  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  mlir::Value emitNode(const Node &node);
  mlir::Value emitRead(const Node &node);
  mlir::Value emitCompare(const Node &node, mlir::Value lhs, mlir::Value rhs);

  mlir::Block &block;
  unsigned firstCoordinate;
  // Of the expression being emitted.
  unsigned firstCapture = 0;
  mlir::Value currentScore;
  std::span<const CaptureInfo> captures;
  std::array<mlir::Value, 7> casts; ///< by Variable
};

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_EXPRTOREGION_H
