/* The C interface must be clean C99, and usable from it. Compiling this file is half the test.
 * Part of flashc, under the Apache License v2.0 with LLVM Exceptions. */
#include "runtime/API/flashc.h"
#include "runtime/API/flashc_compiler.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  flashc_attention *desc = NULL;
  const char *json = NULL;
  if (flashc_attention_create(&desc) != FLASHC_OK ||
      flashc_attention_set(desc, "head-dim", "64") != FLASHC_OK ||
      flashc_attention_json(desc, &json) != FLASHC_OK ||
      strcmp(json, "{\"dtype\":\"f32\",\"head-dim\":64}") != 0) {
    fprintf(stderr, "unexpected: %s %s\n", json ? json : "", flashc_last_error());
    return 1;
  }
  if (flashc_attention_set(desc, "head-dim", "many") != FLASHC_ERROR_INVALID ||
      !strstr(flashc_last_error(), "expected an integer, got 'many'")) {
    fprintf(stderr, "unexpected: %s\n", flashc_last_error());
    return 1;
  }
  flashc_attention_destroy(desc);
  return 0;
}
