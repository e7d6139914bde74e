//===- AttentionDescFuzz.cpp - hostile descriptions and kernel infos -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Reads the input as a description and as a kernel object's info: the only ways
// out are checked values and flashc::Error, and what was read prints the same
// again.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/AttentionDesc.h"
#include "runtime/API/KernelInfo.h"
#include "runtime/Support/Error.h"

using namespace flashc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(bytes), size);
  try {
    const AttentionDesc desc = AttentionDesc::fromJson(text);
    desc.validate();
    if (AttentionDesc::fromJson(desc.toJson()) != desc)
      __builtin_trap();
  } catch (const Error &) {
  }
  try {
    KernelInfo::parse(text);
  } catch (const Error &) {
  }
  return 0;
}
