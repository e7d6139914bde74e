//===- ExprEvaluator.h - evaluates score and mask expressions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The reference's own meaning of expressions, for runs of keys of one query row: integers wrap as
// in AST.h; floats are computed in Real, double for the reference and float for the unfused
// baseline.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_EXPREVALUATOR_H
#define FLASHC_RUNTIME_REFERENCE_EXPREVALUATOR_H

#include "runtime/Expr/AST.h"
#include "runtime/Reference/TensorView.h"

namespace flashc::reference {

/// What an expression sees besides s and j.
struct RowCoordinates {
  int64_t b = 0, h = 0, i = 0, sq = 0, sk = 0;
};

/// An expression ready to be evaluated. Immutable: many threads may use one, each with a Scratch.
template <typename Real> class ExprEvaluator {
public:
  /// Keys evaluated at once.
  static constexpr int64_t kBlock = 128;
  struct Block {
    int64_t ints[kBlock]; ///< Bool and Int.
    Real floats[kBlock];
  };
  /// The values of a thread's evaluation.
  using Scratch = std::vector<Block>;

  /// Copies the captured arrays that the expression reads. Throws flashc::Error where one is
  /// missing or has another rank or kind of type than the expression was checked against.
  ExprEvaluator(const TypedExpr &expr, std::span<const NamedTensor> captures);

  /// Score expressions: s[n] becomes the score of key j0 + n, for 0 <= n < count.
  void evaluateScores(const RowCoordinates &row, int64_t j0, int64_t count, Real *s,
                      Scratch &scratch) const;
  /// Mask expressions: keep[n] becomes keep[n] && the mask of key j0 + n.
  void evaluateMask(const RowCoordinates &row, int64_t j0, int64_t count, uint8_t *keep,
                    Scratch &scratch) const;

private:
  /// A dense copy of a captured array; f64 is rounded to f32, everything else is exact.
  struct Captured {
    std::vector<int64_t> shape;
    std::vector<int64_t> ints;
    std::vector<Real> floats;
  };
  struct Instruction {
    Op op;
    Type type;        ///< Of the result.
    Type operandType; ///< Of the last operand.
    int64_t intValue;
    Real floatValue;
    Variable variable;
    int captureIndex;
    int operandCount;
  };

  void compile(const Node &node, size_t height);
  void load(Captured &captured, const CaptureInfo &info, std::span<const NamedTensor> captures);
  void evaluate(const RowCoordinates &row, int64_t j0, int64_t count, const Real *s,
                Scratch &scratch) const;
  void execute(const Instruction &instruction, Block *operands, int64_t count) const;
  void read(const Instruction &instruction, Block *operands, int64_t count) const;

  std::vector<Instruction> program; ///< Postfix.
  size_t stackHeight = 0;
  std::vector<Captured> captured;
};

extern template class ExprEvaluator<double>;
extern template class ExprEvaluator<float>;

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_EXPREVALUATOR_H
