/*===- main.c - flashc beside another LLVM ------------------------*- C -*-===*\
|*
|* Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
|*
|* Loads libLLVM with its symbols visible to everything that follows, compiles
|* with it, then with flashc, then with it again: two LLVMs in one process must
|* not see each other. (Either would abort on an option registered twice, or mix
|* up global state, if they did.)
|*
|*   BesideLLVM path/to/libLLVM.so
|*
\*===----------------------------------------------------------------------===*/
#include "runtime/API/flashc.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *Handle;

static Handle library;

static Handle find(const char *name) {
  Handle function = dlsym(library, name);
  if (!function) {
    fprintf(stderr, "expected libLLVM to have %s\n", name);
    exit(1);
  }
  return function;
}

/* One function of libLLVM; ISO C has no conversion from object to function pointers but this. */
#define DECLARE(result, name, ...)                                                                 \
  result (*name)(__VA_ARGS__);                                                                     \
  *(Handle *)&name = find(#name)

/* Prints "ret void" for x86-64 with libLLVM. */
static void useOtherLLVM(void) {
  DECLARE(void, LLVMInitializeX86TargetInfo, void);
  DECLARE(void, LLVMInitializeX86Target, void);
  DECLARE(void, LLVMInitializeX86TargetMC, void);
  DECLARE(void, LLVMInitializeX86AsmPrinter, void);
  DECLARE(Handle, LLVMContextCreate, void);
  DECLARE(void, LLVMContextDispose, Handle);
  DECLARE(Handle, LLVMModuleCreateWithNameInContext, const char *, Handle);
  DECLARE(void, LLVMDisposeModule, Handle);
  DECLARE(Handle, LLVMVoidTypeInContext, Handle);
  DECLARE(Handle, LLVMFunctionType, Handle, Handle *, unsigned, int);
  DECLARE(Handle, LLVMAddFunction, Handle, const char *, Handle);
  DECLARE(Handle, LLVMAppendBasicBlockInContext, Handle, Handle, const char *);
  DECLARE(Handle, LLVMCreateBuilderInContext, Handle);
  DECLARE(void, LLVMPositionBuilderAtEnd, Handle, Handle);
  DECLARE(Handle, LLVMBuildRetVoid, Handle);
  DECLARE(void, LLVMDisposeBuilder, Handle);
  DECLARE(int, LLVMGetTargetFromTriple, const char *, Handle *, char **);
  DECLARE(Handle, LLVMCreateTargetMachine, Handle, const char *, const char *, const char *, int,
          int, int);
  DECLARE(void, LLVMDisposeTargetMachine, Handle);
  DECLARE(int, LLVMTargetMachineEmitToMemoryBuffer, Handle, Handle, int, char **, Handle *);
  DECLARE(size_t, LLVMGetBufferSize, Handle);
  DECLARE(void, LLVMDisposeMemoryBuffer, Handle);

  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();

  const char *triple = "x86_64-unknown-linux-gnu";
  Handle context = LLVMContextCreate();
  Handle module = LLVMModuleCreateWithNameInContext("m", context);
  Handle type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, 0);
  Handle function = LLVMAddFunction(module, "f", type);
  Handle builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, "entry"));
  LLVMBuildRetVoid(builder);
  LLVMDisposeBuilder(builder);

  Handle target = NULL, buffer = NULL;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    fprintf(stderr, "libLLVM: %s\n", message);
    exit(1);
  }
  Handle machine = LLVMCreateTargetMachine(target, triple, "x86-64", "", 2, 0, 0);
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, 1, &message, &buffer) ||
      LLVMGetBufferSize(buffer) == 0) {
    fprintf(stderr, "libLLVM: %s\n", message ? message : "an empty object");
    exit(1);
  }
  LLVMDisposeMemoryBuffer(buffer);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
}

static void check(flashc_status status) {
  if (status == FLASHC_OK)
    return;
  fprintf(stderr, "flashc: %s\n", flashc_last_error());
  exit(1);
}

static DLTensor viewOf(float *data, int64_t *shape) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 4;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

/* Attention of one query over two equal keys is the mean of their values. */
static void useFlashc(const char *headDim) {
  float q[64] = {0}, k[128] = {0}, v[128] = {0}, o[64] = {0};
  const int64_t dim = atoi(headDim);
  int64_t one[] = {1, 1, 1, dim}, two[] = {1, 2, 1, dim};
  v[0] = 1.0f;
  v[dim] = 4.0f;
  DLTensor views[4];
  const DLTensor *tensors[4];
  flashc_attention *desc;
  flashc_kernel *kernel;
  check(flashc_attention_create(&desc));
  check(flashc_attention_set(desc, "head-dim", headDim));
  check(flashc_compile(desc, &kernel));
  views[0] = viewOf(q, one);
  views[1] = viewOf(k, two);
  views[2] = viewOf(v, two);
  views[3] = viewOf(o, one);
  for (int n = 0; n < 4; ++n)
    tensors[n] = &views[n];
  check(flashc_run(kernel, tensors, 4, NULL, 0, 0, NULL));
  flashc_kernel_release(kernel);
  flashc_attention_destroy(desc);
  if (fabsf(o[0] - 2.5f) > 1e-6f) {
    fprintf(stderr, "expected 2.5, got %g\n", o[0]);
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s libLLVM.so\n", argv[0]);
    return 1;
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  useOtherLLVM();
  useFlashc("32");
  useOtherLLVM();
  useFlashc("64");
  printf("both LLVMs work\n");
  return 0;
}
