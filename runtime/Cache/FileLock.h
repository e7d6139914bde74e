//===- FileLock.h - locks between processes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// flock(2): held by an open file rather than by a process, so it works between
// threads too, and the kernel lets go when the holder dies, however it dies.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CACHE_FILELOCK_H
#define FLASHC_RUNTIME_CACHE_FILELOCK_H

#include <string>

namespace flashc {

/// Whether `path` is the open file, not one that has taken its place or none.
bool isNamed(int descriptor, const std::string &path);

class FileLock {
public:
  enum class Result {
    Held,
    Busy,      ///< someone else has it
    Impossible ///< the file system does not let us
  };

  FileLock() = default;
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;
  /// Removes the file, and lets go.
  ~FileLock();

  /// Takes the lock `path` (a file made for it) if nobody has it.
  Result tryAcquire(const std::string &path);

private:
  std::string held;
  int descriptor = -1;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CACHE_FILELOCK_H
