//===- ObjectFuzz.cpp - libFuzzer target of the object loader -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Any bytes either load or give an Error; nothing that loads is called. Inputs
// that are no ELF file are replaced by a good object patched with them (pairs
// of a 16-bit offset and a byte), so that coverage does not depend on a corpus.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ObjectLoader.h"
#include "runtime/Support/Error.h"
#include "test/Unit/CPU/ElfBuilder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string file(reinterpret_cast<const char *>(data), size);
  if (!file.starts_with(ELFMAG)) {
    static const std::string good = flashc::test::answerObject().build();
    file = good;
    for (size_t at = 0; at + 3 <= size; at += 3)
      file[(data[at] | data[at + 1] << 8) % file.size()] = char(data[at + 2]);
  }
  try {
    auto object = flashc::LoadedObject::load(std::as_bytes(std::span(file)));
    object->lookup("flashc_answer");
    object->text("flashc_kernel_info");
  } catch (const flashc::Error &) {
  }
  return 0;
}
