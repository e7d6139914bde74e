//===- Npz.cpp - NumPy .npz archives -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The zip format is minizip's; this file gives it a ByteSource to read from and
// checks what it does not: encryption, duplicates, overlaps and bombs.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Npz.h"

#include "runtime/IO/Messages.h"
#include "runtime/IO/Npy.h"

#include <algorithm>
#include <minizip/unzip.h>
#include <unordered_map>
#include <utility>

namespace flashc {
namespace {

// Deflate cannot exceed 1032:1; the rest covers the empty stream.
constexpr uint64_t kMaxRatio = 1032;
constexpr uint64_t kRatioSlack = 1 << 12;
constexpr uint64_t kMaxEntries = 1 << 20;

/// The position that minizip's callbacks keep over a source. They are C callbacks: failures are
/// return values, never exceptions.
struct Cursor {
  std::shared_ptr<const ByteSource> source;
  uint64_t position = 0;
  bool readFailed = false; // the last read was short; minizip takes that for zeros otherwise
};

Cursor &cursorOf(voidpf stream) { return *static_cast<Cursor *>(stream); }

voidpf openCursor(voidpf opaque, const void *, int) {
  cursorOf(opaque).position = 0;
  return opaque;
}

uLong readCursor(voidpf, voidpf stream, void *buffer, uLong size) {
  Cursor &cursor = cursorOf(stream);
  const uint64_t total = cursor.source->size();
  const uint64_t rest = cursor.position < total ? total - cursor.position : 0;
  const uint64_t count = std::min<uint64_t>(size, rest);
  cursor.readFailed = count != size;
  try {
    cursor.source->readAt(cursor.position, {static_cast<std::byte *>(buffer), count});
  } catch (...) {
    cursor.readFailed = true;
    return 0;
  }
  cursor.position += count;
  return count;
}

uLong writeCursor(voidpf, voidpf, const void *, uLong) { return 0; }

ZPOS64_T tellCursor(voidpf, voidpf stream) { return cursorOf(stream).position; }

long seekCursor(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  Cursor &cursor = cursorOf(stream);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? cursor.position
                        : origin == ZLIB_FILEFUNC_SEEK_END ? cursor.source->size()
                                                           : 0;
  uint64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target > cursor.source->size())
    return -1;
  cursor.position = target;
  return 0;
}

int closeCursor(voidpf, voidpf) { return 0; }
int cursorError(voidpf, voidpf stream) { return cursorOf(stream).readFailed; }

struct Entry {
  unz64_file_pos position = {};
  uint64_t inflatedBytes = 0;
};

/// The open current entry of a zip as a stream.
class EntryStream final : public ByteStream {
public:
  EntryStream(unzFile zip, std::string name, uint64_t size)
      : zip(zip), streamName(std::move(name)), rest(size) {
    if (unzOpenCurrentFile(zip) != UNZ_OK)
      failDamaged("a local header that agrees with the directory");
  }
  EntryStream(const EntryStream &) = delete;
  EntryStream &operator=(const EntryStream &) = delete;
  ~EntryStream() override {
    if (zip)
      unzCloseCurrentFile(zip);
  }

  std::string name() const override { return streamName; }
  uint64_t remaining() const override { return rest; }

  void read(std::span<std::byte> out) override {
    if (out.size() > rest)
      fail(streamName, ": expected ", out.size(), " more bytes, got ", rest,
           "; the array is truncated, write the archive again");
    constexpr size_t largest = size_t(1) << 30; // counts are int in minizip
    while (!out.empty()) {
      const int got =
          unzReadCurrentFile(zip, out.data(), static_cast<unsigned>(std::min(out.size(), largest)));
      if (got <= 0)
        failDamaged(concat(rest, " more bytes"));
      out = out.subspan(static_cast<size_t>(got));
      rest -= static_cast<uint64_t>(got);
    }
  }

  /// Checks the checksum; everything must have been read.
  void finish() {
    const unzFile closing = std::exchange(zip, nullptr);
    if (unzCloseCurrentFile(closing) != UNZ_OK)
      failDamaged("data that matches its CRC-32");
  }

private:
  [[noreturn]] void failDamaged(const std::string &expected) const {
    fail(streamName, ": expected ", expected,
         ", got damaged or truncated data; write the archive again with numpy.savez");
  }

  unzFile zip;
  std::string streamName;
  uint64_t rest;
};

} // namespace

struct NpzFile::Impl {
  Cursor cursor;
  unzFile zip = nullptr;
  std::vector<std::string> names;
  std::unordered_map<std::string, Entry> entries;

  explicit Impl(std::shared_ptr<const ByteSource> source) : cursor{std::move(source)} {}
  Impl(const Impl &) = delete;
  Impl &operator=(const Impl &) = delete;
  ~Impl() {
    if (zip)
      unzClose(zip);
  }

  const std::string &file() const { return cursor.source->name(); }

  [[noreturn]] void failDirectory() const {
    fail(file(), ": expected a zip archive with entries and a complete directory, got an empty, "
                 "damaged or truncated "
                 "one; write it again with numpy.savez");
  }

  void open() {
    zlib_filefunc64_def functions = {};
    functions.zopen64_file = openCursor;
    functions.zread_file = readCursor;
    functions.zwrite_file = writeCursor;
    functions.ztell64_file = tellCursor;
    functions.zseek64_file = seekCursor;
    functions.zclose_file = closeCursor;
    functions.zerror_file = cursorError;
    functions.opaque = &cursor;
    zip = unzOpen2_64(file().c_str(), &functions);
    unz_global_info64 info = {};
    if (!zip || unzGetGlobalInfo64(zip, &info) != UNZ_OK)
      failDirectory();
    if (info.number_entry > kMaxEntries)
      fail(file(), ": expected at most ", kMaxEntries, " entries, got ", info.number_entry,
           "; split the archive");
  }

  void readDirectory(const ReadLimits &limits) {
    unz_global_info64 info = {};
    unzGetGlobalInfo64(zip, &info);
    uint64_t packed = 0, inflated = 0;
    for (uint64_t i = 0; i < info.number_entry; ++i) {
      if ((i == 0 ? unzGoToFirstFile(zip) : unzGoToNextFile(zip)) != UNZ_OK)
        failDirectory();
      unz_file_info64 entry = {};
      if (unzGetCurrentFileInfo64(zip, &entry, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
        failDirectory();
      std::string name(entry.size_filename, '\0');
      if (unzGetCurrentFileInfo64(zip, &entry, name.data(), name.size(), nullptr, 0, nullptr, 0) !=
          UNZ_OK)
        failDirectory();
      checkEntry(entry, name);
      if (__builtin_add_overflow(packed, entry.compressed_size, &packed) ||
          packed > cursor.source->size())
        fail(file(), ": expected entries that fit the file's ", cursor.source->size(),
             " bytes, got more or overlapping ones; write it again with numpy.savez");
      if (__builtin_add_overflow(inflated, entry.uncompressed_size, &inflated) ||
          inflated > limits.maxInflatedBytes)
        fail(file(), ": expected at most ", limits.maxInflatedBytes,
             " bytes of inflated data, got more; split the archive");
      addEntry(std::move(name), entry.uncompressed_size);
    }
  }

  void checkEntry(const unz_file_info64 &entry, const std::string &name) const {
    constexpr unsigned encrypted = 1, stored = 0, deflated = 8;
    if (entry.flag & encrypted)
      fail(file(), ": expected plain entries, got the encrypted ", printable(name),
           "; write it without a password");
    if (entry.compression_method != stored && entry.compression_method != deflated)
      fail(file(), ": expected stored or deflated entries, got compression method ",
           entry.compression_method, " for ", printable(name),
           "; write it with numpy.savez or numpy.savez_compressed");
    const uint64_t packed = entry.compressed_size, inflated = entry.uncompressed_size;
    const bool possible =
        entry.compression_method == stored
            ? packed == inflated
            : inflated <= kRatioSlack || (inflated - kRatioSlack) / kMaxRatio <= packed;
    if (!possible)
      fail(file(), ": expected a size that ", packed, " packed bytes can hold, got ", inflated,
           " for ", printable(name), "; the archive is damaged or hostile, write it again");
  }

  void addEntry(std::string name, uint64_t inflatedBytes) {
    constexpr std::string_view extension = ".npy";
    if (!name.ends_with(extension))
      return;
    name.resize(name.size() - extension.size());
    Entry entry;
    entry.inflatedBytes = inflatedBytes;
    if (unzGetFilePos64(zip, &entry.position) != UNZ_OK)
      failDirectory();
    if (!entries.emplace(name, entry).second)
      fail(file(), ": expected one array named ", printable(name),
           ", got two; give every array its own name");
    names.push_back(std::move(name));
  }
};

NpzFile::NpzFile(std::shared_ptr<const ByteSource> source, const ReadLimits &limits)
    : impl(std::make_unique<Impl>(std::move(source))) {
  impl->open();
  impl->readDirectory(limits);
}

NpzFile::NpzFile(NpzFile &&) noexcept = default;
NpzFile &NpzFile::operator=(NpzFile &&) noexcept = default;
NpzFile::~NpzFile() = default;

const std::vector<std::string> &NpzFile::names() const { return impl->names; }

bool NpzFile::contains(const std::string &name) const { return impl->entries.contains(name); }

HostArray NpzFile::read(const std::string &name) const {
  const auto found = impl->entries.find(name);
  if (found == impl->entries.end())
    failMissingArray(impl->file(), name, impl->names);
  unz64_file_pos position = found->second.position;
  if (unzGoToFilePos64(impl->zip, &position) != UNZ_OK)
    impl->failDirectory();
  EntryStream stream(impl->zip, concat(impl->file(), ": array ", printable(name)),
                     found->second.inflatedBytes);
  HostArray array = readNpy(stream);
  stream.finish();
  return array;
}

} // namespace flashc
