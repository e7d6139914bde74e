//===- KeyRanges.h - which keys a mask keeps, in closed form ----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The heart of mask classification. For a box of queries, a mask region splits the keys into those
// that no query keeps (never visited), those that every query keeps (never masked), and the rest.
// Both borders are computed by straight-line scalar code, emitted once per tile of queries.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYRANGES_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYRANGES_H

#include "dialects/Flash/IR/Flash.h"
#include "mlir/IR/Builders.h"

#include <string>

namespace flashc::flash {

/// The queries [i0, iEnd) of sequence b and query head h, with the sequence's lengths; all `index`.
/// The box holds at least one query.
struct QueryBox {
  mlir::Value b, h, i0, iEnd, sq, sk;
};

/// Keys by what a box of queries does with them; all `index`, with
/// 0 <= maybeBegin <= fullBegin <= fullEnd <= maybeEnd <= sk.
struct KeyRanges {
  /// No query of the box keeps a key outside [maybeBegin, maybeEnd).
  mlir::Value maybeBegin, maybeEnd;
  /// Every query of the box keeps every key in [fullBegin, fullEnd).
  mlir::Value fullBegin, fullEnd;
  /// Whether the ranges are tight: the first is the hull of the keys that some query keeps, the
  /// second all keys that every query keeps. This is said of the mask as such: conditions that
  /// contradict each other for a query may widen the first, and integers beyond 2^40 (captured,
  /// say) in a sum or product with i or j give up on both.
  bool exact = true;
  /// Where not exact, the reason in the user's terms, such as "reads capture 'doc' at a key index".
  std::string why;
};

/// Emits the ranges of `mask` at the builder's insertion point: `arith` on `index`, and
/// `flash.read` where the mask reads captures at indices that depend on b, h, sq and sk only. Sound
/// for every mask region, an empty one (keeps all) included. Where all inputs are constants, so are
/// the results.
///
/// \param captures  what the region's capture arguments stand for, tensors or memrefs. May be
/// empty:
///                  then nothing is known of what the mask reads.
KeyRanges emitKeyRanges(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &mask,
                        const QueryBox &box, mlir::ValueRange captures);

/// How many tiles of a whole attention are not visited, not masked, and masked.
struct TileCounts {
  int64_t empty = 0, full = 0, partial = 0;
  /// Whether no tile is visited in vain and none masked in vain.
  bool exact = true;
  std::string why; ///< as in KeyRanges
};

/// Counts the tiles of `batch` x `heads` problems of sq queries by sk keys, in tiles of br by bc. A
/// tile that the last key cuts is masked, hence partial. Fails where a size is negative or a tile
/// empty.
mlir::FailureOr<TileCounts> countTiles(mlir::Region &mask, int64_t batch, int64_t heads, int64_t sq,
                                       int64_t sk, int64_t br, int64_t bc);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_KEYRANGES_H
