//===- ArrayFile.h - arrays from any supported file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One interface over .npy, .npz and .safetensors, chosen by the file name's
// extension, and the `FILE[:NAME]` spelling of the command line.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_ARRAYFILE_H
#define FLASHC_RUNTIME_IO_ARRAYFILE_H

#include "runtime/IO/ByteSource.h"
#include "runtime/IO/Npz.h"
#include "runtime/IO/SafeTensors.h"
#include "runtime/Support/HostArray.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flashc {

enum class ArrayFormat { Npy, Npz, SafeTensors };

/// Where an array is: a file, its format and the array's name in it ("" for the default).
struct ArraySpec {
  std::string path;
  ArrayFormat format = ArrayFormat::Npy;
  std::string name;
};

/// Splits `f.npy`, `f.npz[:name]` or `f.safetensors[:name]`. The path may hold colons; the name
/// starts after the first ".npz:" or ".safetensors:". Throws Error for other extensions, an empty
/// name, and a name after .npy, which holds one array.
ArraySpec parseArraySpec(const std::string &spec);

/// An open array file; arrays are read when asked for. Not thread-safe.
class ArrayFile {
public:
  /// Opens `path` and reads its directory or header (of a .npy, nothing yet). Throws Error.
  static ArrayFile open(const std::string &path, const ReadLimits &limits = {});

  /// The same over a buffer, which must outlive the result; `name` stands for it in messages.
  static ArrayFile parse(std::span<const std::byte> bytes, ArrayFormat format,
                         const std::string &name, const ReadLimits &limits = {});

  /// The arrays' names in the file's order; a .npy holds one, named "".
  const std::vector<std::string> &names() const;
  bool contains(const std::string &name) const;
  /// Reads one array. Throws Error when it is missing, damaged or of an unsupported type.
  HostArray read(const std::string &name) const;

private:
  /// A .npy as a file of one array without a name.
  struct SingleArray {
    std::shared_ptr<const ByteSource> source;
    std::vector<std::string> onlyName = {""};

    const std::vector<std::string> &names() const { return onlyName; }
    bool contains(const std::string &name) const { return name.empty(); }
    HostArray read(const std::string &name) const;
  };
  using Container = std::variant<SingleArray, NpzFile, SafeTensorsFile>;

  explicit ArrayFile(Container container) : container(std::move(container)) {}
  static ArrayFile fromSource(std::shared_ptr<const ByteSource> source, ArrayFormat format,
                              const ReadLimits &limits);

  Container container;
};

/// Reads the array that `spec` (see parseArraySpec) names; without a name in it, `defaultName` of
/// a .npz or .safetensors. Throws Error.
HostArray readArray(const std::string &spec, const std::string &defaultName,
                    const ReadLimits &limits = {});

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_ARRAYFILE_H
