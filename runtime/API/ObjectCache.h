//===- ObjectCache.h - descriptions compiled once per machine -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Keeps on disk what a compiler makes of a description, for CPUs (an ELF object) and GPUs (PTX) alike, so
// that the next process runs it without compiling, or even opening the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_OBJECTCACHE_H
#define FLASHC_RUNTIME_API_OBJECTCACHE_H

#include "runtime/API/AttentionDesc.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace flashc {

using ObjectBytes = std::vector<std::byte>;

/// A kernel object and where it came from.
struct MadeObject {
  ObjectBytes bytes;
  bool isFromCache = false;
  double seconds = 0; ///< that it took to get it
};

/// The object of `desc`, whose target is named, that the compiler of build id `compiler` has made, in this or
/// another process; nothing where it is not in the user's cache or `compiler` is "".
std::optional<MadeObject> findObject(const AttentionDesc &desc, const std::string &compiler);

/// The same, or what `make` gives, which is kept. Where `compiler` is "", a build that cannot be told from
/// others, it is made anew and not kept. Throws only what `make` throws.
MadeObject objectFor(const AttentionDesc &desc, const std::string &compiler,
                     const std::function<ObjectBytes()> &make);

} // namespace flashc

#endif // FLASHC_RUNTIME_API_OBJECTCACHE_H
