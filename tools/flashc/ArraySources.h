//===- ArraySources.h - where each input array comes from -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Resolves an array by its flag: a file of its own, an array of --inputs, or a type that stands for an
// array to be made up.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_ARRAYSOURCES_H
#define FLASHC_TOOLS_FLASHC_ARRAYSOURCES_H

#include "runtime/IO/ArrayFile.h"
#include "tools/flashc/CommandLine.h"

#include <optional>
#include <set>
#include <variant>

namespace flashc::tool {

/// An array read, or the type of one to be made.
using ArraySource = std::variant<HostArray, DType>;

/// A capture's type where there is no file.
struct CaptureType {
  DType dtype;
  int rank;
};

/// A capture as the command line gives it.
struct CaptureSource {
  std::string name;
  std::variant<HostArray, CaptureType> source;
};

class ArraySources {
public:
  /// Opens --inputs, if given. Throws Error.
  explicit ArraySources(const Arguments &arguments);

  /// The array of `flag`, kernel argument `argument`, which is also the name it may have in --inputs; or
  /// nothing when it is given nowhere. Throws Error, naming the flag.
  std::optional<ArraySource> find(const std::string &flag, const std::string &argument);

  /// The array `name` of --inputs, or nothing.
  std::optional<HostArray> findInInputs(const std::string &name);

  /// All --capture flags. Throws Error.
  std::vector<CaptureSource> captures();

  /// The arrays of --inputs that nothing has asked for, results of earlier runs (o, lse, row_max) apart.
  std::vector<std::string> unused() const;

private:
  const Arguments &arguments;
  std::string inputsPath;
  std::optional<ArrayFile> inputs;
  std::set<std::string> used;
};

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_ARRAYSOURCES_H
