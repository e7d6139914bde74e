//===- TestSupport.h - what the runtime's tests share -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Files as bytes, and tensors that own their memory.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_API_TESTSUPPORT_H
#define FLASHC_TEST_UNIT_API_TESTSUPPORT_H

#include "runtime/Support/Error.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace flashc::test {

inline std::vector<std::byte> readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto *data = reinterpret_cast<const std::byte *>(text.data());
  return {data, data + text.size()};
}

/// A dense tensor of T with memory of its own; tests bend its fields. 8-byte aligned.
template <typename T = float> struct Owned {
  std::vector<T> values;
  std::vector<int64_t> shape, strides; ///< no strides: dense
  DLDataType dtype;
  DLDevice device{kDLCPU, 0};
  uint64_t byteOffset = 0;
  DLTensor view{};

  Owned(std::vector<int64_t> extents, DLDataType dtype) : shape(std::move(extents)), dtype(dtype) {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<size_t>(extent);
    values.resize(count);
  }

  /// The DLPack view of the fields as they are now.
  const DLTensor *get() {
    view.data = values.data();
    view.device = device;
    view.ndim = static_cast<int>(shape.size());
    view.dtype = dtype;
    view.shape = shape.data();
    view.strides = strides.empty() ? nullptr : strides.data();
    view.byte_offset = byteOffset;
    return &view;
  }
};

inline constexpr DLDataType f32{kDLFloat, 32, 1};
inline constexpr DLDataType f16{kDLFloat, 16, 1};
inline constexpr DLDataType i32{kDLInt, 32, 1};
inline constexpr DLDataType i64{kDLInt, 64, 1};

/// Expects `statement` to throw Error with a message that contains `text`.
#define EXPECT_ERROR(statement, text)                                                              \
  EXPECT_THAT([&] { statement; },                                                                  \
              ::testing::ThrowsMessage<::flashc::Error>(::testing::HasSubstr(text)))

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_API_TESTSUPPORT_H
