//===- MlirFuzz.cpp - hostile .mlir files ---------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Reads the input as a module at stage flash: the only ways out are a verified module and flashc::Error.
// What was read prints to text that reads and prints the same again. LLVM's archives are not instrumented,
// flashc's parsers, printers and verifiers are.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compile.h"
#include "runtime/Support/Error.h"

#include <cstdint>

using namespace flashc;

// LLVM's archives neither poison their arenas nor annotate their containers, flashc's instrumented code does.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(bytes), size);
  CompileOptions options;
  options.emit = Stage::Flash;
  std::string printed;
  try {
    printed = compileText(text, "input", Stage::Flash, "x86-64-v3", options);
  } catch (const Error &) {
    return 0;
  }
  if (compileText(printed, "printed", Stage::Flash, "x86-64-v3", options) != printed)
    __builtin_trap();
  return 0;
}
