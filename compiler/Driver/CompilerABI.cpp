//===- CompilerABI.cpp - the compiler behind a C interface -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// JSON in, object bytes out, exceptions turned into text: no C++ type and no
// exception crosses the border of libflashc.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compile.h"
#include "runtime/API/AttentionDesc.h"
#include "runtime/API/flashc_compiler.h"
#include "runtime/Support/Error.h"

#include "llvm/Config/llvm-config.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace {

/// Copies `size` bytes into `buffer`, which is left empty when there is no memory.
bool fill(flashc_buffer *buffer, const void *data, size_t size) {
  *buffer = {std::malloc(size ? size : 1), size};
  if (!buffer->data)
    buffer->size = 0;
  else if (size)
    std::memcpy(buffer->data, data, size);
  return buffer->data != nullptr;
}

int32_t failed(flashc_buffer *error, const char *message) {
  fill(error, message, std::strlen(message));
  return 1;
}

} // namespace

extern "C" {

int32_t flashc_compiler_abi(void) { return FLASHC_COMPILER_ABI; }

const char *flashc_compiler_version(void) {
  return FLASHC_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

int32_t flashc_compiler_compile(const char *json, size_t size, flashc_buffer *object,
                                flashc_buffer *error) {
  *object = *error = {nullptr, 0};
  try {
    flashc::AttentionDesc desc = flashc::AttentionDesc::fromJson({json, size});
    desc.validate();
    desc.target = flashc::resolveTarget(desc.target, desc.dtype);
    const std::vector<std::byte> bytes = flashc::compileToObject(desc);
    if (!fill(object, bytes.data(), bytes.size()))
      throw std::bad_alloc();
    return 0;
  } catch (const std::bad_alloc &) {
    return failed(error, "expected enough memory to compile, got none");
  } catch (const std::exception &exception) {
    return failed(error, exception.what());
  } catch (...) {
    return failed(error, "the compiler failed for an unknown reason");
  }
}

void flashc_compiler_free(flashc_buffer *buffer) {
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

} // extern "C"
