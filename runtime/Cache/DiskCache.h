//===- DiskCache.h - results of compilations, kept on disk -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One file per key. Any number of processes and threads may share a folder,
// and may be killed at any time: a file appears whole or not at all, and what
// is read is checked. The cache never makes a computation fail: a folder that
// cannot be written to is a slower one.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CACHE_DISKCACHE_H
#define FLASHC_RUNTIME_CACHE_DISKCACHE_H

#include "runtime/Cache/CacheEntry.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flashc {

/// A number of bytes with a suffix K, M or G, or none. Throws Error, which begins with `what`.
uint64_t parseCacheSize(const std::string &what, const std::string &text);

class DiskCache {
public:
  using Bytes = std::vector<std::byte>;

  /// The cache in `directory` (made when first needed; "": no cache), which holds at most
  /// `maxBytes` (0: no cache).
  DiskCache(std::string directory, uint64_t maxBytes);

  /// The user's cache: the folder FLASHC_CACHE_DIR, else $XDG_CACHE_HOME/flashc, else
  /// ~/.cache/flashc, else none; FLASHC_CACHE_SIZE bytes (suffixes K, M, G), else 1 GiB. Reads the
  /// environment on every call. Throws Error for a size that is none.
  static DiskCache fromEnvironment();

  /// The same for those who compile: a size that is none is noted on standard error once, and there is no cache.
  static DiskCache ofUser();

  /// What is stored under `key` (32 hexadecimal digits), or what `make` gives, which is stored
  /// under it with `description` (one line, for people). Processes that ask at once wait for one
  /// of them to make it. Throws only what `make` throws.
  Bytes get(const std::string &key, const std::string &description,
            const std::function<Bytes()> &make) const;

  /// What is stored under `key`. A bad file is removed.
  std::optional<Bytes> find(const std::string &key) const;

  /// Stores `bytes` under `key` and makes room for it. Returns why that failed, "" where it did not.
  std::string store(const std::string &key, const std::string &description,
                    std::span<const std::byte> bytes) const;

  /// An entry as the folder shows it.
  struct Listed {
    std::string key, description;
    uint64_t fileBytes = 0;
    int64_t lastUse = 0; ///< seconds since 1970
    std::string problem; ///< "" where the entry is good
  };

  /// All entries, the most recently used first; with `verify` their bytes are read and checked,
  /// else only their headers. Throws Error when the folder cannot be read.
  std::vector<Listed> list(bool verify) const;

  struct Pruned {
    uint64_t files = 0, bytes = 0;         ///< removed
    uint64_t keptFiles = 0, keptBytes = 0; ///< entries that stay
  };

  /// Removes bad entries, what killed processes left, and the least recently used entries until
  /// the rest has at most `bytes` bytes. Throws Error when the folder cannot be read.
  Pruned prune(uint64_t bytes) const;

  const std::string &directory() const { return folder; }
  uint64_t maxBytes() const { return limit; }

private:
  std::string pathOf(const std::string &key) const;
  int write(const std::string &key, std::span<const std::byte> entry) const;
  void makeRoom() const;
  Pruned shrink(uint64_t bytes, bool verify) const;

  std::string folder;
  uint64_t limit;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CACHE_DISKCACHE_H
