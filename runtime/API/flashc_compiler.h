/*===- flashc_compiler.h - what libflashc exports -----------------*- C -*-===*\
|*
|* Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
|*
|* The interface between the runtime (libflashc-rt, without LLVM) and the
|* compiler (libflashc), which the runtime opens when something must be compiled.
|* A description goes in as JSON, a kernel object comes out as bytes; nothing
|* else crosses the border, so the two may be built by different compilers.
|*
\*===----------------------------------------------------------------------===*/
#ifndef FLASHC_FLASHC_COMPILER_H
#define FLASHC_FLASHC_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FLASHC_COMPILER_API __attribute__((visibility("default")))
#else
#define FLASHC_COMPILER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What flashc_compiler_abi returns; grows by one when this file changes its meaning. */
#define FLASHC_COMPILER_ABI 1

/** Bytes that the compiler allocated; free them with flashc_compiler_free. */
typedef struct {
  void *data;
  size_t size;
} flashc_buffer;

/** FLASHC_COMPILER_ABI as the library was built with. */
FLASHC_COMPILER_API int32_t flashc_compiler_abi(void);

/** The compiler's version, as "0.1.0 (LLVM 22.1.0)". */
FLASHC_COMPILER_API const char *flashc_compiler_version(void);

/** Compiles the description of `size` bytes of JSON. Returns 0 and fills `object` with an ELF
 *  relocatable, or returns non-zero and fills `error` with a message (no NUL at its end). Safe to
 *  call from many threads at once. Never throws, never prints. */
FLASHC_COMPILER_API int32_t flashc_compiler_compile(const char *json, size_t size,
                                                    flashc_buffer *object, flashc_buffer *error);

/** Frees what flashc_compiler_compile filled in and empties it; an empty buffer is allowed. */
FLASHC_COMPILER_API void flashc_compiler_free(flashc_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif /* FLASHC_FLASHC_COMPILER_H */
