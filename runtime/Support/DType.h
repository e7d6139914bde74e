//===- DType.h - element types of host tensors -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The closed set of element types that flashc reads, writes and computes with,
// their sizes in bytes and the names users and messages call them by.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_DTYPE_H
#define FLASHC_RUNTIME_SUPPORT_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flashc {

enum class DType : uint8_t { Bool, I8, I16, I32, I64, U8, F16, BF16, F32, F64 };

/// Size of one element in bytes (Bool is one byte).
size_t sizeOf(DType type);

/// The type's name: "bool", "i8", "i16", "i32", "i64", "u8", "f16", "bf16", "f32" or "f64".
const char *nameOf(DType type);

/// The type named `name` (exactly as nameOf spells it), or nothing.
std::optional<DType> parseDType(std::string_view name);

/// True for F16, BF16, F32 and F64.
bool isFloat(DType type);

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_DTYPE_H
