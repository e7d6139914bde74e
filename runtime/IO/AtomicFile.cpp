//===- AtomicFile.cpp - files that appear whole or not at all -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// POSIX calls, so that the temporary gets the permissions an ordinary new file
// would get and every error, also that of close, is seen.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/AtomicFile.h"

#include "runtime/Support/Error.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace flashc {
namespace {

[[noreturn]] void failWrite(const std::string &path, const char *action, int code) {
  fail(path, ": expected to ", action, ", got \"", std::strerror(code),
       "\"; check the directory, its permissions and the free space");
}

/// Writes everything; returns 0 or the error code.
int writeAll(int descriptor, std::initializer_list<std::span<const std::byte>> parts) {
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      const ssize_t put = ::write(descriptor, part.data(), part.size());
      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return errno;
      part = part.subspan(static_cast<size_t>(put));
    }
  }
  return 0;
}

int closeFile(int descriptor) { return ::close(descriptor) == 0 ? 0 : errno; }

} // namespace

void writeFileAtomically(const std::string &path,
                         std::initializer_list<std::span<const std::byte>> parts) {
  std::string target = path;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      fail(path, ": expected a file to write, got a directory; add a file name");
    if (!S_ISREG(status.st_mode)) { // renaming over /dev/null would remove the device
      const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor < 0)
        failWrite(path, "open it for writing", errno);
      const int wrote = writeAll(descriptor, parts);
      const int closed = closeFile(descriptor);
      if (wrote || closed)
        failWrite(path, "write it", wrote ? wrote : closed);
      return;
    }
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(path, ignored);
    if (!ignored)
      target = real.string();
  }

  static std::atomic<unsigned> counter{0};
  std::string temporary;
  int descriptor = -1;
  do { // another process with this id, on another machine, may share the directory
    temporary = concat(target, ".tmp-", ::getpid(), "-", counter++);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0)
    failWrite(path, "create a file beside it", errno);

  int code = writeAll(descriptor, parts);
  const int closed = closeFile(descriptor);
  code = code ? code : closed;
  if (!code && ::rename(temporary.c_str(), target.c_str()) != 0)
    code = errno;
  if (code) {
    ::unlink(temporary.c_str());
    failWrite(path, "write it", code);
  }
}

} // namespace flashc
