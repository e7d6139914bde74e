//===- Arguments.h - what the kernels in this folder take -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every kernel takes one of these structures by value. The same header is read
// by NVRTC and by the host, so that both agree on every field. Strides count
// elements, and may be 0 or negative for what is read.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEMPLATES_ARGUMENTS_H
#define FLASHC_TEMPLATES_ARGUMENTS_H

namespace flashc {
namespace templates {

typedef long long i64; // NVRTC has no <cstdint>
typedef unsigned long long u64;

/// Elements [0, 0, 0, 0] and strides of a tensor [batch, sequence, head, dim].
struct Tensor4 {
  void *data;
  i64 strides[4];
};

/// Blocks of `size` that cover `count`.
inline constexpr i64 blocksOf(i64 count, i64 size) { return (count + size - 1) / size; }

//===--- StandardAttention.cu ---===//

enum CausalMask : int { NotCausal = 0, CausalTopLeft = 1, CausalBottomRight = 2 };

/// Heads are worked on in groups: problem p is batch p / heads, head p % heads.
struct StandardAttention {
  Tensor4 q, k, v, o;
  void *scores;        ///< [problems, queries, keys], dense, of the type COMPUTE; -inf where masked
  void *probabilities; ///< the same shape and type; may be the same memory; -0.0 where masked
  void *lse;           ///< of the type COMPUTE, strides [batch, head, query]; null: not wanted
  i64 lseStrides[3];
  const int *usedKeys; ///< [batch]: how many keys there are; null: all
  i64 queries, keys, heads, keyHeads, dim, valueDim;
  i64 firstProblem, problems;
  double scale;
  i64 windowLeft, windowRight; ///< keeps i + o - left <= j <= i + o + right; -1: unlimited
  int causal;                  ///< CausalMask; keeps j <= i + o
  int roundProbabilities;      ///< 1: to the inputs' type, as for a matrix unit
};

constexpr i64 standardTile = 64;
constexpr int standardThreads = 256;

inline i64 standardScoresGrid(const StandardAttention &a) {
  return a.problems * blocksOf(a.queries, standardTile) * blocksOf(a.keys, standardTile);
}
inline i64 standardSoftmaxGrid(const StandardAttention &a) { return a.problems * a.queries; }
inline i64 standardOutputGrid(const StandardAttention &a) {
  return a.problems * blocksOf(a.queries, standardTile) * blocksOf(a.valueDim, standardTile);
}

//===--- SplitCombine.cu ---===//

/// States (m, l, acc) of the parts of a row's keys: sum of exponentials l and weighted values acc,
/// both relative to the reference m. A part without kept keys has m = -inf, l = 0 and acc = 0.
struct SplitCombine {
  const float *m, *l, *acc;
  i64 partStride, rowStrides[3];       ///< of m and l: part; batch, head, query
  i64 accPartStride, accRowStrides[3]; ///< the same of acc
  i64 accDimStride;
  Tensor4 o;
  float *lse; ///< strides [batch, head, query]; null: not wanted
  i64 lseStrides[3];
  const float *sinks; ///< [head], natural logarithms; null: none
  i64 parts, batch, heads, queries, valueDim;
  float lnBase; ///< natural logarithm of the base of m: 1, or ln 2
};

constexpr int combineThreads = 128;

inline i64 splitCombineGrid(const SplitCombine &a) { return a.batch * a.heads * a.queries; }

//===--- BlockLists.cu ---===//

enum TileClass : signed char { EmptyTile = 0, PartialTile = 1, FullTile = 2 };

/// From the classes of all tiles [rows, columns] the columns of the full and of the partial tiles of
/// every row, in ascending order.
struct BlockLists {
  const signed char *classes;
  i64 rowStride; ///< of classes; columns are dense
  i64 rows, columns;
  int *full, *partial; ///< [rows, up to columns]
  i64 listStride;
  int *fullCount, *partialCount; ///< [rows]
};

constexpr int blockListsThreads = 32;

inline i64 blockListsGrid(const BlockLists &a) { return a.rows; }

//===--- Fill.cu ---===//

/// Element n in C order gets word n % 4 of Philox4x32-10 with the key `seed` (low word first) and the
/// counter (n / 4, stream), each 64 bits, low word first.
///
///   normal:  first + second * (a standard normal value): of words w0, w1 with u = ((w >> 9) + 0.5) /
///            2^23, sqrt(-2 log u0) * cos(2 pi u1) and the same with sin; then of w2, w3
///   uniform: first + (second - first) * (w >> 8) / 2^24
struct Fill {
  void *data;
  i64 sizes[4], strides[4];
  u64 seed, stream;
  float first, second;
};

/// Writes one byte all over; 0xff makes NaN of every float type.
struct FillBytes {
  void *data;
  i64 bytes;
  int value;
};

constexpr int fillThreads = 256;

inline i64 fillGrid(const Fill &a) {
  return blocksOf(blocksOf(a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3], 4), fillThreads);
}
inline i64 fillBytesGrid(const FillBytes &a) { return blocksOf(a.bytes, i64(16) * fillThreads); }

//===--- Compare.cu ---===//

/// Errors of finite elements against finite ones; the rest must be the same infinity or NaN.
struct Comparison {
  double maxError, sumSquares;
  double oracleSumSquares; ///< of the oracle's finite elements
  i64 compared, mismatches;
  i64 firstMismatch; ///< its index in C order; -1: none
};

struct Compare {
  const void *actual, *oracle;
  i64 sizes[4], actualStrides[4], oracleStrides[4];
  Comparison *partial; ///< [compareGrid]
  Comparison *result;  ///< one
};

constexpr int compareThreads = 256;
constexpr i64 compareMostBlocks = 1024;

inline i64 compareGrid(const Compare &a) {
  const i64 blocks = blocksOf(a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3], compareThreads);
  return blocks < 1 ? 1 : blocks < compareMostBlocks ? blocks : compareMostBlocks;
}

//===--- KVAppend.cu ---===//

/// Rotary positions: the pair x, y of a head at position p becomes x cos - y sin, y cos + x sin.
struct Rotation {
  const float *cosines, *sines; ///< [positions, rotaryDim / 2]; null: no rotation
  i64 stride;                   ///< of a position
  i64 positions;
  i64 rotaryDim;   ///< even; what is beyond stays
  int interleaved; ///< 1: pairs are 2n, 2n+1; 0: n, n + rotaryDim / 2
};

struct KVAppend {
  Tensor4 k, v;         ///< the new tokens
  Tensor4 keys, values; ///< the cache: [batch or page, position, head, dim]
  const int *lengths;   ///< [batch]: tokens that are there already; null: none
  const int *pageTable; ///< [batch, pagesPerSequence]; null: the cache is not paged
  i64 pageTableStride, pagesPerSequence;
  i64 pages, pageSize; ///< not paged: pageSize is the positions of a sequence
  i64 batch, tokens, heads, dim, valueDim;
  Rotation rotation; ///< of keys
  u64 *
      dropped; ///< counts the tokens that the cache or the table of rotations has no place for; null: does not
};

/// Queries at positions lengths[b] + i, rotated; out must not overlap in.
struct Rotate {
  Tensor4 in, out;
  const int *lengths;
  i64 batch, tokens, heads, dim;
  Rotation rotation;
};

constexpr int appendThreads = 256;

inline i64 kvAppendGrid(const KVAppend &a) {
  return blocksOf(a.batch * a.tokens * a.heads * (a.dim > a.valueDim ? a.dim : a.valueDim),
                  appendThreads);
}
inline i64 rotateGrid(const Rotate &a) {
  return blocksOf(a.batch * a.tokens * a.heads * a.dim, appendThreads);
}

} // namespace templates
} // namespace flashc

#endif // FLASHC_TEMPLATES_ARGUMENTS_H
