//===- Outputs.cpp - result files of a run --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Outputs.h"
#include "runtime/IO/Npy.h"

#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace flashc::tool {

void checkWritable(const std::string &flag, const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    fail("--", flag, ": expected a file, got the folder '", path, "'");
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder, error))
    fail("--", flag, ": expected a file in a folder that exists, got '", path, "'; create ",
         folder.string(), " first");
  if (!fs::exists(path, error) && access(folder.c_str(), W_OK) != 0)
    fail("--", flag, ": expected a file in a folder that can be written, got '", path, "'");
}

OutputFiles::OutputFiles(const Arguments &arguments) {
  const std::pair<const char *, const char *> flags[] = {
      {"out", "o"}, {"lse", "lse"}, {"row-max", "row_max"}};
  for (const auto &[flag, argument] : flags) {
    const std::optional<std::string> path = arguments.find(flag);
    if (!path)
      continue;
    if (!path->ends_with(".npy") && !path->starts_with("/dev/"))
      fail("--", flag, ": expected a .npy file, got '", *path, "'; name it so");
    checkWritable(flag, *path);
    for (const auto &[other, otherPath] : paths)
      if (fs::path(otherPath).lexically_normal() == fs::path(*path).lexically_normal() &&
          path->ends_with(".npy"))
        fail("--", flag, ": expected a file of its own, got that of another result, '", *path, "'");
    paths[argument] = *path;
  }
}

void OutputFiles::write(const std::map<std::string, HostArray> &results) const {
  for (const auto &[argument, path] : paths) {
    const auto found = results.find(argument);
    if (found == results.end())
      fail("expected a kernel with the result ", argument, ", got one without; compile it with --",
           argument == "lse" ? "lse" : "row-max");
    writeNpy(path, found->second);
  }
}

} // namespace flashc::tool
