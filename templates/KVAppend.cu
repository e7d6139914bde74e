//===- KVAppend.cu - new keys and values into a cache, with RoPE ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Token i of sequence b goes to position lengths[b] + i, of the sequence's own
// memory or of its pages. Keys are rotated on the way; queries by a kernel of
// their own. What has no place is dropped and counted, never written elsewhere.
// A thread per element.
//
// Parameters: ELEMENT (f16, bf16, f32).
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {
namespace {

/// Element `d` of the head at `offset` of `in` (which is its element 0), rotated to `position`.
__device__ float rotated(const Tensor4 &in, i64 offset, i64 d, i64 position, const Rotation &r) {
  const float own = loadAt<ELEMENT>(in.data, offset + d * in.strides[3]);
  if (!r.cosines || d >= r.rotaryDim)
    return own;
  const i64 half = r.rotaryDim / 2;
  const i64 pair = r.interleaved ? d / 2 : d % half;
  const bool isFirst = r.interleaved ? d % 2 == 0 : d < half;
  const i64 otherD = r.interleaved ? d ^ 1 : isFirst ? d + half : d - half;
  const float other = loadAt<ELEMENT>(in.data, offset + otherD * in.strides[3]);
  const float cosine = r.cosines[position * r.stride + pair];
  const float sine = r.sines[position * r.stride + pair];
  return isFirst ? own * cosine - other * sine : own * cosine + other * sine;
}

__device__ bool hasRotation(const Rotation &r, i64 position) {
  return !r.cosines || (position >= 0 && position < r.positions);
}

} // namespace

FLASHC_KERNEL(kv_append, appendThreads)(const KVAppend a) {
  const i64 width = a.dim > a.valueDim ? a.dim : a.valueDim;
  const i64 index = static_cast<i64>(blockIdx.x) * appendThreads + threadIdx.x;
  if (index >= a.batch * a.tokens * a.heads * width)
    return;
  const i64 d = index % width, head = index / width % a.heads;
  const i64 token = index / width / a.heads % a.tokens, batch = index / width / a.heads / a.tokens;
  const i64 position = (a.lengths ? a.lengths[batch] : 0) + token;

  i64 outer = batch, inner = position;
  bool fits = position >= 0 && hasRotation(a.rotation, position);
  if (a.pageTable) {
    const i64 page = position / a.pageSize;
    fits = fits && page < a.pagesPerSequence;
    outer = fits ? a.pageTable[batch * a.pageTableStride + page] : 0;
    fits = fits && outer >= 0 && outer < a.pages;
    inner = position % a.pageSize;
  } else {
    fits = fits && position < a.pageSize;
  }
  if (!fits) {
    if (a.dropped && d == 0 && head == 0)
      atomicAdd(a.dropped, 1ull);
    return;
  }
  if (d < a.dim)
    storeAt<ELEMENT>(a.keys.data, offsetOf(a.keys, outer, inner, head, d),
                     rotated(a.k, offsetOf(a.k, batch, token, head, 0), d, position, a.rotation));
  if (d < a.valueDim) // bits, so that a NaN keeps its payload
    static_cast<ELEMENT::Storage *>(a.values.data)[offsetOf(a.values, outer, inner, head, d)] =
        static_cast<const ELEMENT::Storage *>(a.v.data)[offsetOf(a.v, batch, token, head, d)];
}

/// A token without a rotation in the table becomes NaN.
FLASHC_KERNEL(rotate, appendThreads)(const Rotate a) {
  const i64 index = static_cast<i64>(blockIdx.x) * appendThreads + threadIdx.x;
  if (index >= a.batch * a.tokens * a.heads * a.dim)
    return;
  const i64 d = index % a.dim, head = index / a.dim % a.heads;
  const i64 token = index / a.dim / a.heads % a.tokens, batch = index / a.dim / a.heads / a.tokens;
  const i64 position = (a.lengths ? a.lengths[batch] : 0) + token;
  const float value =
      hasRotation(a.rotation, position)
          ? rotated(a.in, offsetOf(a.in, batch, token, head, 0), d, position, a.rotation)
          : infinity() - infinity();
  storeAt<ELEMENT>(a.out.data, offsetOf(a.out, batch, token, head, d), value);
}

} // namespace templates
} // namespace flashc
