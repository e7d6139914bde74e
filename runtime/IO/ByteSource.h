//===- ByteSource.h - bounded reads from files and buffers -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What the array readers read from: a regular file or a memory buffer of known
// size, read at any offset (ByteSource), and a sequential view with a known
// number of remaining bytes (ByteStream), so that every declared size can be
// checked against the real one before anything is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_BYTESOURCE_H
#define FLASHC_RUNTIME_IO_BYTESOURCE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flashc {

/// Sizes in bytes beyond which the readers refuse before reading.
struct ReadLimits {
  /// The largest file.
  uint64_t maxFileBytes = uint64_t(64) << 30;
  /// The largest sum of the inflated sizes of all entries of one .npz.
  uint64_t maxInflatedBytes = uint64_t(64) << 30;
};

/// Random access to a file or buffer whose size is fixed. Not thread-safe to destroy while
/// reading; concurrent reads are fine.
class ByteSource {
public:
  virtual ~ByteSource() = default;

  /// Opens the regular file `path`. Throws Error when it cannot be opened, is no regular file
  /// or is larger than `limits.maxFileBytes`.
  static std::shared_ptr<const ByteSource> openFile(const std::string &path,
                                                    const ReadLimits &limits = {});

  /// A source over `bytes`, which must outlive it; `name` stands for the file in messages.
  static std::shared_ptr<const ByteSource>
  fromMemory(std::span<const std::byte> bytes, std::string name, const ReadLimits &limits = {});

  const std::string &name() const { return sourceName; }
  uint64_t size() const { return byteCount; }

  /// Fills `out` from `offset`; throws Error when that is not all inside the source.
  void readAt(uint64_t offset, std::span<std::byte> out) const;

protected:
  ByteSource(std::string name, uint64_t size) : sourceName(std::move(name)), byteCount(size) {}
  virtual void readChecked(uint64_t offset, std::span<std::byte> out) const = 0;

private:
  std::string sourceName;
  uint64_t byteCount;
};

/// Sequential reading of a declared number of bytes.
class ByteStream {
public:
  virtual ~ByteStream() = default;

  /// What messages call this stream: the file, and the entry inside an archive.
  virtual std::string name() const = 0;
  /// Bytes not read yet.
  virtual uint64_t remaining() const = 0;
  /// Fills `out`; throws Error when the stream ends early or is damaged.
  virtual void read(std::span<std::byte> out) = 0;
};

/// The bytes [offset, offset + size) of a source as a stream.
class SourceStream final : public ByteStream {
public:
  SourceStream(const ByteSource &source, uint64_t offset, uint64_t size)
      : source(source), position(offset), rest(size) {}
  explicit SourceStream(const ByteSource &source) : SourceStream(source, 0, source.size()) {}

  std::string name() const override { return source.name(); }
  uint64_t remaining() const override { return rest; }
  void read(std::span<std::byte> out) override;

private:
  const ByteSource &source;
  uint64_t position;
  uint64_t rest;
};

/// Reads `size` bytes, growing the result only as they arrive, so that a stream that lies about
/// its length costs no more memory than it delivers. Throws Error when memory runs out.
std::vector<std::byte> readBytes(ByteStream &in, uint64_t size);

/// A zeroed buffer of `size` bytes for the data of `name`; throws Error when memory runs out.
std::vector<std::byte> allocateBytes(uint64_t size, const std::string &name);

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_BYTESOURCE_H
