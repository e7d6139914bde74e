//===- OffloadBinary.h - LLVM's container of device code -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One image with its metadata, in the layout of version 1 of LLVM's offload
// binaries, which llvm-offload-binary and llvm-objdump --offloading read. All
// numbers are little-endian, all offsets count from the beginning:
//
//   header  0: magic 10 ff 10 ad   4: version   8: size of all   16: offset, 24: size of the entry
//   entry   0: image kind (u16)   2: producer (u16)   4: flags (u32)
//           8: offset, 16: number of the strings   24: offset, 32: size of the image
//   strings pairs of offsets: of a key, of its value; both end with a zero byte
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_BUNDLE_OFFLOADBINARY_H
#define FLASHC_RUNTIME_BUNDLE_OFFLOADBINARY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flashc {

struct OffloadBinary {
  enum Kind : uint16_t { Object = 1, Cubin = 3, PTX = 5 };
  enum Producer : uint16_t { None = 0, Cuda = 2 };

  uint16_t kind = Object; ///< as the file says: not only those of Kind
  uint16_t producer = None;
  uint32_t flags = 0;
  std::vector<std::pair<std::string, std::string>> strings;
  std::span<const std::byte> image; ///< not owned

  /// The value of `key`, or "".
  std::string find(std::string_view key) const;
};

/// Appends `binary` to `file`, whose size is a multiple of 8 and stays one.
void writeOffloadBinary(const OffloadBinary &binary, std::vector<std::byte> &file);

/// Whether `bytes` begin as an offload binary does.
bool isOffloadBinary(std::span<const std::byte> bytes);

/// Reads the binary at the beginning of `bytes`, and how many bytes it has; the image is a part of
/// `bytes`. Any bytes will do: throws Error where they are not such a binary.
std::pair<OffloadBinary, size_t> readOffloadBinary(std::span<const std::byte> bytes);

} // namespace flashc

#endif // FLASHC_RUNTIME_BUNDLE_OFFLOADBINARY_H
