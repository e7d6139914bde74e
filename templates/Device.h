//===- Device.h - what the kernels in this folder share -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Element types by the names f16, bf16, f32 and f64, and small helpers. No
// header of the toolkit is needed, so that NVRTC alone is enough. Outside of
// CUDA (the tests compile these files for the host) f16 converts in software.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEMPLATES_DEVICE_H
#define FLASHC_TEMPLATES_DEVICE_H

#include "templates/Arguments.h"

#ifndef __CUDA_ARCH__
#include "runtime/Support/Half.h"
#endif

// A kernel's name ends with the instance's SUFFIX: flashc_fill_normal_f16.
#define FLASHC_JOIN2(a, b) a##_##b
#define FLASHC_JOIN(a, b) FLASHC_JOIN2(a, b)
#define FLASHC_KERNEL(name, threads)                                                               \
  extern "C" __global__ void __launch_bounds__(threads) FLASHC_JOIN(flashc_##name, SUFFIX)

namespace flashc {
namespace templates {

struct f64 {
  typedef double Storage;
  static __device__ double load(Storage value) { return value; }
  static __device__ Storage round(double value) { return value; }
};

struct f32 {
  typedef float Storage;
  static __device__ float load(Storage value) { return value; }
  static __device__ Storage round(double value) { return static_cast<float>(value); }
  static __device__ Storage round(float value) { return value; }
};

struct f16 {
  typedef unsigned short Storage;
  static __device__ float load(Storage bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    return halfToFloat(bits);
#endif
  }
  static __device__ Storage round(float value) {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return floatToHalf(value);
#endif
  }
};

/// Converted by integer operations, which every architecture has.
struct bf16 {
  typedef unsigned short Storage;
  static __device__ float load(Storage bits) {
    union {
      unsigned word;
      float value;
    } pun;
    pun.word = static_cast<unsigned>(bits) << 16;
    return pun.value;
  }
  static __device__ Storage round(float value) {
    union {
      float value;
      unsigned word;
    } pun;
    pun.value = value;
    if (value != value)
      return static_cast<Storage>(pun.word >> 16 | 0x40); // a quiet NaN
    return static_cast<Storage>((pun.word + 0x7fff + (pun.word >> 16 & 1)) >> 16);
  }
};

template <typename Element>
__device__ auto loadAt(const void *data, i64 offset) -> decltype(Element::load({})) {
  return Element::load(static_cast<const typename Element::Storage *>(data)[offset]);
}

template <typename Element, typename Value>
__device__ void storeAt(void *data, i64 offset, Value value) {
  static_cast<typename Element::Storage *>(data)[offset] = Element::round(value);
}

__device__ inline i64 offsetOf(const Tensor4 &tensor, i64 b, i64 s, i64 h, i64 d) {
  return b * tensor.strides[0] + s * tensor.strides[1] + h * tensor.strides[2] +
         d * tensor.strides[3];
}

/// The offset of element `index` in C order.
__device__ inline i64 offsetOf(const i64 (&sizes)[4], const i64 (&strides)[4], i64 index) {
  i64 offset = 0;
  for (int n = 3; n >= 0; --n) {
    offset += index % sizes[n] * strides[n];
    index /= sizes[n];
  }
  return offset;
}

template <typename T> __device__ bool isFinite(T value) { return value - value == 0; }

__device__ inline float infinity() {
  union {
    unsigned word;
    float value;
  } pun;
  pun.word = 0x7f800000;
  return pun.value;
}

} // namespace templates
} // namespace flashc

#endif // FLASHC_TEMPLATES_DEVICE_H
