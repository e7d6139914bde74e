//===- ContentHash.cpp - keys from everything that makes a result -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/ContentHash.h"

#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL // the header alone: nothing to link, no symbol to clash
#include <xxhash.h>

namespace flashc {
namespace {

void addSized(XXH3_state_t &state, std::span<const std::byte> bytes) {
  const uint64_t size = bytes.size();
  XXH3_128bits_update(&state, &size, sizeof(size));
  XXH3_128bits_update(&state, bytes.data(), bytes.size());
}

} // namespace

struct ContentHash::State {
  XXH3_state_t hash;
};

ContentHash::ContentHash() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->hash); }
ContentHash::~ContentHash() = default;

ContentHash &ContentHash::add(std::string_view name, std::span<const std::byte> bytes) {
  addSized(state->hash, std::as_bytes(std::span(name)));
  addSized(state->hash, bytes);
  return *this;
}

std::array<std::byte, 16> ContentHash::digest() const {
  XXH128_canonical_t bytes; // the same on every machine
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state->hash));
  std::array<std::byte, 16> result;
  static_assert(sizeof(bytes) == sizeof(result));
  std::memcpy(result.data(), &bytes, sizeof(result));
  return result;
}

std::string ContentHash::key() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest()) {
    text += digits[std::to_integer<int>(byte) >> 4];
    text += digits[std::to_integer<int>(byte) & 15];
  }
  return text;
}

} // namespace flashc
