/* A libflashc that refuses everything, to test how the runtime finds and opens one.
 * Part of flashc, under the Apache License v2.0 with LLVM Exceptions. */
#include "runtime/API/flashc_compiler.h"

#include <string.h>

#ifndef FAKE_ABI
#define FAKE_ABI FLASHC_COMPILER_ABI
#endif

int32_t flashc_compiler_abi(void) { return FAKE_ABI; }

const char *flashc_compiler_version(void) { return "fake library"; }

int32_t flashc_compiler_compile(const char *json, size_t size, flashc_buffer *object,
                                flashc_buffer *error) {
  static char message[] = "the fake refuses";
  (void)json;
  (void)size;
  object->data = 0;
  object->size = 0;
  error->data = message;
  error->size = strlen(message);
  return 1;
}

void flashc_compiler_free(flashc_buffer *buffer) {
  buffer->data = 0;
  buffer->size = 0;
}
