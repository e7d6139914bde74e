//===- TestFiles.h - helpers of the array file tests -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Builds .npy, zip and .safetensors bytes by hand, so that tests can damage
// any field, and a scratch directory that is gone after the test.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_IO_TESTFILES_H
#define FLASHC_TEST_UNIT_IO_TESTFILES_H

#include "runtime/Support/HostArray.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <zlib.h>

namespace flashc::test {

inline std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

/// The low `count` bytes of `value`, little-endian.
inline std::string le(uint64_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

/// The object representation of `values`, one after another.
template <typename T> std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T)};
}

/// A .npy of version `major` with the given header text and data.
inline std::string npy(const std::string &header, const std::string &data, int major = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' +
         le(header.size(), major == 1 ? 2 : 4) + header + data;
}

inline std::string npyOf(const std::string &descr, const std::string &shape,
                         const std::string &data, bool fortran = false) {
  return npy("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                 ", 'shape': " + shape + ", }\n",
             data);
}

inline std::string safeTensors(const std::string &header, const std::string &data) {
  return le(header.size(), 8) + header + data;
}

/// One zip entry; every field can be made to lie.
struct ZipEntry {
  std::string name;
  std::string content; // before packing
  bool deflate = false;
  int flags = 0;
  int method = -1;               // -1: as packed
  int64_t declaredInflated = -1; // -1: the truth
  int64_t declaredCompressed = -1;
  bool breakCrc = false;
};

inline std::string deflated(const std::string &content) {
  std::string packed(content.size() + content.size() / 100 + 100, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string zip(const std::vector<ZipEntry> &entries) {
  std::string file, directory;
  for (const ZipEntry &entry : entries) {
    const std::string packed = entry.deflate ? deflated(entry.content) : entry.content;
    const uLong crc = crc32(0, reinterpret_cast<const Bytef *>(entry.content.data()),
                            static_cast<uInt>(entry.content.size())) ^
                      (entry.breakCrc ? 1 : 0);
    const int method = entry.method >= 0 ? entry.method : entry.deflate ? 8 : 0;
    const uint64_t compressed =
        entry.declaredCompressed >= 0 ? entry.declaredCompressed : packed.size();
    const uint64_t inflated =
        entry.declaredInflated >= 0 ? entry.declaredInflated : entry.content.size();
    const std::string common = le(20, 2) + le(entry.flags, 2) + le(method, 2) + le(0, 4) +
                               le(crc, 4) + le(compressed, 4) + le(inflated, 4) +
                               le(entry.name.size(), 2) + le(0, 2);
    directory += "PK\1\2" + le(20, 2) + common + le(0, 2) + le(0, 2) + le(0, 2) + le(0, 4) +
                 le(file.size(), 4) + entry.name;
    file += "PK\3\4" + common + entry.name + packed;
  }
  return file + directory + "PK\5\6" + le(0, 2) + le(0, 2) + le(entries.size(), 2) +
         le(entries.size(), 2) + le(directory.size(), 4) + le(file.size(), 4) + le(0, 2);
}

/// Expects `action` to throw an Error whose message has every one of `parts` and the
/// "expected ..., got ...; remedy" form.
template <typename Action>
void expectError(Action action, std::initializer_list<std::string> parts) {
  try {
    action();
    ADD_FAILURE() << "expected an error with " << *parts.begin();
  } catch (const Error &error) {
    const std::string message = error.what();
    for (const std::string &part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " not in: " << message;
    const size_t expected = message.find("expected "), got = message.find(", got ");
    EXPECT_LT(expected, got) << message;
    EXPECT_NE(message.find("; ", got), std::string::npos) << message;
    for (const char c : message)
      EXPECT_TRUE(c >= ' ' && c <= '~') << message;
  }
}

/// A fresh directory, removed with all in it at the end.
class ScratchDirectory {
public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "flashc-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ScratchDirectory(const ScratchDirectory &) = delete;
  ScratchDirectory &operator=(const ScratchDirectory &) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(root); }

  std::string path(const std::string &name) const { return (root / name).string(); }

  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  size_t fileCount() const { return std::distance(std::filesystem::directory_iterator(root), {}); }

private:
  std::filesystem::path root;
};

/// The elements as doubles.
inline std::vector<double> valuesOf(const HostArray &array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.numElements(); ++i)
    values.push_back(array.at(i));
  return values;
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_IO_TESTFILES_H
