//===- RandomNormal.h - the same random arrays on every machine -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The values behind --random and --seed. They are a published function of (seed, stream, index):
//
//   * The array is cut into blocks of 65536 elements. Block n of stream t has its own std::mt19937_64,
//     seeded with mix(mix(mix(seed) ^ t) ^ n), where mix is the finalizer of SplitMix64.
//   * Pairs of normals come from Marsaglia's polar method: x, y = 2u - 1 with u = (draw >> 11) / 2^53, drawn
//     again until 0 < r = x*x + y*y < 1; the normals are x*f and y*f with f = sqrt(-2*log(r)/r).
//   * log is computed here from additions, products and divisions alone: libraries' logarithms differ in
//     the last bit between machines, IEEE arithmetic does not.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_RANDOMNORMAL_H
#define FLASHC_TOOLS_FLASHC_RANDOMNORMAL_H

#include "runtime/Support/HostArray.h"

#include <cstdint>

namespace flashc::tool {

/// Fills a float array with standard normal values, each rounded once to the array's type.
///
/// \param stream  tells the arrays of one run apart, so that none depends on another's shape.
void fillNormal(HostArray &array, uint64_t seed, uint64_t stream);

/// Fills an integer array with values from 0 to `most`, evenly distributed.
void fillUniform(HostArray &array, int64_t most, uint64_t seed, uint64_t stream);

/// The natural logarithm of a positive normal number, the same bits on every IEEE machine; its error is
/// below 2^-50 relative to the larger of the result and 1.
double portableLog(double x);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_RANDOMNORMAL_H
