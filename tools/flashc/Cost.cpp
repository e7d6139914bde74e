//===- Cost.cpp - operations and memory traffic of attention --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Cost.h"

#include <algorithm>
#include <cmath>

namespace flashc::tool {
namespace {

/// The sum of clamp(i + shift, 0, most) over i in [0, n).
double sumClamped(double n, double shift, double most) {
  // Terms are 0 before `begin`, rise by one from there, and are `most` from `end` on.
  const double begin = std::clamp(-shift, 0.0, n), end = std::clamp(most - shift, begin, n);
  const double rising = (end - begin) * shift + (begin + end - 1) * (end - begin) / 2;
  return rising + (n - end) * most;
}

double bytesOf(DType type, double elements) { return elements * static_cast<double>(sizeOf(type)); }

} // namespace

double keptPairs(const AttentionDesc &desc, int64_t sq, int64_t sk) {
  const double n = static_cast<double>(sq), keys = static_cast<double>(sk);
  const double offset = desc.causal == Causal::TopLeft ? 0 : keys - n;
  // Query i keeps the keys in [i + low, i + high], as far as there are any.
  double low = -HUGE_VAL, high = HUGE_VAL;
  if (desc.causal != Causal::None)
    high = offset;
  if (desc.window && desc.window->left >= 0)
    low = offset - static_cast<double>(desc.window->left);
  if (desc.window && desc.window->right >= 0)
    high = std::min(high, offset + static_cast<double>(desc.window->right));
  const double upTo = std::isinf(high) ? n * keys : sumClamped(n, high + 1, keys);
  return upTo - (std::isinf(low) ? 0 : sumClamped(n, low, keys));
}

PairCount countPairs(const Inputs &inputs, const PairCounter &counter) {
  const double heads = static_cast<double>(inputs.sizes->heads);
  PairCount total;
  for (const Lengths &lengths : sequenceLengths(inputs)) {
    const double problems = static_cast<double>(lengths.batch) * heads;
    total.all +=
        problems * static_cast<double>(lengths.queries) * static_cast<double>(lengths.keys);
    if (inputs.desc.mask.empty()) {
      total.kept += problems * keptPairs(inputs.desc, lengths.queries, lengths.keys);
      continue;
    }
    const PairCount part = counter(lengths, inputs.sizes->heads);
    total.kept += part.kept;
    if (!part.exact) {
      total.exact = false;
      total.why = part.why;
    }
  }
  return total;
}

double countFlops(const Inputs &inputs, const PairCount &pairs) {
  return 2 * pairs.kept * static_cast<double>(inputs.desc.headDim + inputs.desc.resolvedValueDim());
}

double countRowTiles(const Inputs &inputs, int64_t queries, RowTile tile) {
  const auto ceilDiv = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  const int64_t heads = inputs.sizes->heads, headsKv = inputs.sizes->headsKv;
  const int64_t tiles =
      tile.areHeads ? queries * headsKv * ceilDiv(heads / std::max<int64_t>(headsKv, 1), tile.rows)
                    : heads * ceilDiv(queries, tile.rows);
  return static_cast<double>(tiles);
}

std::vector<Traffic> countTraffic(const Inputs &inputs, double visited, RowTile tile) {
  const AttentionDesc &desc = inputs.desc;
  const double d = static_cast<double>(desc.headDim),
               dv = static_cast<double>(desc.resolvedValueDim()),
               heads = static_cast<double>(inputs.sizes->heads),
               headsKv = static_cast<double>(inputs.sizes->headsKv);
  double queries = 0, keys = 0, pairs = 0, sweeps = 0;
  for (const Lengths &lengths : sequenceLengths(inputs)) {
    const double batch = static_cast<double>(lengths.batch), sk = static_cast<double>(lengths.keys);
    queries += batch * static_cast<double>(lengths.queries);
    keys += batch * sk;
    pairs += batch * static_cast<double>(lengths.queries) * sk * heads;
    // Keys that pass by, once per tile of rows.
    sweeps += batch * countRowTiles(inputs, lengths.queries, tile) * sk;
  }
  sweeps *= visited;
  std::vector<Traffic> result;
  const auto add = [&](const char *operand, double standard, double tiled) {
    result.push_back({operand, standard, tiled});
  };
  const double q = bytesOf(desc.dtype, queries * heads * d),
               o = bytesOf(desc.dtype, queries * heads * dv);
  add("q", q, q);
  add("k", bytesOf(desc.dtype, keys * headsKv * d), bytesOf(desc.dtype, sweeps * d));
  add("v", bytesOf(desc.dtype, keys * headsKv * dv), bytesOf(desc.dtype, sweeps * dv));
  add("s", 2 * bytesOf(DType::F32, pairs), 0);
  add("p", 2 * bytesOf(desc.dtype, pairs), 0);
  if (const HostArray *bias = inputs.find("bias"))
    add("bias", bytesOf(bias->dtype, static_cast<double>(bias->numElements())),
        bytesOf(bias->dtype, visited * pairs));
  add("o", o, o);
  const double perRow = bytesOf(DType::F32, queries * heads);
  if (desc.wantLse)
    add("lse", perRow, perRow);
  if (desc.wantRowMax)
    add("row_max", perRow, perRow);
  return result;
}

double leastBytes(const Inputs &inputs) {
  double bytes = 0;
  for (const auto &[name, array] : inputs.arrays)
    bytes += bytesOf(array.dtype, static_cast<double>(array.numElements()));
  double rows =
      static_cast<double>(inputs.sizes->queries) * static_cast<double>(inputs.sizes->heads);
  if (!inputs.isPacked())
    rows *= static_cast<double>(inputs.sizes->batch);
  bytes += bytesOf(inputs.desc.dtype, rows * static_cast<double>(inputs.desc.resolvedValueDim()));
  return bytes + bytesOf(DType::F32, rows * (inputs.desc.wantLse + inputs.desc.wantRowMax));
}

} // namespace flashc::tool
