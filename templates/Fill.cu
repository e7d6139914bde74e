//===- Fill.cu - random tensors and poison --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The values are a published function of (seed, stream, index), see Arguments.h:
// they depend neither on strides nor on the launch. A thread per four elements,
// as one call of Philox4x32-10 gives four words.
//
// Parameters: ELEMENT (f16, bf16, f32).
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {
namespace {

__device__ unsigned highProduct(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<u64>(a) * b >> 32);
}

/// Philox4x32-10 (Salmon et al., 2011): ten rounds on `counter`, in place.
__device__ void philox(unsigned (&counter)[4], u64 key) {
  unsigned low = static_cast<unsigned>(key), high = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned a = counter[0], b = counter[2];
    const unsigned next[4] = {highProduct(0xcd9e8d57u, b) ^ counter[1] ^ low, 0xcd9e8d57u * b,
                              highProduct(0xd2511f53u, a) ^ counter[3] ^ high, 0xd2511f53u * a};
    for (int n = 0; n < 4; ++n)
      counter[n] = next[n];
    low += 0x9e3779b9u;
    high += 0xbb67ae85u;
  }
}

/// Calls store(offset, words, n) for the four elements of this thread, n from 0 to 3.
template <typename Store> __device__ void fill(const Fill &a, Store store) {
  const i64 count = a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3];
  const i64 group = static_cast<i64>(blockIdx.x) * fillThreads + threadIdx.x;
  if (group * 4 >= count)
    return;
  unsigned words[4] = {static_cast<unsigned>(group), static_cast<unsigned>(group >> 32),
                       static_cast<unsigned>(a.stream), static_cast<unsigned>(a.stream >> 32)};
  philox(words, a.seed);
  for (int n = 0; n < 4 && group * 4 + n < count; ++n)
    store(offsetOf(a.sizes, a.strides, group * 4 + n), words, n);
}

/// Above 0 and below 1.
__device__ float openUnit(unsigned word) {
  return (static_cast<float>(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
}

} // namespace

FLASHC_KERNEL(fill_normal, fillThreads)(const Fill a) {
  fill(a, [&](i64 offset, const unsigned (&words)[4], int n) {
    const int pair = n / 2 * 2;
    const float radius = sqrt(-2.0f * log(openUnit(words[pair])));
    const float angle = 6.283185307f * openUnit(words[pair + 1]);
    const float normal = radius * (n % 2 == 0 ? cos(angle) : sin(angle));
    storeAt<ELEMENT>(a.data, offset, fma(a.second, normal, a.first));
  });
}

FLASHC_KERNEL(fill_uniform, fillThreads)(const Fill a) {
  fill(a, [&](i64 offset, const unsigned (&words)[4], int n) {
    const float unit = static_cast<float>(words[n] >> 8) * (1.0f / 16777216.0f);
    storeAt<ELEMENT>(a.data, offset, fma(a.second - a.first, unit, a.first));
  });
}

FLASHC_KERNEL(fill_bytes, fillThreads)(const FillBytes a) {
  unsigned char *data = static_cast<unsigned char *>(a.data);
  // Neighbouring threads write neighbouring bytes.
  const i64 begin = static_cast<i64>(blockIdx.x) * fillThreads * 16;
  for (int n = 0; n < 16; ++n) {
    const i64 at = begin + n * fillThreads + threadIdx.x;
    if (at < a.bytes)
      data[at] = static_cast<unsigned char>(a.value);
  }
}

} // namespace templates
} // namespace flashc
