/* A kernel object made by hand, for tests of the runtime: two phases, a workspace and scratch.
 *
 *   phase 0: workspace[point] = point, through scratch
 *   phase 1: o[b, i, h, :] = q[b, i, h, :] + workspace[point], lse[b, h, i] = point
 *
 * for point = (b * Hq + h) * Sq + i. Part of flashc, under the Apache License v2.0 with LLVM
 * Exceptions. */
#include <stdint.h>

#ifndef TEST_FEATURES
#define TEST_FEATURES "\"avx2\""
#endif

const char flashc_kernel_info[] =
    "{\"abi\":2,\"name\":\"test\",\"target\":\"x86-64-v3\",\"features\":[" TEST_FEATURES "],"
    "\"scratch_bytes\":128,\"phases\":2,\"schedule\":\"none\",\"strategy\":\"standard\","
    "\"arguments\":["
    "{\"name\":\"q\",\"dtype\":\"f32\",\"rank\":4,\"static_shape\":[-1,-1,-1,3],"
    "\"role\":\"input\"},"
    "{\"name\":\"k\",\"dtype\":\"f32\",\"rank\":4,\"static_shape\":[-1,-1,-1,3],"
    "\"role\":\"input\"},"
    "{\"name\":\"v\",\"dtype\":\"f32\",\"rank\":4,\"static_shape\":[-1,-1,-1,3],"
    "\"role\":\"input\"},"
    "{\"name\":\"o\",\"dtype\":\"f32\",\"rank\":4,\"static_shape\":[-1,-1,-1,3],"
    "\"role\":\"output\"},"
    "{\"name\":\"lse\",\"dtype\":\"f32\",\"rank\":3,\"static_shape\":[-1,-1,-1],"
    "\"role\":\"output\"}]}";

typedef struct {
  float *allocated, *data;
  int64_t offset, size[4], stride[4];
} Descriptor4;

typedef struct {
  float *allocated, *data;
  int64_t offset, size[3], stride[3];
} Descriptor3;

int64_t flashc_kernel_grid(void *const *args, int64_t phase) {
  const Descriptor4 *q = args[0];
  (void)phase;
  return q->size[0] * q->size[1] * q->size[2];
}

int64_t flashc_kernel_workspace(void *const *args) { return 8 * flashc_kernel_grid(args, 0); }

void flashc_kernel_run(void *const *args, int64_t phase, int64_t point, void *scratch,
                       void *workspace) {
  const Descriptor4 *q = args[0], *o = args[3];
  const Descriptor3 *lse = args[4];
  int64_t *shared = workspace;
  volatile int64_t *own = scratch;
  const int64_t i = point % q->size[1];
  const int64_t h = point / q->size[1] % q->size[2];
  const int64_t b = point / q->size[1] / q->size[2];
  if (phase == 0) {
    for (int n = 0; n < 16; ++n)
      own[n] = point;
    shared[point] = own[0];
    for (int n = 0; n < 16; ++n)
      if (own[n] != point)
        shared[point] = -1; /* another thread wrote here */
    return;
  }
  for (int64_t d = 0; d < q->size[3]; ++d)
    o->data[b * o->stride[0] + i * o->stride[1] + h * o->stride[2] + d * o->stride[3]] =
        q->data[b * q->stride[0] + i * q->stride[1] + h * q->stride[2] + d * q->stride[3]] +
        (float)shared[point];
  lse->data[b * lse->stride[0] + h * lse->stride[1] + i * lse->stride[2]] = (float)point;
}
