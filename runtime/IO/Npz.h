//===- Npz.h - NumPy .npz archives -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Lists and reads the .npy entries of a zip archive, stored or deflated, as
// numpy.savez and numpy.savez_compressed write it. Nothing is inflated before
// it is asked for, and declared sizes are held against what the file can hold.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_NPZ_H
#define FLASHC_RUNTIME_IO_NPZ_H

#include "runtime/IO/ByteSource.h"
#include "runtime/Support/HostArray.h"

#include <memory>
#include <string>
#include <vector>

namespace flashc {

/// An open .npz. Not thread-safe: one read at a time.
class NpzFile {
public:
  /// Reads the archive's directory. Throws Error for a damaged or encrypted archive, duplicate
  /// names, entries that overlap or inflated sizes beyond `limits`.
  explicit NpzFile(std::shared_ptr<const ByteSource> source, const ReadLimits &limits = {});
  NpzFile(NpzFile &&) noexcept;
  NpzFile &operator=(NpzFile &&) noexcept;
  ~NpzFile();

  /// The arrays' names, without ".npy", in the archive's order. Other entries are ignored.
  const std::vector<std::string> &names() const;
  bool contains(const std::string &name) const;
  /// Inflates and returns one array. Throws Error when it is missing or damaged.
  HostArray read(const std::string &name) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_NPZ_H
