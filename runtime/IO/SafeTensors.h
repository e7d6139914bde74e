//===- SafeTensors.h - .safetensors files -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Lists and reads the tensors of a .safetensors file: eight bytes of header
// length, a JSON header, then the elements, little-endian and in C order.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_SAFETENSORS_H
#define FLASHC_RUNTIME_IO_SAFETENSORS_H

#include "runtime/IO/ByteSource.h"
#include "runtime/Support/HostArray.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace flashc {

/// An open .safetensors file. Concurrent reads are fine.
class SafeTensorsFile {
public:
  /// Reads and checks the header: the format's 100 MB cap, the JSON's structure, every tensor's
  /// size, and that the tensors fill the data without gap or overlap. Throws Error.
  explicit SafeTensorsFile(std::shared_ptr<const ByteSource> source);

  /// The tensors' names in the order of the header.
  const std::vector<std::string> &names() const { return order; }
  bool contains(const std::string &name) const { return tensors.contains(name); }
  /// Returns one tensor. Throws Error when it is missing or of a type that flashc does not have
  /// (F64, F32, F16, BF16, I64, I32, I16, I8, U8 and BOOL it has).
  HostArray read(const std::string &name) const;

  /// What the header says of one tensor; offsets are relative to the data's start.
  struct Tensor {
    std::string dtype; // as spelled in the header
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;
  };

private:
  void checkTensors(uint64_t dataBytes) const;

  std::shared_ptr<const ByteSource> source;
  uint64_t dataStart = 0;
  std::vector<std::string> order;
  std::unordered_map<std::string, Tensor> tensors;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_SAFETENSORS_H
