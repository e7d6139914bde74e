//===- ObjectCache.cpp - descriptions compiled once per machine -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/ObjectCache.h"
#include "runtime/Cache/ContentHash.h"
#include "runtime/Cache/DiskCache.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/Stopwatch.h"

namespace flashc {
namespace {

/// An object is a function of the compiler and of the description's text, which has target, schedule, strategy
/// and every other field that is not at its default.
std::string keyOf(const AttentionDesc &desc, const std::string &compiler) {
  return ContentHash()
      .add("kind", "object")
      .add("compiler", compiler)
      .add("description", desc.toJson())
      .key();
}

} // namespace

std::optional<MadeObject> findObject(const AttentionDesc &desc, const std::string &compiler) {
  const Stopwatch watch;
  if (compiler.empty())
    return std::nullopt;
  std::optional<ObjectBytes> bytes = DiskCache::ofUser().find(keyOf(desc, compiler));
  if (!bytes)
    return std::nullopt;
  return MadeObject{std::move(*bytes), true, watch.seconds()};
}

MadeObject objectFor(const AttentionDesc &desc, const std::string &compiler,
                     const std::function<ObjectBytes()> &make) {
  const Stopwatch watch;
  MadeObject object;
  if (compiler.empty()) {
    object.bytes = make();
  } else {
    object.isFromCache = true;
    object.bytes = DiskCache::ofUser().get(keyOf(desc, compiler),
                                           concat("object ", desc.target, ' ', desc.name), [&] {
                                             object.isFromCache = false;
                                             return make();
                                           });
  }
  object.seconds = watch.seconds();
  return object;
}

} // namespace flashc
