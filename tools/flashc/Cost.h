//===- Cost.h - operations and memory traffic of attention ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What explain prints and what bench divides by time. Everything is counted in double: sizes may be larger
// than any integer type holds.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_COST_H
#define FLASHC_TOOLS_FLASHC_COST_H

#include "tools/flashc/Shapes.h"

#include <functional>

namespace flashc::tool {

/// How many (query, key) pairs a mask keeps.
struct PairCount {
  double kept = 0; ///< over all batches and query heads
  double all = 0;  ///< with no mask
  bool exact = true;
  std::string why; ///< where not exact (then `kept` is an upper bound): the reason
};

/// Counts, for masks given as an expression, the pairs of `lengths` and `heads` heads.
using PairCounter = std::function<PairCount(const Lengths &lengths, int64_t heads)>;

/// The pairs that causal and window keep of sq queries and sk keys, in closed form.
double keptPairs(const AttentionDesc &desc, int64_t sq, int64_t sk);

/// The pairs of all sequences. A mask expression is left to `counter`.
PairCount countPairs(const Inputs &inputs, const PairCounter &counter);

/// Multiplications and additions of the two products of the kept pairs: 2 * pairs * (D + Dv), which is
/// 4*B*Hq*Sq*Sk*D without a mask and with Dv = D. The softmax is not counted.
double countFlops(const Inputs &inputs, const PairCount &pairs);

/// Bytes that one operand moves through memory.
struct Traffic {
  std::string operand;
  double standard = 0; ///< S and P written and read back (the paper's Algorithm 0)
  double tiled = 0;    ///< FlashAttention: K and V once per tile of rows that sees them
};

/// The rows of a tile: queries of one head, or heads that share keys, for one query.
struct RowTile {
  int64_t rows = 1;
  bool areHeads = false;
};

/// Tiles of rows of a sequence of so many queries, over all heads.
double countRowTiles(const Inputs &inputs, int64_t queries, RowTile tile);

/// The operands' traffic. \param visited  the part of all tiles of keys that tiles of rows visit
std::vector<Traffic> countTraffic(const Inputs &inputs, double visited, RowTile tile);

/// Bytes of all operands and results, each moved once: what a run cannot do without.
double leastBytes(const Inputs &inputs);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_COST_H
