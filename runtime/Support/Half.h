//===- Half.h - f16 and bf16 conversions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Conversions between the 16-bit float formats (as their bits) and float or
// double. All narrowing rounds once, to nearest even, with subnormals kept;
// overflow gives infinity; a NaN stays a (quiet) NaN of the same sign.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_HALF_H
#define FLASHC_RUNTIME_SUPPORT_HALF_H

#include <bit>
#include <cstdint>

namespace flashc {
namespace detail {

/// Rounds `value` once, to nearest even, to the IEEE-like 16-bit format with
/// `MantissaBits` explicit mantissa bits (f16: 10, bf16: 7) and returns its bits.
template <unsigned MantissaBits> constexpr uint16_t narrow(double value) {
  constexpr unsigned exponentBits = 15 - MantissaBits;
  constexpr int bias = (1 << (exponentBits - 1)) - 1;
  constexpr uint16_t infinity = ((1u << exponentBits) - 1) << MantissaBits;
  constexpr uint64_t hiddenBit = uint64_t(1) << 52;

  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 48) & 0x8000;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & (hiddenBit - 1);
  if (exponent == 0x7ff) {
    if (mantissa == 0)
      return sign | infinity;
    const uint16_t payload = static_cast<uint16_t>(mantissa >> (52 - MantissaBits));
    return sign | infinity | (1u << (MantissaBits - 1)) | payload;
  }
  const int target = exponent - 1023 + bias; // biased exponent in the narrow format
  if (target > 2 * bias)
    return sign | infinity;
  // Drop `shift` low bits; a subnormal result drops more of them. A double that is
  // itself subnormal has no hidden bit, but is far below either format's least half ulp.
  int shift = 52 - static_cast<int>(MantissaBits);
  uint64_t base = 0;
  if (target > 0) {
    base = static_cast<uint64_t>(target) << MantissaBits;
  } else {
    shift += 1 - target;
    mantissa |= hiddenBit;
    if (shift > 53)
      return sign; // below half the least subnormal
  }
  const uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  const uint64_t up = rest > half || (rest == half && (kept & 1));
  // A carry out of the mantissa moves on to the next exponent (or infinity) by itself.
  return static_cast<uint16_t>(sign | (base + kept + up));
}

} // namespace detail

/// The nearest-even f16 of `value`, as bits.
constexpr uint16_t doubleToHalf(double value) { return detail::narrow<10>(value); }

/// The nearest-even bf16 of `value`, as bits.
constexpr uint16_t doubleToBfloat(double value) { return detail::narrow<7>(value); }

/// The nearest-even f16 of `value`, as bits.
constexpr uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // The common case, a result that is normal or rounds to infinity from a finite value.
  if (magnitude >= 0x38800000 && magnitude < 0x47800000) {
    const uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded >> 13);
  }
  // Through double a signalling NaN may become quiet, which is what is wanted anyway.
  return detail::narrow<10>(value);
}

/// The nearest-even bf16 of `value`, as bits.
constexpr uint16_t floatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The exact float of the f16 with the bits `half`.
constexpr float halfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

/// The exact float of the bf16 with the bits `bfloat`.
constexpr float bfloatToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16);
}

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_HALF_H
