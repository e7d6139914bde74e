//===- Provider.cpp - where the runtime gets a compiler from -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Provider.h"
#include "runtime/API/Status.h"
#include "runtime/Support/BuildId.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

namespace flashc {
namespace {

constexpr const char *libraryName = "libflashc.so";

std::mutex mutex;
std::optional<CompilerProvider> current; ///< guarded by mutex

/// The folder of the library or program that this code is part of, with its slash; or "".
std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&compilerProvider), &info) || !info.dli_fname)
    return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::vector<std::string> candidates() {
  // Not for programs with more rights than their caller.
  if (const char *named = secure_getenv("FLASHC_LIBRARY"); named && *named)
    return {named};
  std::vector<std::string> paths;
  if (const std::string folder = ownFolder(); !folder.empty())
    paths.push_back(folder + libraryName);
  paths.push_back(libraryName);
  return paths;
}

template <typename Function> bool find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  return function != nullptr;
}

/// Opens the library at `path`; on failure says why in `reason`.
std::optional<CompilerProvider> open(const std::string &path, std::string &reason) {
  // RTLD_LOCAL: its symbols must not meet those of another LLVM in this process.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *message = dlerror();
    reason = message ? message : path + ": cannot be opened";
    return std::nullopt;
  }
  decltype(&flashc_compiler_abi) abi = nullptr;
  CompilerProvider provider;
  if (!find(library, "flashc_compiler_abi", abi) ||
      !find(library, "flashc_compiler_version", provider.version) ||
      !find(library, "flashc_compiler_compile", provider.compile) ||
      !find(library, "flashc_compiler_free", provider.free)) {
    reason = path + ": not flashc's compiler";
  } else if (abi() != FLASHC_COMPILER_ABI) {
    reason = concat(path, ": expected version ", FLASHC_COMPILER_ABI,
                    " of the compiler's interface, got ", abi());
  } else {
    provider.identity = buildIdAt(reinterpret_cast<const void *>(provider.compile));
    return provider; // the library stays open for good
  }
  dlclose(library);
  return std::nullopt;
}

} // namespace

void registerCompilerProvider(const CompilerProvider &provider) {
  const std::lock_guard lock(mutex);
  current = provider;
}

std::string compilerIdentity() {
  const std::lock_guard lock(mutex);
  if (current)
    return current->identity;
  for (const std::string &path : candidates()) {
    // What the dynamic linker finds by a bare name is known once it is open.
    if (path.find('/') == std::string::npos)
      break;
    if (::access(path.c_str(), F_OK) == 0)
      return buildIdOfFile(path);
  }
  return "";
}

CompilerProvider compilerProvider() {
  const std::lock_guard lock(mutex);
  std::string reasons;
  if (current)
    return *current;
  for (const std::string &path : candidates()) {
    std::string reason;
    current = open(path, reason);
    if (current)
      return *current;
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  throw StatusError(FLASHC_ERROR_NO_COMPILER,
                    concat("expected flashc's compiler ", libraryName, ", got none (", reasons,
                           "); set FLASHC_LIBRARY to its path, or load kernels compiled ahead"));
}

} // namespace flashc
