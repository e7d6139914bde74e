//===- Outputs.h - result files of a run ------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What can be known to be wrong with an output path is found before anything is computed; files are written
// after everything has succeeded.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_OUTPUTS_H
#define FLASHC_TOOLS_FLASHC_OUTPUTS_H

#include "runtime/Support/HostArray.h"
#include "tools/flashc/CommandLine.h"

#include <map>

namespace flashc::tool {

class OutputFiles {
public:
  /// Takes --out, --lse and --row-max. Throws Error for what is no .npy, names one file twice, or lies in a
  /// folder that does not exist or cannot be written.
  explicit OutputFiles(const Arguments &arguments);

  /// Writes the results (by argument name) that have a file, each whole or not at all. Throws Error.
  void write(const std::map<std::string, HostArray> &results) const;

private:
  std::map<std::string, std::string> paths; ///< by argument name
};

/// Throws Error when `path` lies in a folder that does not exist or cannot be written, or is a folder.
void checkWritable(const std::string &flag, const std::string &path);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_OUTPUTS_H
