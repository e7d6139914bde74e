//===- CacheEntry.h - the format of a cached file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//   bytes 0..7    "FLASHCC" and the format's version, 1
//         8..15   length of the description, little-endian
//        16..23   length of the payload
//        24..39   XXH3-128 of all other bytes
//        40..71   the key, 32 hexadecimal digits
//        72..     the description (UTF-8), then the payload
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CACHE_CACHEENTRY_H
#define FLASHC_RUNTIME_CACHE_CACHEENTRY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

constexpr size_t cacheKeyDigits = 32;
constexpr size_t cacheHeaderBytes = 72;
/// Descriptions beyond this are cut.
constexpr size_t cacheDescriptionBytes = 4096;

/// Whether `text` is 32 digits out of 0-9a-f.
bool isCacheKey(std::string_view text);

/// The file of an entry.
std::vector<std::byte> writeCacheEntry(const std::string &key, std::string_view description,
                                       std::span<const std::byte> payload);

/// What the header of a file says.
struct CacheHeader {
  std::string problem; ///< why this is no entry for the key; "" where it is
  uint64_t descriptionBytes = 0, payloadBytes = 0;
};

/// Reads the header at the start of `bytes`, of a file of `fileBytes` bytes named after `key`.
CacheHeader readCacheHeader(std::span<const std::byte> bytes, uint64_t fileBytes,
                            std::string_view key);

/// Why `file` is no good entry for `key`; "" where it is.
std::string checkCacheEntry(std::span<const std::byte> file, std::string_view key);

} // namespace flashc

#endif // FLASHC_RUNTIME_CACHE_CACHEENTRY_H
