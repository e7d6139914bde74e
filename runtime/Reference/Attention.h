//===- Attention.h - the float64 reference of attention -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What attention is, computed the plain way: every score, then the softmax, then the product with
// the values, in double. It shares nothing with the compiler but the syntax tree of expressions.
// The same evaluation in single precision is the yardstick for the errors of compiled kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_ATTENTION_H
#define FLASHC_RUNTIME_REFERENCE_ATTENTION_H

#include "runtime/Expr/AST.h"
#include "runtime/Reference/TensorView.h"

#include <optional>

namespace flashc::reference {

/// The order of the dimensions of q, k, v and o.
enum class Layout { BSHD, BHSD };
/// Causal masking keeps j <= i + o: o = 0 (top-left) or o = sk - sq (bottom-right).
enum class Causal { None, TopLeft, BottomRight };

/// One evaluation. Scores are, in this order: scale * q.k; softcap * tanh(s / softcap);
/// s - alibi[h] * |i + sk - sq - j|; s + bias[b, h, i, j]; the score expression. Key j is kept
/// where causal, window and mask expression all hold.
struct Problem {
  /// [B, Sq, Hq, D], [B, Sk, Hkv, D], [B, Sk, Hkv, Dv] (BSHD) or [B, H, S, D] (BHSD); where packed
  /// [total, H, D] and the layout has no meaning. Any float type, any strides.
  TensorView q, k, v;
  Layout layout = Layout::BSHD;
  std::optional<double> scale; ///< Default 1 / sqrt(D).
  double softcap = 0;          ///< 0 is none.
  Causal causal = Causal::None;
  /// Keeps i + o - left <= j <= i + o + right, -1 is unlimited; o is the causal's, else sk - sq.
  int64_t windowLeft = -1, windowRight = -1;
  std::optional<TensorView> alibi; ///< Slopes [Hq].
  /// Any float type, broadcast right-aligned to [B, Hq, Sq, Sk]; where packed, its last two sizes
  /// may exceed the sequences'.
  std::optional<TensorView> bias;
  std::optional<TensorView> sinks; ///< Logits [Hq], which join the denominator only.
  std::optional<TypedExpr> score, mask;
  std::vector<NamedTensor> captures; ///< By the names in the expressions.
  /// i32 or i64 [B + 1], both or neither: sequence b is rows cu[b] .. cu[b + 1] - 1.
  std::optional<TensorView> cuSeqlensQ, cuSeqlensK;
  std::optional<TensorView> seqUsedK; ///< i32 or i64 [B]: the sk of batch (or sequence) b.
  /// i32 or i64 [B, pages]: k and v are [caches' pages, P, Hkv, D] (in the layout), and key j of batch b
  /// is row j mod P of the page in column j / P. Needs seqUsedK.
  std::optional<TensorView> pageTable;
};

/// Results, dense, in C order.
struct Result {
  std::vector<int64_t> oShape; ///< As q's with Dv for D.
  std::vector<double> o;
  std::vector<int64_t> rowShape; ///< Of lse and rowMax: [B, Hq, Sq], packed [Hq, total_q].
  std::vector<double> lse;       ///< Natural logarithm; includes the sink.
  std::vector<double> rowMax;    ///< Of the kept scores, without the sink. NaN where one is NaN.
  double maxAbsScore = 0;        ///< Largest finite |score| kept.
  double maxScoreTerms = 0; ///< Bound of |scale| * sum |q_d k_d|, by the finite norms of q and k:
                            ///< what the rounding errors of the dot products are relative to.
  double maxAbsValue = 0;   ///< Largest finite |v|.
};

/// Evaluates in double. A row without kept keys, or with kept scores of -inf only, gives o = 0,
/// rowMax = -inf and lse = -inf or the sink's logit. A kept NaN or +inf score gives NaN in o and
/// lse. Rows of a packed q that belong to no sequence are empty rows without sink.
///
/// \param threads  0 uses all cores.
/// \throws flashc::Error where shapes or types do not fit together.
Result evaluate(const Problem &problem, unsigned threads = 0);

/// The same as an ordinary unfused f32 evaluation does it (NumPy with OpenBLAS): f32 scores, each
/// one chain of fused multiply-adds; P = exp(s - max) in f32, rounded to `type` for P.V; the sum of
/// the unrounded P pairwise; f32 accumulation; division at the end; o rounded to `type`.
///
/// \param type  F32, BF16 or F16: the type of q, k and v, which the caller has rounded to it.
Result evaluateUnfusedF32(const Problem &problem, DType type, unsigned threads = 0);

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_ATTENTION_H
