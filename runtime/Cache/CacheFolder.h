//===- CacheFolder.h - the folder of a cache -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Where it is, whether it can be trusted, and which files in it are the cache's.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CACHE_CACHEFOLDER_H
#define FLASHC_RUNTIME_CACHE_CACHEFOLDER_H

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace flashc {

constexpr const char *entrySuffix = ".entry";
constexpr const char *lockSuffix = ".lock";
constexpr const char *temporaryInfix = ".tmp-";

/// FLASHC_CACHE_DIR, else $XDG_CACHE_HOME/flashc, else ~/.cache/flashc, else "".
std::string cacheFolderOfUser();

/// False for a folder that anyone may write to: what is loaded from it is code.
bool isPrivateEnough(const std::string &folder);

/// Makes the folder, for its owner alone, where it is missing. Returns why it cannot be used, ""
/// where it can.
std::string makeCacheFolder(const std::string &folder);

/// One of the cache's files.
struct CacheFile {
  enum Kind { Entry, Temporary, Lock };
  Kind kind = Entry;
  std::string path, key; ///< the key is "evict" for that lock
  uint64_t bytes = 0;
  timespec time = {}; ///< of the last use or write
};

/// The cache's files in `folder`, in no order; none where there is no folder. Throws Error when it
/// cannot be read.
std::vector<CacheFile> listCacheFolder(const std::string &folder);

/// The bytes of all of the cache's files; 0 where the folder cannot be read.
uint64_t countCacheBytes(const std::string &folder);

} // namespace flashc

#endif // FLASHC_RUNTIME_CACHE_CACHEFOLDER_H
