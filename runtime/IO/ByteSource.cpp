//===- ByteSource.cpp - bounded reads from files and buffers -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Files are read with pread and not mapped: a file cut short by somebody else
// while it is read must give an error, not a signal.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/ByteSource.h"

#include "runtime/Support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace flashc {
namespace {

constexpr size_t kChunkBytes = size_t(4) << 20;

void checkSize(const std::string &name, uint64_t size, const ReadLimits &limits) {
  if (size > limits.maxFileBytes)
    fail(name, ": expected at most ", limits.maxFileBytes, " bytes, got ", size,
         "; split the file or store a smaller type");
}

class FileSource final : public ByteSource {
public:
  FileSource(std::string name, uint64_t size, int descriptor)
      : ByteSource(std::move(name), size), descriptor(descriptor) {}
  FileSource(const FileSource &) = delete;
  FileSource &operator=(const FileSource &) = delete;
  ~FileSource() override { ::close(descriptor); }

protected:
  void readChecked(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        fail(name(), ": expected to read ", out.size(), " bytes at offset ", offset, ", got \"",
             std::strerror(errno), "\"; check the file and its disk");
      if (got == 0)
        fail(name(), ": expected ", size(), " bytes, got only ", offset,
             "; the file was cut while it was read, read it again once it is complete");
      offset += static_cast<uint64_t>(got);
      out = out.subspan(static_cast<size_t>(got));
    }
  }

private:
  int descriptor;
};

class MemorySource final : public ByteSource {
public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name), bytes.size()), bytes(bytes) {}

protected:
  void readChecked(uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty())
      std::memcpy(out.data(), bytes.data() + offset, out.size());
  }

private:
  std::span<const std::byte> bytes;
};

[[noreturn]] void failMemory(const std::string &name, uint64_t size) {
  fail(name, ": expected room for ", size,
       " bytes, got none from the system; free memory or use a smaller array");
}

} // namespace

std::shared_ptr<const ByteSource> ByteSource::openFile(const std::string &path,
                                                       const ReadLimits &limits) {
  // Without O_NONBLOCK the open of a named pipe would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    const int code = errno;
    if (descriptor >= 0)
      ::close(descriptor);
    fail(path, ": expected a readable file, got \"", std::strerror(code),
         "\"; check the path and its permissions");
  }
  const auto source = std::make_shared<const FileSource>(
      path, static_cast<uint64_t>(status.st_size), descriptor); // closes when anything throws
  if (!S_ISREG(status.st_mode))
    fail(path, ": expected a regular file, got a ",
         S_ISDIR(status.st_mode) ? "directory" : "device, pipe or socket",
         "; save the array to a file first");
  checkSize(path, source->size(), limits);
  return source;
}

std::shared_ptr<const ByteSource> ByteSource::fromMemory(std::span<const std::byte> bytes,
                                                         std::string name,
                                                         const ReadLimits &limits) {
  checkSize(name, bytes.size(), limits);
  return std::make_shared<const MemorySource>(std::move(name), bytes);
}

void ByteSource::readAt(uint64_t offset, std::span<std::byte> out) const {
  if (offset > byteCount || out.size() > byteCount - offset)
    fail(sourceName, ": expected ", out.size(), " bytes at offset ", offset, ", got a file of ",
         byteCount, " bytes; the file is truncated, write it again");
  readChecked(offset, out);
}

void SourceStream::read(std::span<std::byte> out) {
  if (out.size() > rest)
    fail(source.name(), ": expected ", out.size(), " more bytes, got ", rest,
         "; the file is truncated, write it again");
  source.readAt(position, out);
  position += out.size();
  rest -= out.size();
}

std::vector<std::byte> readBytes(ByteStream &in, uint64_t size) {
  std::vector<std::byte> data;
  if (size > in.remaining())
    fail(in.name(), ": expected ", size, " more bytes, got ", in.remaining(),
         "; the file is truncated, write it again");
  try {
    data.reserve(size); // reserved address space; pages come as the chunks below are read
    while (data.size() < size) {
      const size_t start = data.size();
      const size_t count = std::min<uint64_t>(kChunkBytes, size - start);
      data.resize(start + count);
      in.read(std::span(data).subspan(start, count));
    }
  } catch (const std::bad_alloc &) {
    failMemory(in.name(), size);
  } catch (const std::length_error &) {
    failMemory(in.name(), size);
  }
  return data;
}

std::vector<std::byte> allocateBytes(uint64_t size, const std::string &name) {
  try {
    return std::vector<std::byte>(size);
  } catch (const std::bad_alloc &) {
    failMemory(name, size);
  } catch (const std::length_error &) {
    failMemory(name, size);
  }
}

} // namespace flashc
