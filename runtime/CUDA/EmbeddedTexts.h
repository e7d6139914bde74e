//===- EmbeddedTexts.h - the files of templates/ inside the library -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Defined in a file that tools/cmake/EmbedTexts.cmake writes.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_EMBEDDEDTEXTS_H
#define FLASHC_RUNTIME_CUDA_EMBEDDEDTEXTS_H

#include <cstddef>

namespace flashc {

struct EmbeddedText {
  const char *name; ///< as #include spells it: "templates/Device.h"
  const char *text;
};

extern const EmbeddedText embeddedTexts[];
extern const std::size_t numEmbeddedTexts;

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_EMBEDDEDTEXTS_H
