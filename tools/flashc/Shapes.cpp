//===- Shapes.cpp - checks of inputs against each other -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Shapes.h"

#include <algorithm>
#include <charconv>

namespace flashc::tool {

RandomSizes parseRandomSizes(const std::string &text) {
  constexpr int64_t most = int64_t(1) << 40;
  int64_t values[7];
  const char *at = text.data(), *end = at + text.size();
  for (int n = 0; n < 7; ++n) {
    const auto [stop, error] = std::from_chars(at, end, values[n]);
    const bool ends = n == 6 ? stop == end : stop != end && *stop == ',';
    if (error != std::errc() || !ends || values[n] < 0 || values[n] >= most)
      throw UsageError(
          concat("--random: expected seven numbers B,Sq,Sk,Hq,Hkv,D,Dv below 2^40, got '", text,
                 "'; an example is 2,512,512,8,2,64,64"));
    at = stop + 1;
  }
  return {values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
}

std::vector<int64_t> shapeOf(std::string_view name, const RandomSizes &sizes, bool bhsd,
                             bool packed, int64_t pageRows) {
  const bool isQ = name == "q";
  int64_t batch = sizes.batch, length = isQ ? sizes.queries : sizes.keys;
  const int64_t heads = isQ ? sizes.heads : sizes.headsKv;
  const int64_t dim = name == "v" ? sizes.valueDim : sizes.dim;
  if (packed) {
    int64_t total;
    if (__builtin_mul_overflow(sizes.batch, length, &total))
      fail("--random: expected fewer than 2^63 rows in all, got ", sizes.batch, " times ", length);
    return {total, heads, dim};
  }
  if (pageRows && !isQ) {
    const int64_t perSequence = length / pageRows + (length % pageRows != 0);
    if (__builtin_mul_overflow(batch, perSequence, &batch))
      fail("--random: expected fewer than 2^63 pages in all, got ", sizes.batch, " times ",
           perSequence);
    length = pageRows;
  }
  if (bhsd)
    return {batch, heads, length, dim};
  return {batch, length, heads, dim};
}

namespace {

/// The extents of one of q, k, v by meaning.
struct Extents {
  int64_t batch, length, heads, dim;
};

Extents extentsOf(const Inputs &inputs, const char *name, bool packed) {
  const std::vector<int64_t> &shape = inputs.find(name)->shape;
  const size_t rank = packed ? 3 : 4;
  const char *order = packed        ? "[total, heads, dim], as sequences are packed"
                      : inputs.bhsd ? "[batch, heads, seq, dim]"
                                    : "[batch, seq, heads, dim]";
  if (shape.size() != rank)
    fail(name, ": expected rank ", rank, " (", order, "), got shape ", shapeToString(shape),
         packed || shape.size() != 3 ? "; reshape the array"
                                     : "; packed sequences need --cu-seqlens-q and --cu-seqlens-k");
  if (packed)
    return {1, shape[0], shape[1], shape[2]};
  const size_t row = inputs.bhsd ? 2 : 1;
  return {shape[0], shape[row], shape[3 - row], shape[3]};
}

} // namespace

Sizes checkShapes(const Inputs &inputs, bool packed, int64_t sequences) {
  const Extents q = extentsOf(inputs, "q", packed), k = extentsOf(inputs, "k", packed),
                v = extentsOf(inputs, "v", packed);
  const auto same = [&](const char *name, const char *what, int64_t actual, const char *other,
                        int64_t expected) {
    if (actual == expected)
      return;
    const bool maybeLayout =
        !packed && (what == std::string_view("heads") || what == std::string_view("keys"));
    fail(name, ": expected ", expected, " ", what, " as ", other, " has, got ", actual, " (shape ",
         shapeToString(inputs.find(name)->shape), ", ", other, "'s ",
         shapeToString(inputs.find(other)->shape), ")", maybeLayout ? "; is --layout right?" : "");
  };
  if (!inputs.desc.pageTable)
    same("k", "batches", k.batch, "q", q.batch);
  same("k", "features (head dim)", k.dim, "q", q.dim);
  same("v", inputs.desc.pageTable ? "pages" : "batches", v.batch, "k", k.batch);
  same("v", "keys", v.length, "k", k.length);
  same("v", "heads", v.heads, "k", k.heads);
  if (k.heads == 0 ? q.heads != 0 : q.heads % k.heads != 0)
    fail("q: expected a number of heads that is a multiple of k's ", k.heads, ", got ", q.heads,
         "; is --layout right?");
  int64_t keys = k.length;
  if (const HostArray *table = inputs.find("page_table")) {
    if (table->rank() != 2 || table->shape[0] != q.batch)
      fail("page_table: expected shape [", q.batch, ", most pages of a sequence] (batch), got ",
           shapeToString(table->shape));
    if (__builtin_mul_overflow(keys, table->shape[1], &keys))
      fail("page_table: expected room for fewer than 2^63 keys of a sequence, got ",
           table->shape[1], " pages of ", k.length);
  }
  return {packed ? sequences : q.batch, q.length, keys, q.heads, k.heads};
}

void checkVector(const std::string &name, std::span<const int64_t> shape, int64_t extent,
                 const std::string &meaning) {
  if (shape.size() != 1 || shape[0] != extent)
    fail(name, ": expected shape [", extent, "] (", meaning, "), got ", shapeToString(shape));
}

void checkBias(std::span<const int64_t> shape, std::span<const int64_t> target, bool packed) {
  bool fits = shape.size() <= 4;
  for (size_t n = 0; fits && n < shape.size(); ++n) {
    const size_t dimension = 4 - shape.size() + n;
    fits = shape[n] == 1 || shape[n] == target[dimension] ||
           (packed && dimension >= 2 && shape[n] >= target[dimension]);
  }
  if (!fits)
    fail("bias: expected a shape that broadcasts to ", shapeToString(target),
         packed ? " (sequences, heads, at least the longest queries and keys)"
                : " (batch, heads, queries, keys)",
         ", got ", shapeToString(shape));
}

namespace {

/// The values of cu_seqlens_q or cu_seqlens_k.
std::vector<int64_t> offsetsOf(const Inputs &inputs, const char *name, const char *ofWhat,
                               int64_t total) {
  const HostArray &array = *inputs.find(name);
  std::vector<int64_t> offsets(array.numElements());
  for (size_t n = 0; n < offsets.size(); ++n) {
    offsets[n] = array.intAt(n);
    if (n == 0 ? offsets[n] != 0 : offsets[n] < offsets[n - 1])
      fail(name, ": expected values from 0 up that never fall, got ", offsets[n], " at index ", n);
  }
  if (offsets.back() != total)
    fail(name, ": expected the last value to be ", ofWhat, "'s total length ", total, ", got ",
         offsets.back());
  return offsets;
}

} // namespace

std::vector<Lengths> sequenceLengths(const Inputs &inputs) {
  const Sizes &sizes = *inputs.sizes;
  const HostArray *used = inputs.find("seqused_k");
  std::vector<Lengths> result;
  if (inputs.isPacked()) {
    const std::vector<int64_t> q = offsetsOf(inputs, "cu_seqlens_q", "q", sizes.queries);
    const std::vector<int64_t> k = offsetsOf(inputs, "cu_seqlens_k", "k", sizes.keys);
    for (size_t n = 0; n + 1 < q.size(); ++n)
      result.push_back({1, q[n + 1] - q[n], k[n + 1] - k[n]});
  } else if (used) {
    result.assign(sizes.batch, {1, sizes.queries, sizes.keys});
  } else {
    return {{sizes.batch, sizes.queries, sizes.keys}};
  }
  for (size_t n = 0; used && n < result.size(); ++n) {
    const int64_t value = used->intAt(n);
    if (value < 0 || value > result[n].keys)
      fail("seqused_k: expected 0 to ", result[n].keys, " (the keys there are), got ", value,
           " at index ", n);
    result[n].keys = value;
  }
  return result;
}

std::vector<int64_t> biasTarget(const Inputs &inputs) {
  const Sizes &sizes = *inputs.sizes;
  std::vector<int64_t> target = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  if (!inputs.isPacked())
    return target;
  const std::vector<int64_t> q = offsetsOf(inputs, "cu_seqlens_q", "q", sizes.queries);
  const std::vector<int64_t> k = offsetsOf(inputs, "cu_seqlens_k", "k", sizes.keys);
  target[2] = target[3] = 0;
  for (size_t n = 0; n + 1 < q.size(); ++n) {
    target[2] = std::max(target[2], q[n + 1] - q[n]);
    target[3] = std::max(target[3], k[n + 1] - k[n]);
  }
  return target;
}

} // namespace flashc::tool
