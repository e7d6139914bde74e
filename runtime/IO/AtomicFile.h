//===- AtomicFile.h - files that appear whole or not at all -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Output goes to a temporary beside the target and is renamed over it once it
// is complete, so that a failed run leaves no partial output file.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_ATOMICFILE_H
#define FLASHC_RUNTIME_IO_ATOMICFILE_H

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace flashc {

/// Writes `parts`, one after another, as the file `path`. An existing regular file is replaced
/// at once (a symbolic link stays, its target is replaced); a device or pipe is written to.
/// Throws Error, with the old file and no temporary left, when anything fails.
void writeFileAtomically(const std::string &path,
                         std::initializer_list<std::span<const std::byte>> parts);

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_ATOMICFILE_H
