//===- HostArray.h - a dense tensor in host memory -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The value that file readers produce and that kernels, the reference and the
// writers take: element type, shape and the elements, dense and in C order.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_HOSTARRAY_H
#define FLASHC_RUNTIME_SUPPORT_HOSTARRAY_H

#include "runtime/Support/DType.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/Half.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flashc {

/// `value` as the integer type `Int`: truncated toward zero, saturated; NaN gives 0.
template <typename Int> Int saturateToInt(double value) {
  if (std::isnan(value))
    return 0;
  // 2^digits is exact in double, unlike the maximum of a 64-bit type.
  const double limit = std::ldexp(1.0, std::numeric_limits<Int>::digits);
  if (value >= limit)
    return std::numeric_limits<Int>::max();
  if (value <= static_cast<double>(std::numeric_limits<Int>::min()))
    return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

/// The number of elements of `shape` (1 for rank 0), or nothing when an extent is
/// negative or the product of the non-zero extents exceeds int64. (So that the product
/// of any suffix, a stride, fits too, whichever extent is zero.)
inline std::optional<int64_t> countElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

/// The shape as text: "[2, 3]", "[]" for rank 0.
inline std::string shapeToString(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Bytes of a dense array, or nothing when shape or product do not fit in int64.
inline std::optional<int64_t> countBytes(DType dtype, std::span<const int64_t> shape) {
  const std::optional<int64_t> count = countElements(shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(sizeOf(dtype)), &bytes))
    return std::nullopt;
  return bytes;
}

/// A dense tensor in C order. `data` holds numElements() * sizeOf(dtype) bytes,
/// little-endian; bool is one byte, 0 or 1.
struct HostArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  /// A zero-filled array. Throws Error for a negative or overflowing shape.
  static HostArray zeros(DType dtype, std::vector<int64_t> shape) {
    const std::optional<int64_t> bytes = countBytes(dtype, shape);
    if (!bytes)
      fail("expected a shape whose size in bytes fits in 63 bits, got ", shapeToString(shape),
           " of ", nameOf(dtype), "; use smaller, non-negative extents");
    return {dtype, std::move(shape), std::vector<std::byte>(static_cast<size_t>(*bytes))};
  }

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }

  /// The number of elements; 1 for rank 0.
  int64_t numElements() const { return countElements(shape).value_or(0); }

  size_t sizeBytes() const { return data.size(); }

  /// Strides in elements, C order.
  std::vector<int64_t> strides() const {
    std::vector<int64_t> result(shape.size());
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0; step *= shape[d] ? shape[d] : 1)
      result[d] = step;
    return result;
  }

  /// The elements as `T`; sizeof(T) must be sizeOf(dtype). 16-bit floats are uint16_t bits.
  template <typename T> std::span<T> as() {
    checkElementSize(sizeof(T));
    return {reinterpret_cast<T *>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T> std::span<const T> as() const {
    checkElementSize(sizeof(T));
    return {reinterpret_cast<const T *>(data.data()), data.size() / sizeof(T)};
  }

  /// Element `flat` (C order) as double: exact but for i64 beyond 2^53. Unchecked index.
  double at(int64_t flat) const {
    switch (dtype) {
    case DType::F16:
      return halfToFloat(load<uint16_t>(flat));
    case DType::BF16:
      return bfloatToFloat(load<uint16_t>(flat));
    case DType::F32:
      return load<float>(flat);
    case DType::F64:
      return load<double>(flat);
    default:
      return static_cast<double>(intAt(flat));
    }
  }

  /// Element `flat` as int64; floats truncate and saturate, NaN gives 0. Unchecked index.
  int64_t intAt(int64_t flat) const {
    switch (dtype) {
    case DType::Bool:
      return load<uint8_t>(flat) != 0;
    case DType::U8:
      return load<uint8_t>(flat);
    case DType::I8:
      return load<int8_t>(flat);
    case DType::I16:
      return load<int16_t>(flat);
    case DType::I32:
      return load<int32_t>(flat);
    case DType::I64:
      return load<int64_t>(flat);
    default:
      return saturateToInt<int64_t>(at(flat));
    }
  }

  /// Stores `value` at `flat`: floats round once to nearest even, integers truncate and
  /// saturate (NaN gives 0), bool is `value != 0`. Unchecked index.
  void set(int64_t flat, double value) {
    switch (dtype) {
    case DType::Bool:
      return store<uint8_t>(flat, value != 0);
    case DType::U8:
      return store(flat, saturateToInt<uint8_t>(value));
    case DType::I8:
      return store(flat, saturateToInt<int8_t>(value));
    case DType::I16:
      return store(flat, saturateToInt<int16_t>(value));
    case DType::I32:
      return store(flat, saturateToInt<int32_t>(value));
    case DType::I64:
      return store(flat, saturateToInt<int64_t>(value));
    case DType::F16:
      return store(flat, doubleToHalf(value));
    case DType::BF16:
      return store(flat, doubleToBfloat(value));
    case DType::F32:
      return store(flat, static_cast<float>(value));
    case DType::F64:
      return store(flat, value);
    }
  }

  /// Stores an integer exactly (i64 beyond 2^53 included), saturated for narrower types.
  void setInt(int64_t flat, int64_t value) {
    constexpr int64_t exact = int64_t(1) << 53;
    if (dtype == DType::I64)
      return store(flat, value);
    if (dtype == DType::F32)
      return store(flat, static_cast<float>(value)); // one rounding, not two
    // Rounding to odd first keeps the second rounding, to bf16, right.
    if (dtype == DType::BF16 && (value > exact || value < -exact) && (value & 0x7ff))
      value = (value & ~int64_t(0x7ff)) | 0x800;
    set(flat, static_cast<double>(value));
  }

private:
  template <typename T> T load(int64_t flat) const {
    T value;
    std::memcpy(&value, data.data() + flat * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void store(int64_t flat, T value) {
    std::memcpy(data.data() + flat * sizeof(T), &value, sizeof(T));
  }
  void checkElementSize(size_t size) const {
    if (size != sizeOf(dtype))
      fail("expected an element of ", size, " bytes, got ", nameOf(dtype), " of ", sizeOf(dtype),
           " bytes; convert the array first");
  }
};

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_HOSTARRAY_H
