//===- FileLock.cpp - locks between processes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/FileLock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flashc {
bool isNamed(int descriptor, const std::string &path) {
  struct stat opened = {}, named = {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

FileLock::~FileLock() {
  if (descriptor < 0)
    return;
  ::unlink(held.c_str()); // before letting go: later it might be another's
  ::close(descriptor);
}

FileLock::Result FileLock::tryAcquire(const std::string &path) {
  while (true) {
    const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (opened < 0)
      return Result::Impossible;
    if (::flock(opened, LOCK_EX | LOCK_NB) != 0) {
      const int code = errno;
      ::close(opened);
      if (code == EINTR)
        continue;
      return code == EWOULDBLOCK ? Result::Busy : Result::Impossible;
    }
    if (isNamed(opened, path)) {
      descriptor = opened;
      held = path;
      return Result::Held;
    }
    ::close(opened); // its holder removed it while we waited; whoever comes now makes a new one
  }
}

} // namespace flashc
