//===- TensorView.h - strided view of a host tensor -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What the reference reads its operands through: a pointer, a type, a shape and strides, owning
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_REFERENCE_TENSORVIEW_H
#define FLASHC_RUNTIME_REFERENCE_TENSORVIEW_H

#include "runtime/Support/HostArray.h"

namespace flashc::reference {

/// A non-owning view. Strides are in elements and may be zero or negative; `data` is element [0,
/// ...].
struct TensorView {
  const void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }

  /// The element `offset` elements from `data`, exactly (but for i64 beyond 2^53).
  double at(int64_t offset) const {
    switch (dtype) {
    case DType::F16:
      return halfToFloat(load<uint16_t>(offset));
    case DType::BF16:
      return bfloatToFloat(load<uint16_t>(offset));
    case DType::F32:
      return load<float>(offset);
    case DType::F64:
      return load<double>(offset);
    default:
      return static_cast<double>(intAt(offset));
    }
  }

  /// As `at`, for bool and integer tensors.
  int64_t intAt(int64_t offset) const {
    switch (dtype) {
    case DType::Bool:
      return load<uint8_t>(offset) != 0;
    case DType::U8:
      return load<uint8_t>(offset);
    case DType::I8:
      return load<int8_t>(offset);
    case DType::I16:
      return load<int16_t>(offset);
    case DType::I32:
      return load<int32_t>(offset);
    case DType::I64:
      return load<int64_t>(offset);
    default:
      return saturateToInt<int64_t>(at(offset));
    }
  }

private:
  template <typename T> T load(int64_t offset) const {
    T value;
    std::memcpy(&value, static_cast<const char *>(data) + offset * int64_t(sizeof(T)), sizeof(T));
    return value;
  }
};

/// The view of a whole array, which must outlive it.
inline TensorView viewOf(const HostArray &array) {
  return {array.data.data(), array.dtype, array.shape, array.strides()};
}

/// A captured array under the name that expressions use.
struct NamedTensor {
  std::string name;
  TensorView view;
};

} // namespace flashc::reference

#endif // FLASHC_RUNTIME_REFERENCE_TENSORVIEW_H
