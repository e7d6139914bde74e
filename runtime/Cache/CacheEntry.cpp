//===- CacheEntry.cpp - the format of a cached file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/CacheEntry.h"
#include "runtime/Cache/ContentHash.h"

#include <algorithm>
#include <cstring>

namespace flashc {
namespace {

constexpr char magic[8] = {'F', 'L', 'A', 'S', 'H', 'C', 'C', 1};
constexpr size_t sumOffset = 24, keyOffset = 40;

void putNumber(std::byte *to, uint64_t value) {
  for (int n = 0; n < 8; ++n)
    to[n] = static_cast<std::byte>(value >> (8 * n));
}

uint64_t getNumber(const std::byte *from) {
  uint64_t value = 0;
  for (int n = 0; n < 8; ++n)
    value |= std::to_integer<uint64_t>(from[n]) << (8 * n);
  return value;
}

/// The checksum of an entry: of what stands before it and what stands after it.
std::array<std::byte, 16> sumOf(std::span<const std::byte> file) {
  return ContentHash()
      .add("head", file.first(sumOffset))
      .add("rest", file.subspan(keyOffset))
      .digest();
}

} // namespace

bool isCacheKey(std::string_view text) {
  return text.size() == cacheKeyDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::byte> writeCacheEntry(const std::string &key, std::string_view description,
                                       std::span<const std::byte> payload) {
  description = description.substr(0, cacheDescriptionBytes);
  std::vector<std::byte> file(cacheHeaderBytes + description.size() + payload.size());
  std::memcpy(file.data(), magic, sizeof(magic));
  putNumber(file.data() + 8, description.size());
  putNumber(file.data() + 16, payload.size());
  std::memcpy(file.data() + keyOffset, key.data(), cacheKeyDigits);
  const auto *text = reinterpret_cast<const std::byte *>(description.data());
  std::copy(payload.begin(), payload.end(),
            std::copy(text, text + description.size(), file.begin() + cacheHeaderBytes));
  const auto sum = sumOf(file);
  std::copy(sum.begin(), sum.end(), file.begin() + sumOffset);
  return file;
}

CacheHeader readCacheHeader(std::span<const std::byte> bytes, uint64_t fileBytes,
                            std::string_view key) {
  CacheHeader header;
  if (bytes.size() < cacheHeaderBytes || fileBytes < cacheHeaderBytes) {
    header.problem = "shorter than a header";
    return header;
  }
  if (std::memcmp(bytes.data(), magic, sizeof(magic)) != 0) {
    header.problem = std::memcmp(bytes.data(), magic, sizeof(magic) - 1) == 0
                         ? "of another version"
                         : "not written by flashc";
    return header;
  }
  if (std::memcmp(bytes.data() + keyOffset, key.data(), std::min(key.size(), cacheKeyDigits)) !=
      0) {
    header.problem = "of another key";
    return header;
  }
  header.descriptionBytes = getNumber(bytes.data() + 8);
  header.payloadBytes = getNumber(bytes.data() + 16);
  if (header.descriptionBytes > cacheDescriptionBytes ||
      header.descriptionBytes > fileBytes - cacheHeaderBytes ||
      header.payloadBytes != fileBytes - cacheHeaderBytes - header.descriptionBytes)
    header.problem = "of another length than it says";
  return header;
}

std::string checkCacheEntry(std::span<const std::byte> file, std::string_view key) {
  const CacheHeader header = readCacheHeader(file, file.size(), key);
  if (!header.problem.empty())
    return header.problem;
  const auto sum = sumOf(file);
  return std::equal(sum.begin(), sum.end(), file.begin() + sumOffset) ? "" : "damaged";
}

} // namespace flashc
