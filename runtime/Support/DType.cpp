//===- DType.cpp - element types of host tensors -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One table of names and sizes, indexed by the enumerator.
//
//===----------------------------------------------------------------------===//
#include "runtime/Support/DType.h"

#include <array>

namespace flashc {
namespace {

struct TypeInfo {
  const char *name;
  size_t size;
};

constexpr std::array<TypeInfo, 10> kTypes = {{{"bool", 1},
                                              {"i8", 1},
                                              {"i16", 2},
                                              {"i32", 4},
                                              {"i64", 8},
                                              {"u8", 1},
                                              {"f16", 2},
                                              {"bf16", 2},
                                              {"f32", 4},
                                              {"f64", 8}}};

} // namespace

size_t sizeOf(DType type) { return kTypes[static_cast<size_t>(type)].size; }

const char *nameOf(DType type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (name == kTypes[i].name)
      return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloat(DType type) { return type >= DType::F16; }

} // namespace flashc
