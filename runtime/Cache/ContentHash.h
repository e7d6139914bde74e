//===- ContentHash.h - keys from everything that makes a result -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A cache key covers every input of the computation. Parts are named and
// counted, so that no two lists of parts run together into the same bytes.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CACHE_CONTENTHASH_H
#define FLASHC_RUNTIME_CACHE_CONTENTHASH_H

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace flashc {

/// XXH3, 128 bits: against accidents, not against someone who may write to the cache.
class ContentHash {
public:
  ContentHash();
  ~ContentHash();

  /// One more part of the input.
  ContentHash &add(std::string_view name, std::span<const std::byte> bytes);
  ContentHash &add(std::string_view name, std::string_view text) {
    return add(name, std::as_bytes(std::span(text)));
  }

  /// The hash of the parts so far.
  std::array<std::byte, 16> digest() const;

  /// The same as 32 hexadecimal digits.
  std::string key() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CACHE_CONTENTHASH_H
