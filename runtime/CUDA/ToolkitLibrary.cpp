//===- ToolkitLibrary.cpp - libraries of the CUDA toolkit, opened late -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/ToolkitLibrary.h"
#include "runtime/Support/Error.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace flashc {
namespace {

/// Where to look, each with its slash; "" leaves it to the dynamic linker.
std::vector<std::string> folders() {
  // Not for programs with more rights than their caller.
  if (const char *named = secure_getenv("FLASHC_CUDA_PATH"); named && *named) {
    const std::string root = named;
    return {root + "/lib64/", root + "/lib/", root + "/"};
  }
  return {"", "/usr/local/cuda/lib64/"};
}

} // namespace

ToolkitLibrary::ToolkitLibrary(std::initializer_list<const char *> names) {
  std::string failures;
  for (const char *name : names) {
    for (const std::string &folder : folders()) {
      const std::string path = folder + name;
      handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) {
        opened = path;
        return;
      }
      const char *message = dlerror();
      failures += concat(failures.empty() ? "" : "; ", message ? message : path);
    }
  }
  why = concat("expected ", *names.begin(), " of the CUDA toolkit, got none (", failures,
               "); install the toolkit, or set FLASHC_CUDA_PATH to its folder");
}

void *ToolkitLibrary::address(const char *name) {
  if (!handle)
    return nullptr;
  void *symbol = dlsym(handle, name);
  if (!symbol) {
    why = concat(opened, ": expected a function ", name, ", got none; install CUDA 12 or later");
    handle = nullptr; // left open: it may have started threads
  }
  return symbol;
}

} // namespace flashc
