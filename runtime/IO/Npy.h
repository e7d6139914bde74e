//===- Npy.h - NumPy .npy arrays -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Reads .npy versions 1 to 3 (f2, f4, f8, b1, i1 to i8, u1 of either byte order,
// 'bfloat16'; C or Fortran order) into dense C-order host arrays, and writes
// version 1. Every declared size is checked before memory is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_NPY_H
#define FLASHC_RUNTIME_IO_NPY_H

#include "runtime/IO/ByteSource.h"
#include "runtime/Support/HostArray.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// What the header of a .npy says.
struct NpyHeader {
  DType dtype = DType::F32;
  bool bigEndian = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses the header's text, a Python dict literal such as
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }` and its padding. `name` is the
/// file in messages. Throws Error for anything else and for element types not listed above.
NpyHeader parseNpyHeader(std::string_view text, const std::string &name);

/// Reads one array that fills the rest of `in`. Throws Error.
HostArray readNpy(ByteStream &in);

/// Reads the .npy file `path`. Throws Error.
HostArray readNpy(const std::string &path, const ReadLimits &limits = {});

/// Reads a .npy held in memory; `name` stands for the file in messages. Throws Error.
HostArray parseNpy(std::span<const std::byte> bytes, const std::string &name,
                   const ReadLimits &limits = {});

/// Writes `array` as the .npy file `path`, whole or not at all (see AtomicFile.h); bf16, which
/// .npy cannot name, is written as f32. Throws Error.
void writeNpy(const std::string &path, const HostArray &array);

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_NPY_H
