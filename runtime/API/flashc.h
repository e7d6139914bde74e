/*===- flashc.h - the C interface of flashc -----------------------*- C -*-===*\
|*
|* Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
|*
|* Describe attention, compile it once, run it on tensors of any size:
|*
|*   flashc_attention *desc;  flashc_attention_create(&desc);
|*   flashc_attention_set(desc, "dtype", "bf16");
|*   flashc_attention_set(desc, "head-dim", "64");
|*   flashc_attention_set(desc, "causal", "bottom-right");
|*   flashc_kernel *kernel;   flashc_compile(desc, &kernel);
|*   const DLTensor *tensors[] = {&q, &k, &v, &o};
|*   flashc_run(kernel, tensors, 4, NULL, 0, 0, NULL);
|*
|* Every function that returns flashc_status returns FLASHC_OK or leaves its
|* outputs alone and a message at flashc_last_error(). Kernels are immutable:
|* any number of threads may run one at once. A flashc_attention belongs to one
|* thread at a time.
|*
\*===----------------------------------------------------------------------===*/
#ifndef FLASHC_FLASHC_H
#define FLASHC_FLASHC_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FLASHC_API __attribute__((visibility("default")))
#else
#define FLASHC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The interface's version: it grows by one when something here changes its meaning. */
#define FLASHC_API_VERSION 1

typedef struct flashc_attention flashc_attention;
typedef struct flashc_kernel flashc_kernel;

typedef int32_t flashc_status;
enum {
  FLASHC_OK = 0,
  FLASHC_ERROR_INVALID = 1,     /**< a description, an object or a tensor is not acceptable */
  FLASHC_ERROR_UNSUPPORTED = 2, /**< this machine lacks what the kernel needs */
  FLASHC_ERROR_NO_COMPILER = 3, /**< libflashc was not found, or is of another version */
  FLASHC_ERROR_COMPILE = 4,     /**< the compiler refused the description */
  FLASHC_ERROR_MEMORY = 5,      /**< out of memory */
  FLASHC_ERROR_INTERNAL = 6,    /**< a defect of flashc */
  FLASHC_ERROR_DEVICE = 7       /**< the GPU or its driver failed */
};

/** The library's version, as "0.1.0". */
FLASHC_API const char *flashc_version(void);

/** The message of the calling thread's last failed call, "" before any; valid until the next. */
FLASHC_API const char *flashc_last_error(void);

/*===-- Describing --------------------------------------------------------===*/

/** A new description, all features absent. Free it with flashc_attention_destroy. */
FLASHC_API flashc_status flashc_attention_create(flashc_attention **desc);

/** A new description from the JSON that flashc_attention_json gives. */
FLASHC_API flashc_status flashc_attention_from_json(const char *json, size_t size,
                                                    flashc_attention **desc);

/** Frees a description; NULL is allowed. */
FLASHC_API void flashc_attention_destroy(flashc_attention *desc);

/** Sets one field from text: ("causal", "top-left"). flashc_attention_help() lists the keys. */
FLASHC_API flashc_status flashc_attention_set(flashc_attention *desc, const char *key,
                                              const char *value);

/** One field as text, in the form flashc_attention_set takes ("" when absent); valid until the
 *  next call on `desc`. */
FLASHC_API flashc_status flashc_attention_get(flashc_attention *desc, const char *key,
                                              const char **value);

/** The description as one JSON object (NUL-terminated); valid until the next call on `desc`. */
FLASHC_API flashc_status flashc_attention_json(flashc_attention *desc, const char **json);

/** A table of all keys with their values and meanings, for people. */
FLASHC_API const char *flashc_attention_help(void);

/*===-- Compiling and loading ---------------------------------------------===*/

/** Compiles a description for its target (default: the best this host's processor runs; "cuda": the
 *  best of its first NVIDIA GPU). Equal descriptions give the same kernel again, at once. Needs libflashc unless the kernel is cached in this
 *  process; it is searched as the file FLASHC_LIBRARY names, beside this library, then as the
 *  dynamic linker does. Release with flashc_kernel_release. */
FLASHC_API flashc_status flashc_compile(const flashc_attention *desc, flashc_kernel **kernel);

/** Loads a kernel object, as `flashc compile --emit obj` writes it and flashc_kernel_object gives
 *  it: for a CPU machine code, for GPUs PTX, which needs a GPU only when it runs. Or a bundle of
 *  several, as `flashc compile --target T1,T2` writes it: of those that this machine runs the best
 *  for a GPU, else the best for its processor. The bytes are copied. They are code: load only what
 *  you trust. Needs no compiler. */
FLASHC_API flashc_status flashc_load(const void *object, size_t size, flashc_kernel **kernel);

/** The same for one target, as "x86-64-v3", or for "cpu" or "cuda": a bundle's best object for it;
 *  FLASHC_ERROR_UNSUPPORTED where there is none. "" is flashc_load. */
FLASHC_API flashc_status flashc_load_for(const void *object, size_t size, const char *target,
                                         flashc_kernel **kernel);

/** Loads a GPU kernel's code on `device` ({kDLCUDA, n}), which its first run there would do too, and
 *  checks that the device can run it. It takes milliseconds to seconds, and it must be done before a
 *  CUDA graph captures a run. The code stays on the device until the process ends, so that graphs and
 *  runs under way outlive the kernel; equal kernels share it. For a CPU kernel, with {kDLCPU, 0},
 *  there is nothing to do. */
FLASHC_API flashc_status flashc_kernel_prepare(const flashc_kernel *kernel, DLDevice device);

/** One more reference to a kernel (and its return). */
FLASHC_API flashc_kernel *flashc_kernel_retain(flashc_kernel *kernel);

/** Gives one reference up; the last frees the kernel. NULL is allowed. */
FLASHC_API void flashc_kernel_release(flashc_kernel *kernel);

/** The kernel object's bytes; valid while the kernel lives. */
FLASHC_API flashc_status flashc_kernel_object(const flashc_kernel *kernel, const void **data,
                                              size_t *size);

/** The object's own description (name, target, features, arguments, ...) as JSON; valid while the
 *  kernel lives. */
FLASHC_API const char *flashc_kernel_json(const flashc_kernel *kernel);

/*===-- Arguments ---------------------------------------------------------===*/

/** One argument of a kernel. The pointers are valid while the kernel lives. */
typedef struct {
  const char *name; /**< "q", "k", "v", "sinks", ..., "o", "lse", "row_max" */
  DLDataType dtype; /**< bool is {kDLUInt, 8, 1} */
  int32_t rank;
  int32_t is_output;    /**< 1: written; 0: read only */
  const int64_t *shape; /**< rank extents, -1 where any will do */
} flashc_argument;

/** The number of arguments, inputs first, then outputs. */
FLASHC_API int32_t flashc_kernel_num_arguments(const flashc_kernel *kernel);

/** Argument `index`, 0 <= index < flashc_kernel_num_arguments. */
FLASHC_API flashc_status flashc_kernel_argument(const flashc_kernel *kernel, int32_t index,
                                                flashc_argument *argument);

/** The index of the argument `name`, or -1. */
FLASHC_API int32_t flashc_kernel_find_argument(const flashc_kernel *kernel, const char *name);

/*===-- Running -----------------------------------------------------------===*/

/* Tensors are views in argument order; nothing is owned, only outputs are written.
 *
 *   q [B,Sq,Hq,D]  k [B,Sk,Hkv,D]  v [B,Sk,Hkv,Dv]  o [B,Sq,Hq,Dv]   Hq a multiple of Hkv
 *   lse, row_max [B,Hq,Sq] f32; bias [B,Hq,Sq,Sk]; alibi, sinks [Hq] f32; seqused_k [B]
 *   packed: B = 1 and S = the total of all sequences; cu_seqlens_q, cu_seqlens_k [sequences+1];
 *   bias [sequences,Hq,>= longest q,>= longest k]
 *   paged: k [pages,P,Hkv,D], v [pages,P,Hkv,Dv], page_table [B,max_pages]; Sk = max_pages*P; key j of
 *   batch b is row j % P of page page_table[b,j/P]; entries that no key below seqused_k[b] needs may be
 *   anything
 *
 * Other layouts ([B,H,S,D]) are strides. Strides count elements and may be 0 or negative for
 * inputs (broadcasting is stride 0); NULL strides mean dense, in C order. `data + byte_offset` is
 * element [0,...,0], aligned to its size. `data` may be NULL when there are no elements. Bool
 * tensors are {kDLUInt, 8, 1} or DLPack's later kDLBool. Outputs must overlap nothing, themselves
 * included.
 *
 * A CPU kernel takes tensors of device type kDLCPU. A GPU kernel takes kDLCUDA, all on one device,
 * which is the one that it runs on; kDLCUDAManaged and kDLCUDAHost (pinned) go along with these.
 * Memory and stream belong to the device's primary context, as those of the CUDA runtime and of
 * frameworks do; any other context may be current. The values of cu_seqlens, seqused_k and
 * page_table, which the CPU checks, are not read by a run on a GPU: they must be right.
 */

/** The bytes of workspace that flashc_run needs with tensors of these shapes (0 for the online
 *  strategy, unless its schedule splits the keys). Checks the tensors as flashc_run does. */
FLASHC_API flashc_status flashc_workspace_size(const flashc_kernel *kernel,
                                               const DLTensor *const *tensors, size_t count,
                                               size_t *bytes);

/** Checks the tensors and runs the kernel; on the CPU, returns when it is done.
 *  `workspace`: at least flashc_workspace_size bytes, 64-byte aligned, used by this run alone, in
 *  the memory of the tensors' device; NULL when that is 0. `threads`: at most so many, 0 for one per
 *  processor; GPUs do not look at it. `stream`: NULL on the CPU. Each thread keeps a small scratch
 *  buffer for its later runs; nothing else is allocated on behalf of the computation.
 *
 *  On a GPU, `stream` is a CUstream or cudaStream_t (NULL: the legacy default stream), and the
 *  function returns when the launches are queued there. It allocates nothing on the device, waits for
 *  nothing and uses no other stream, so that a CUDA graph can capture it, after
 *  flashc_kernel_prepare or a first run. Tensors and workspace must stay until the work is done;
 *  failures of the work itself show in later calls, as with every CUDA kernel. */
FLASHC_API flashc_status flashc_run(const flashc_kernel *kernel, const DLTensor *const *tensors,
                                    size_t count, void *workspace, size_t workspace_bytes,
                                    int32_t threads, void *stream);

#ifdef __cplusplus
}
#endif

#endif /* FLASHC_FLASHC_H */
