//===- OffloadBinary.cpp - LLVM's container of device code -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Bundle/OffloadBinary.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace flashc {
namespace {

constexpr unsigned char magic[4] = {0x10, 0xff, 0x10, 0xad};
constexpr uint32_t version = 1;
constexpr uint64_t headerBytes = 32, entryBytes = 40, pairBytes = 16, alignment = 8;
constexpr uint64_t mostStrings = 64, mostStringBytes = 4096;

uint64_t alignUp(uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

template <typename Number> void put(std::vector<std::byte> &file, Number value) {
  for (size_t n = 0; n < sizeof(Number); ++n)
    file.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * n)));
}

/// Numbers and strings of untrusted bytes, by offset.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes(bytes) {}

  /// `size` bytes from `offset` on.
  std::span<const std::byte> part(uint64_t offset, uint64_t size, const char *what) const {
    if (offset > bytes.size() || size > bytes.size() - offset)
      fail("bundle: expected ", what, " within ", bytes.size(), " bytes, got ", size,
           " bytes at offset ", offset, "; the file is damaged or cut off");
    return bytes.subspan(offset, size);
  }

  template <typename Number> Number number(uint64_t offset, const char *what) const {
    Number value = 0;
    const auto from = part(offset, sizeof(Number), what);
    for (size_t n = 0; n < sizeof(Number); ++n)
      value |= static_cast<Number>(std::to_integer<uint64_t>(from[n]) << (8 * n));
    return value;
  }

  std::string string(uint64_t offset) const {
    const auto *rest = part(offset, 0, "a string").data();
    const uint64_t most = std::min<uint64_t>(bytes.size() - offset, mostStringBytes + 1);
    const auto *begin = reinterpret_cast<const char *>(rest);
    const void *end = most ? std::memchr(begin, 0, most) : nullptr;
    if (!end)
      fail("bundle: expected a string of at most ", mostStringBytes, " bytes at offset ", offset,
           ", got one without an end; the file is damaged or cut off");
    return {begin, static_cast<const char *>(end)};
  }

private:
  std::span<const std::byte> bytes;
};

} // namespace

std::string OffloadBinary::find(std::string_view key) const {
  for (const auto &[name, value] : strings)
    if (name == key)
      return value;
  return "";
}

void writeOffloadBinary(const OffloadBinary &binary, std::vector<std::byte> &file) {
  std::string texts;
  std::vector<uint64_t> offsets;
  const uint64_t pairs = headerBytes + entryBytes;
  const uint64_t textOffset = pairs + binary.strings.size() * pairBytes;
  for (const auto &[key, value] : binary.strings)
    for (const std::string &text : {key, value}) {
      offsets.push_back(textOffset + texts.size());
      texts += text + '\0';
    }
  const uint64_t imageOffset = alignUp(textOffset + texts.size());
  const uint64_t size = alignUp(imageOffset + binary.image.size());

  const size_t begin = file.size();
  for (const unsigned char byte : magic)
    file.push_back(std::byte{byte});
  put(file, version);
  put(file, size);
  put(file, headerBytes);
  put(file, entryBytes);
  put(file, binary.kind);
  put(file, binary.producer);
  put(file, binary.flags);
  put(file, pairs);
  put(file, uint64_t(binary.strings.size()));
  put(file, imageOffset);
  put(file, uint64_t(binary.image.size()));
  for (const uint64_t offset : offsets)
    put(file, offset);
  const auto textBytes = std::as_bytes(std::span(texts));
  file.insert(file.end(), textBytes.begin(), textBytes.end());
  file.resize(begin + imageOffset);
  file.insert(file.end(), binary.image.begin(), binary.image.end());
  file.resize(begin + size);
}

bool isOffloadBinary(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof(magic) && std::memcmp(bytes.data(), magic, sizeof(magic)) == 0;
}

std::pair<OffloadBinary, size_t> readOffloadBinary(std::span<const std::byte> bytes) {
  if (!isOffloadBinary(bytes))
    fail("bundle: expected an offload binary, got other bytes; was it written by flashc?");
  const Reader file(bytes);
  if (const auto found = file.number<uint32_t>(4, "a header"); found != version)
    fail("bundle: expected version ", version, " of offload binaries, got ", found,
         "; compile the bundle with this version of flashc");
  const auto size = file.number<uint64_t>(8, "a header");
  if (size < headerBytes + entryBytes || size % alignment != 0)
    fail("bundle: expected a size that is a multiple of ", alignment, ", got ", size,
         "; the file is damaged");
  const Reader own(file.part(0, size, "an image and its description"));
  const auto entry = own.number<uint64_t>(16, "a header");
  own.part(entry, std::max(entryBytes, own.number<uint64_t>(24, "a header")), "an entry");

  OffloadBinary binary;
  binary.kind = own.number<uint16_t>(entry, "an entry");
  binary.producer = own.number<uint16_t>(entry + 2, "an entry");
  binary.flags = own.number<uint32_t>(entry + 4, "an entry");
  const auto pairs = own.number<uint64_t>(entry + 8, "an entry");
  const auto count = own.number<uint64_t>(entry + 16, "an entry");
  if (count > mostStrings)
    fail("bundle: expected at most ", mostStrings, " strings of an image, got ", count,
         "; the file is damaged");
  own.part(pairs, count * pairBytes, "a table of strings");
  for (uint64_t n = 0; n < count; ++n)
    binary.strings.emplace_back(
        own.string(own.number<uint64_t>(pairs + n * pairBytes, "a table of strings")),
        own.string(own.number<uint64_t>(pairs + n * pairBytes + 8, "a table of strings")));
  binary.image = own.part(own.number<uint64_t>(entry + 24, "an entry"),
                          own.number<uint64_t>(entry + 32, "an entry"), "an image");
  return {std::move(binary), size};
}

} // namespace flashc
