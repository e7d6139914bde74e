//===- Shapes.h - checks of inputs against each other -----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The runtime checks its tensors again, but in the kernel's layout; these messages speak of the user's
// arrays as they are in the files.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_SHAPES_H
#define FLASHC_TOOLS_FLASHC_SHAPES_H

#include "tools/flashc/Inputs.h"

namespace flashc::tool {

/// The numbers of --random.
struct RandomSizes {
  int64_t batch, queries, keys, heads, headsKv, dim, valueDim;
};

/// Parses B,Sq,Sk,Hq,Hkv,D,Dv. Throws UsageError where they are not seven numbers that make sense.
RandomSizes parseRandomSizes(const std::string &text);

/// The shapes of q, k and v in the user's layout. With `pageRows` k and v are pages, with room for all sequences.
std::vector<int64_t> shapeOf(std::string_view name, const RandomSizes &sizes, bool bhsd,
                             bool packed, int64_t pageRows = 0);

/// The extents of q, k and v, checked against each other; `packed`: rank 3. Throws Error. `sequences` is
/// the batch where packed.
Sizes checkShapes(const Inputs &inputs, bool packed, int64_t sequences);

/// Checks that `shape` is [extent]; `meaning` names the extent.
void checkVector(const std::string &name, std::span<const int64_t> shape, int64_t extent,
                 const std::string &meaning);

/// Checks that `shape` broadcasts to the bias [B,Hq,Sq,Sk] of `target`; where packed, Sq and Sk are the
/// longest sequences', and the array may be larger.
void checkBias(std::span<const int64_t> shape, std::span<const int64_t> target, bool packed);

/// What a bias broadcasts to. Where packed, the longest sequences decide.
std::vector<int64_t> biasTarget(const Inputs &inputs);

/// Batches of equal lengths.
struct Lengths {
  int64_t batch = 0, queries = 0, keys = 0;
};

/// The lengths of all sequences: one entry for a plain batch, else one per sequence. Throws Error for
/// cu_seqlens and seqused_k that do not fit q and k.
std::vector<Lengths> sequenceLengths(const Inputs &inputs);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_SHAPES_H
