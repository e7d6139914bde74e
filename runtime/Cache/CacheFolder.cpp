//===- CacheFolder.cpp - the folder of a cache -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/CacheFolder.h"
#include "runtime/Cache/CacheEntry.h"
#include "runtime/Support/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace flashc {
namespace {

/// What the file `name` is to the cache; nothing where it is not the cache's.
std::optional<CacheFile> classify(const std::string &name) {
  if (name == std::string("evict") + lockSuffix)
    return CacheFile{CacheFile::Lock, "", "evict", 0, {}};
  const std::string key = name.substr(0, cacheKeyDigits);
  if (!isCacheKey(key))
    return std::nullopt;
  const std::string rest = name.substr(cacheKeyDigits);
  if (rest == entrySuffix)
    return CacheFile{CacheFile::Entry, "", key, 0, {}};
  if (rest == lockSuffix)
    return CacheFile{CacheFile::Lock, "", key, 0, {}};
  if (rest.starts_with(temporaryInfix))
    return CacheFile{CacheFile::Temporary, "", key, 0, {}};
  return std::nullopt;
}

struct CloseFolder {
  void operator()(DIR *folder) const { ::closedir(folder); }
};

} // namespace

std::string cacheFolderOfUser() {
  // Not for programs with more rights than their caller.
  if (const char *named = secure_getenv("FLASHC_CACHE_DIR"); named && *named)
    return named;
  // The specification of XDG_CACHE_HOME has relative paths ignored.
  if (const char *caches = secure_getenv("XDG_CACHE_HOME"); caches && *caches == '/')
    return std::string(caches) + "/flashc";
  if (const char *home = secure_getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.cache/flashc";
  return "";
}

bool isPrivateEnough(const std::string &folder) {
  struct stat status = {};
  return ::stat(folder.c_str(), &status) != 0 || !(status.st_mode & S_IWOTH);
}

std::string makeCacheFolder(const std::string &folder) {
  std::error_code error;
  const std::filesystem::path path(folder);
  if (!std::filesystem::exists(path, error)) {
    if (path.has_parent_path())
      std::filesystem::create_directories(path.parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return std::strerror(errno);
  }
  if (!std::filesystem::is_directory(path, error))
    return "not a folder";
  if (!isPrivateEnough(folder))
    return "anyone may write to this folder, and what is kept in it is code";
  return "";
}

std::vector<CacheFile> listCacheFolder(const std::string &folder) {
  std::vector<CacheFile> files;
  const std::unique_ptr<DIR, CloseFolder> opened(::opendir(folder.c_str()));
  if (!opened) {
    if (errno == ENOENT)
      return files;
    fail(folder, ": expected a folder that can be read, got \"", std::strerror(errno),
         "\"; check FLASHC_CACHE_DIR and the folder's permissions");
  }
  while (const dirent *item = ::readdir(opened.get())) {
    std::optional<CacheFile> file = classify(item->d_name);
    struct stat status = {};
    if (!file ||
        ::fstatat(::dirfd(opened.get()), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode))
      continue;
    file->path = folder + '/' + item->d_name;
    file->bytes = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
    file->time = status.st_mtim;
    files.push_back(std::move(*file));
  }
  return files;
}

uint64_t countCacheBytes(const std::string &folder) try {
  uint64_t bytes = 0;
  for (const CacheFile &file : listCacheFolder(folder))
    bytes += file.bytes;
  return bytes;
} catch (const Error &) {
  return 0;
}

} // namespace flashc
