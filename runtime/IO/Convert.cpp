//===- Convert.cpp - element type conversion of host arrays -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Pairs of 16- and 32-bit float types get loops of their own; the rest go through
// the accessors of HostArray, which round once, too.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Convert.h"

#include <algorithm>

namespace flashc {
namespace {

template <typename From, typename To, typename Function>
void mapElements(const HostArray &from, HostArray &to, Function function) {
  const std::span<const From> in = from.as<From>();
  std::transform(in.begin(), in.end(), to.as<To>().begin(), function);
}

/// Converts f16, bf16 or f32 to f16, bf16 or f32; true when the pair is such a pair.
bool convertFloats(const HostArray &from, HostArray &to) {
  const auto pair = [&](DType a, DType b) { return from.dtype == a && to.dtype == b; };
  if (pair(DType::F32, DType::F16))
    mapElements<float, uint16_t>(from, to, floatToHalf);
  else if (pair(DType::F32, DType::BF16))
    mapElements<float, uint16_t>(from, to, floatToBfloat);
  else if (pair(DType::F16, DType::F32))
    mapElements<uint16_t, float>(from, to, halfToFloat);
  else if (pair(DType::BF16, DType::F32))
    mapElements<uint16_t, float>(from, to, bfloatToFloat);
  else if (pair(DType::F16, DType::BF16))
    mapElements<uint16_t, uint16_t>(from, to,
                                    [](uint16_t bits) { return floatToBfloat(halfToFloat(bits)); });
  else if (pair(DType::BF16, DType::F16))
    mapElements<uint16_t, uint16_t>(from, to,
                                    [](uint16_t bits) { return floatToHalf(bfloatToFloat(bits)); });
  else
    return false;
  return true;
}

} // namespace

HostArray convert(const HostArray &array, DType dtype) {
  if (array.dtype == dtype)
    return array;
  const std::optional<int64_t> bytes = countBytes(array.dtype, array.shape);
  if (!bytes || static_cast<uint64_t>(*bytes) != array.data.size())
    fail("expected data that fills shape ", shapeToString(array.shape), " of ", nameOf(array.dtype),
         ", got ", array.data.size(), " bytes; fix the array's shape");
  HostArray result = HostArray::zeros(dtype, array.shape);
  const int64_t count = result.numElements();
  if (convertFloats(array, result))
    return result;
  if (isFloat(array.dtype)) {
    for (int64_t i = 0; i < count; ++i)
      result.set(i, array.at(i));
  } else {
    for (int64_t i = 0; i < count; ++i)
      result.setInt(i, array.intAt(i));
  }
  return result;
}

void normalizeBool(std::span<std::byte> bytes) {
  for (std::byte &value : bytes)
    value = std::byte(value != std::byte(0));
}

} // namespace flashc
