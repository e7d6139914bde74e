//===- DiskCache.cpp - results of compilations, kept on disk -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Files in the folder: KEY.entry; KEY.tmp-PID-N, locked by the process that
// writes it; KEY.lock, held by the process that makes the entry; evict.lock.
// Other files are left alone.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/DiskCache.h"
#include "runtime/Cache/CacheFolder.h"
#include "runtime/Cache/FileLock.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace flashc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t defaultBytes = uint64_t(1) << 30;
/// A process that waits so long for another's result makes its own: the other may be stopped.
constexpr std::chrono::seconds makerPatience{120};
constexpr std::chrono::seconds evictPatience{5};

/// A process says once that its cache does not work; compilations go on without it.
void noteOnce(const std::string &folder, const std::string &why) {
  static std::atomic_flag said;
  if (!said.test_and_set())
    std::fprintf(stderr,
                 "flashc: note: %s: compiled kernels are not kept (%s); check FLASHC_CACHE_DIR and "
                 "FLASHC_CACHE_SIZE, or set the latter to 0\n",
                 folder.c_str(), why.c_str());
}

/// A file descriptor, closed however the scope ends.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  const int number;
};

/// Reads up to `size` bytes from the start; less where the file ends, nothing on an error.
std::optional<DiskCache::Bytes> readUpTo(int descriptor, uint64_t size) {
  DiskCache::Bytes bytes(size);
  size_t got = 0;
  while (got < size) {
    const ssize_t count = ::pread(descriptor, bytes.data() + got, size - got, off_t(got));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return std::nullopt;
    if (count == 0)
      break;
    got += static_cast<size_t>(count);
  }
  bytes.resize(got);
  return bytes;
}

/// Writes everything and has it reach the disk; returns 0 or the error code.
int writeDurably(int descriptor, std::span<const std::byte> bytes) {
  // Past a limit on file sizes write() also sends SIGXFSZ, which ends a process that does not
  // expect it. The error code is enough.
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  int code = 0;
  while (!bytes.empty() && !code) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put >= 0)
      bytes = bytes.subspan(static_cast<size_t>(put));
    else if (errno != EINTR)
      code = errno;
  }
  if (code == EFBIG && !sigismember(&before, SIGXFSZ)) {
    const timespec now = {0, 0};
    sigtimedwait(&signals, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!code && ::fsync(descriptor) != 0)
    code = errno;
  return code;
}

/// Takes `lock`, waiting for at most `patience` while `goOn` says so.
template <typename GoOn>
FileLock::Result acquire(FileLock &lock, const std::string &path, std::chrono::seconds patience,
                         GoOn goOn) {
  const auto end = Clock::now() + patience;
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    const FileLock::Result result = lock.tryAcquire(path);
    if (result != FileLock::Result::Busy || Clock::now() >= end || !goOn())
      return result;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
}

} // namespace

uint64_t parseCacheSize(const std::string &what, const std::string &text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string suffix = text.substr(digits);
  const size_t unit = std::string("KMG").find(suffix) + 1; // "" is found at 0 too
  const int shift = suffix.empty() ? 0 : 10 * static_cast<int>(unit);
  errno = 0;
  const unsigned long long value = digits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (!digits || errno || suffix.size() > 1 || (!suffix.empty() && unit == 0) ||
      value > (~0ull >> 1) >> shift)
    fail(what, ": expected a number of bytes, such as 512M, got '", text.substr(0, 100),
         "'; leave it out for the default, 1G");
  return value << shift;
}

DiskCache::DiskCache(std::string directory, uint64_t maxBytes)
    : folder(std::move(directory)), limit(folder.empty() ? 0 : maxBytes) {}

DiskCache DiskCache::fromEnvironment() {
  // Not for programs with more rights than their caller.
  const char *size = secure_getenv("FLASHC_CACHE_SIZE");
  return DiskCache(cacheFolderOfUser(),
                   size && *size ? parseCacheSize("FLASHC_CACHE_SIZE", size) : defaultBytes);
}

DiskCache DiskCache::ofUser() {
  try {
    return fromEnvironment();
  } catch (const Error &error) {
    static std::atomic_flag said;
    if (!said.test_and_set())
      std::fprintf(stderr, "flashc: note: compiled kernels are not kept: %s\n", error.what());
    return DiskCache("", 0);
  }
}

std::string DiskCache::pathOf(const std::string &key) const {
  return folder + '/' + key + entrySuffix;
}

std::optional<DiskCache::Bytes> DiskCache::find(const std::string &key) const {
  if (limit == 0 || !isCacheKey(key) || !isPrivateEnough(folder))
    return std::nullopt;
  const std::string path = pathOf(key);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  std::optional<Bytes> head = readUpTo(file.number, cacheHeaderBytes);
  if (!head)
    return std::nullopt;
  const CacheHeader header = readCacheHeader(*head, size, key);
  std::optional<Bytes> bytes;
  // The header vouches for the length: a huge foreign file is not read into memory.
  if (header.problem.empty() && size <= limit) {
    bytes = readUpTo(file.number, size);
    if (!bytes)
      return std::nullopt;
  }
  if (!bytes || !checkCacheEntry(*bytes, key).empty()) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  ::futimens(file.number, nullptr); // the time of its last use; fails in a read-only folder
  bytes->erase(bytes->begin(),
               bytes->begin() + static_cast<ptrdiff_t>(cacheHeaderBytes + header.descriptionBytes));
  return bytes;
}

std::string DiskCache::store(const std::string &key, const std::string &description,
                             std::span<const std::byte> bytes) const {
  if (limit == 0)
    return "there is no cache";
  if (!isCacheKey(key))
    return "not a key: " + key;
  const Bytes entry = writeCacheEntry(key, description, bytes);
  if (entry.size() > limit)
    return concat("a kernel of ", bytes.size(), " bytes is larger than the cache, ", limit);
  if (std::string problem = makeCacheFolder(folder); !problem.empty())
    return problem;
  if (const int code = write(key, entry))
    return std::strerror(code);
  makeRoom();
  return "";
}

int DiskCache::write(const std::string &key, std::span<const std::byte> entry) const {
  static std::atomic<unsigned> counter{0};
  while (true) {
    const std::string temporary =
        concat(folder, '/', key, temporaryInfix, ::getpid(), '-', counter++);
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number < 0 && errno == EEXIST)
      continue; // of a process with our number
    if (file.number < 0)
      return errno;
    // Whoever can lock it later knows that we are gone. A sweep that came before us removed it.
    if (::flock(file.number, LOCK_EX | LOCK_NB) != 0 ? errno == EWOULDBLOCK
                                                     : !isNamed(file.number, temporary))
      continue;
    int code = writeDurably(file.number, entry);
    if (!code && ::rename(temporary.c_str(), pathOf(key).c_str()) != 0)
      code = errno;
    if (code)
      ::unlink(temporary.c_str());
    return code;
  }
}

DiskCache::Bytes DiskCache::get(const std::string &key, const std::string &description,
                                const std::function<Bytes()> &make) const {
  if (std::optional<Bytes> found = find(key))
    return std::move(*found);
  if (limit == 0)
    return make();
  FileLock lock;
  if (makeCacheFolder(folder).empty()) {
    std::optional<Bytes> found;
    const auto isMissing = [&] { return !(found = find(key)); };
    // Also once the lock is ours: its last holder has made what we wait for.
    acquire(lock, folder + '/' + key + lockSuffix, makerPatience, isMissing);
    if (found || !isMissing())
      return std::move(*found);
  }
  Bytes bytes = make();
  if (const std::string problem = store(key, description, bytes); !problem.empty())
    noteOnce(folder, problem);
  return bytes;
}

void DiskCache::makeRoom() const {
  // Stored bytes first: where another process evicts just now, its count may lack ours.
  if (countCacheBytes(folder) <= limit)
    return;
  FileLock lock;
  acquire(lock, folder + "/evict" + lockSuffix, evictPatience, [] { return true; });
  try {
    shrink(limit, false);
  } catch (const Error &) { // an unreadable folder stays as it is
  }
}

std::vector<DiskCache::Listed> DiskCache::list(bool verify) const {
  std::vector<Listed> entries;
  for (const CacheFile &file : listCacheFolder(folder)) {
    if (file.kind != CacheFile::Entry)
      continue;
    Listed entry{file.key, "", file.bytes, file.time.tv_sec, ""};
    const Descriptor opened(
        ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const uint64_t wanted = cacheHeaderBytes + cacheDescriptionBytes;
    std::optional<Bytes> bytes;
    if (opened.number >= 0)
      bytes = readUpTo(opened.number, verify && file.bytes <= limit
                                          ? file.bytes
                                          : std::min<uint64_t>(file.bytes, wanted));
    if (!bytes) {
      if (errno == ENOENT)
        continue; // evicted meanwhile
      entry.problem = "not readable";
    } else {
      const CacheHeader header = readCacheHeader(*bytes, file.bytes, file.key);
      entry.problem = header.problem;
      if (header.problem.empty())
        entry.description.assign(
            reinterpret_cast<const char *>(bytes->data()) + cacheHeaderBytes,
            std::min<uint64_t>(header.descriptionBytes, bytes->size() - cacheHeaderBytes));
      if (verify && entry.problem.empty())
        entry.problem =
            file.bytes > limit ? "larger than the cache" : checkCacheEntry(*bytes, file.key);
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Listed &a, const Listed &b) {
    return std::pair(b.lastUse, std::string_view(a.key)) <
           std::pair(a.lastUse, std::string_view(b.key));
  });
  return entries;
}

DiskCache::Pruned DiskCache::prune(uint64_t bytes) const { return shrink(bytes, true); }

DiskCache::Pruned DiskCache::shrink(uint64_t bytes, bool verify) const {
  Pruned result;
  const auto remove = [&](const CacheFile &file) {
    if (::unlink(file.path.c_str()) != 0)
      return false;
    ++result.files;
    result.bytes += file.bytes;
    return true;
  };
  std::vector<CacheFile> entries;
  for (const CacheFile &file : listCacheFolder(folder)) {
    if (file.kind == CacheFile::Entry) {
      entries.push_back(file);
    } else if (file.kind == CacheFile::Temporary) {
      const Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (opened.number >= 0 && ::flock(opened.number, LOCK_EX | LOCK_NB) == 0)
        remove(file);
    } else if (file.key != "evict") {
      FileLock lock; // removes it where its holder is gone
      lock.tryAcquire(file.path);
    }
  }
  if (verify)
    for (const Listed &entry : list(true))
      if (!entry.problem.empty())
        std::erase_if(entries,
                      [&](const CacheFile &file) { return file.key == entry.key && remove(file); });
  std::sort(entries.begin(), entries.end(), [](const CacheFile &a, const CacheFile &b) {
    return std::pair(a.time.tv_sec, a.time.tv_nsec) < std::pair(b.time.tv_sec, b.time.tv_nsec);
  });
  for (const CacheFile &file : entries) {
    ++result.keptFiles;
    result.keptBytes += file.bytes;
  }
  for (const CacheFile &file : entries) {
    if (result.keptBytes <= bytes)
      break;
    if (remove(file) || errno == ENOENT) {
      --result.keptFiles;
      result.keptBytes -= file.bytes;
    }
  }
  return result;
}

} // namespace flashc
