//===- NpyFuzz.cpp - hostile .npy files -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Opens the input as a .npy and reads every array of it: the only ways out
// are whole arrays and flashc::Error.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/ArrayFile.h"

using namespace flashc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  try {
    const ArrayFile file =
        ArrayFile::parse(std::as_bytes(std::span(bytes, size)), ArrayFormat::Npy, "input");
    for (const std::string &name : file.names()) {
      try {
        const HostArray array = file.read(name);
        const std::optional<int64_t> expected = countBytes(array.dtype, array.shape);
        if (!expected || static_cast<uint64_t>(*expected) != array.data.size())
          __builtin_trap();
      } catch (const Error &) {
      }
    }
  } catch (const Error &) {
  }
  return 0;
}
