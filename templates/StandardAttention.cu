//===- StandardAttention.cu - unfused attention in three kernels ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Algorithm 0 of the FlashAttention paper, with all scores in memory: the
// baseline of benchmarks and, with COMPUTE double, the oracle of tests.
//
//   scores   S = scale * Q K^T, -inf where masked     a block per 64 x 64 scores
//   softmax  P = softmax of every row of S, and LSE   a block per row
//   output   O = P V                                  a block per 64 x 64 outputs
//
// Parameters: ELEMENT (f16, bf16, f32): q, k, v. RESULT (those, f64): o.
// COMPUTE (float, double): S, P, LSE and all sums.
//
// A row that keeps nothing, or only scores of -inf, gives O = 0 and LSE = -inf.
// A kept NaN gives NaN in its row; what a row masks never reaches it.
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {
namespace {

/// What one problem's mask depends on.
struct RowMask {
  i64 used, offset, left, right;
  int causal;

  __device__ RowMask(const StandardAttention &a, i64 batch) {
    used = a.keys;
    if (a.usedKeys)
      used = a.usedKeys[batch] < 0 ? 0 : a.usedKeys[batch] < a.keys ? a.usedKeys[batch] : a.keys;
    causal = a.causal;
    offset = causal == CausalTopLeft ? 0 : used - a.queries;
    left = a.windowLeft;
    right = a.windowRight;
  }

  __device__ bool keeps(i64 i, i64 j) const {
    const i64 center = i + offset;
    return j < used && (causal == NotCausal || j <= center) && (left < 0 || j >= center - left) &&
           (right < 0 || j <= center + right);
  }
};

/// -0.0, which no kept probability is.
__device__ inline bool isMasked(float value) {
  union {
    float value;
    unsigned word;
  } pun;
  pun.value = value;
  return pun.word == 0x80000000u;
}

__device__ inline bool isMasked(double value) {
  union {
    double value;
    u64 word;
  } pun;
  pun.value = value;
  return pun.word == 0x8000000000000000ull;
}

/// One 64 x 64 tile of a product A B: store(row, column, sum over k of a(row, k) * b(k, column)). a and
/// b give 0 beyond their ends. Every thread sums 4 x 4 elements, each as one chain of fused
/// multiply-adds. With `SkipMasked`, terms whose a is masked do not take part: 0 * NaN is NaN.
/// `ColumnsFirst`: neighbours in memory are neighbouring columns of B, else neighbouring k.
template <bool SkipMasked, bool ColumnsFirst, typename T, typename A, typename B, typename Store>
__device__ void multiplyTile(i64 depth, A a, B b, Store store) {
  constexpr int tile = static_cast<int>(standardTile), step = 16, padded = tile + 4;
  __shared__ T left[step][padded], right[step][padded];
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / 16 * 4, column = thread % 16 * 4;
  T sums[4][4] = {};
  for (i64 begin = 0; begin < depth; begin += step) {
    for (int n = thread; n < tile * step; n += standardThreads) {
      left[n % step][n / step] = a(n / step, begin + n % step);
      if (ColumnsFirst)
        right[n / tile][n % tile] = b(begin + n / tile, n % tile);
      else
        right[n % step][n / step] = b(begin + n % step, n / step);
    }
    __syncthreads();
    for (int k = 0; k < step; ++k)
      for (int r = 0; r < 4; ++r) {
        const T value = left[k][row + r];
        if (SkipMasked && isMasked(value))
          continue;
        for (int c = 0; c < 4; ++c)
          sums[r][c] = fma(value, right[k][column + c], sums[r][c]);
      }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c)
      store(row + r, column + c, sums[r][c]);
}

/// Reduces a value of every thread by `combine`; all of them get the result.
template <typename T, typename Combine> __device__ T reduceBlock(T value, Combine combine) {
  __shared__ T values[standardThreads];
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = value;
  __syncthreads();
  for (int half = standardThreads / 2; half > 0; half /= 2) {
    if (thread < half)
      values[thread] = combine(values[thread], values[thread + half]);
    __syncthreads();
  }
  const T result = values[0];
  __syncthreads(); // before the next reduction writes
  return result;
}

} // namespace

FLASHC_KERNEL(standard_scores, standardThreads)(const StandardAttention a) {
  const i64 columns = blocksOf(a.keys, standardTile), rows = blocksOf(a.queries, standardTile);
  const i64 j0 = blockIdx.x % columns * standardTile;
  const i64 i0 = blockIdx.x / columns % rows * standardTile;
  const i64 problem = blockIdx.x / columns / rows;
  const i64 batch = (a.firstProblem + problem) / a.heads;
  const i64 head = (a.firstProblem + problem) % a.heads;
  const i64 keyHead = head / (a.heads / a.keyHeads);
  const RowMask mask(a, batch);
  COMPUTE *scores = static_cast<COMPUTE *>(a.scores) + problem * a.queries * a.keys;
  multiplyTile<false, false, COMPUTE>(
      a.dim,
      [&](i64 row, i64 d) {
        return i0 + row < a.queries && d < a.dim
                   ? COMPUTE(loadAt<ELEMENT>(a.q.data, offsetOf(a.q, batch, i0 + row, head, d)))
                   : COMPUTE(0);
      },
      [&](i64 d, i64 column) {
        return j0 + column < mask.used && d < a.dim
                   ? COMPUTE(
                         loadAt<ELEMENT>(a.k.data, offsetOf(a.k, batch, j0 + column, keyHead, d)))
                   : COMPUTE(0);
      },
      [&](i64 row, i64 column, COMPUTE sum) {
        const i64 i = i0 + row, j = j0 + column;
        if (i < a.queries && j < a.keys)
          scores[i * a.keys + j] = mask.keeps(i, j) ? sum * COMPUTE(a.scale) : -COMPUTE(infinity());
      });
}

FLASHC_KERNEL(standard_softmax, standardThreads)(const StandardAttention a) {
  const i64 i = blockIdx.x % a.queries, problem = blockIdx.x / a.queries;
  const i64 batch = (a.firstProblem + problem) / a.heads;
  const i64 head = (a.firstProblem + problem) % a.heads;
  const RowMask mask(a, batch);
  const COMPUTE *scores = static_cast<const COMPUTE *>(a.scores) + blockIdx.x * a.keys;
  COMPUTE *probabilities = static_cast<COMPUTE *>(a.probabilities) + blockIdx.x * a.keys;

  COMPUTE top = -COMPUTE(infinity());
  for (i64 j = threadIdx.x; j < a.keys; j += standardThreads)
    if (mask.keeps(i, j))
      top = fmax(top, scores[j]);
  top = reduceBlock(top, [](COMPUTE x, COMPUTE y) { return fmax(x, y); });
  // A row of -inf alone has no exponent to be relative to.
  const COMPUTE reference = top == -COMPUTE(infinity()) ? COMPUTE(0) : top;

  COMPUTE sum = 0;
  for (i64 j = threadIdx.x; j < a.keys; j += standardThreads)
    if (mask.keeps(i, j))
      sum += exp(scores[j] - reference);
  sum = reduceBlock(sum, [](COMPUTE x, COMPUTE y) { return x + y; });

  for (i64 j = threadIdx.x; j < a.keys; j += standardThreads) {
    COMPUTE p = -COMPUTE(0);
    if (sum != 0 && mask.keeps(i, j)) {
      p = exp(scores[j] - reference) / sum;
      if (a.roundProbabilities)
        p = COMPUTE(ELEMENT::load(ELEMENT::round(static_cast<float>(p))));
    }
    probabilities[j] = p;
  }
  if (a.lse && threadIdx.x == 0)
    static_cast<COMPUTE *>(
        a.lse)[batch * a.lseStrides[0] + head * a.lseStrides[1] + i * a.lseStrides[2]] =
        sum == 0 ? -COMPUTE(infinity()) : reference + log(sum);
}

FLASHC_KERNEL(standard_output, standardThreads)(const StandardAttention a) {
  const i64 columns = blocksOf(a.valueDim, standardTile), rows = blocksOf(a.queries, standardTile);
  const i64 d0 = blockIdx.x % columns * standardTile;
  const i64 i0 = blockIdx.x / columns % rows * standardTile;
  const i64 problem = blockIdx.x / columns / rows;
  const i64 batch = (a.firstProblem + problem) / a.heads;
  const i64 head = (a.firstProblem + problem) % a.heads;
  const i64 keyHead = head / (a.heads / a.keyHeads);
  const i64 used = RowMask(a, batch).used;
  const COMPUTE *probabilities =
      static_cast<const COMPUTE *>(a.probabilities) + problem * a.queries * a.keys;
  multiplyTile<true, true, COMPUTE>(
      used,
      [&](i64 row, i64 j) {
        return i0 + row < a.queries && j < used ? probabilities[(i0 + row) * a.keys + j]
                                                : COMPUTE(0);
      },
      [&](i64 j, i64 column) {
        return j < used && d0 + column < a.valueDim
                   ? COMPUTE(
                         loadAt<ELEMENT>(a.v.data, offsetOf(a.v, batch, j, keyHead, d0 + column)))
                   : COMPUTE(0);
      },
      [&](i64 row, i64 column, COMPUTE sum) {
        const i64 i = i0 + row, d = d0 + column;
        if (i < a.queries && d < a.valueDim)
          storeAt<RESULT>(a.o.data, offsetOf(a.o, batch, i, head, d), sum);
      });
}

} // namespace templates
} // namespace flashc
