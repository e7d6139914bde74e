//===- DriverTypes.h - the part of the CUDA driver interface in use -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Declarations of our own, so that building flashc needs no CUDA toolkit. Names
// and values are those of NVIDIA's CUDA Driver API reference; they are part of
// its binary interface and never change.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_DRIVERTYPES_H
#define FLASHC_RUNTIME_CUDA_DRIVERTYPES_H

#include <cstddef>

namespace flashc::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUlinkState = struct CUlinkState_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, // kHz
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       // kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, // bits
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, // unsigned: a CUmemorytype, 0 where the driver knows none
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};

enum CUmemorytype : unsigned { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

enum CUjit_option : int {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUjitInputType : int { CU_JIT_INPUT_PTX = 1 };

enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

enum CUlaunchAttributeID : int { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

/// One of a union of 64 bytes.
struct alignas(8) CUlaunchAttribute {
  CUlaunchAttributeID id;
  char padding[4];
  int value; ///< whether the launch may begin before those before it have ended
  char unused[60];
};

struct CUlaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);

enum CUstream_flags : unsigned { CU_STREAM_NON_BLOCKING = 1 };

/// Functions that older drivers lack: null there.
#define FLASHC_CUDA_NEWER_FUNCTIONS(X)                                                             \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                          \
    (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))

/// Every function in use otherwise: its name here, its symbol (the version of 64-bit pointers and contexts
/// pushed per thread) and its parameters.
#define FLASHC_CUDA_FUNCTIONS(X)                                                                   \
  X(cuInit, "cuInit", (unsigned flags))                                                            \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                      \
  X(cuGetErrorName, "cuGetErrorName", (CUresult result, const char **name))                        \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                            \
  X(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                                  \
  X(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, CUdevice device))                   \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute",                                                  \
    (int *value, CUdevice_attribute attribute, CUdevice device))                                   \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, CUdevice device))                     \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))  \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * context))                                     \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext context))                                  \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext * context))                                  \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                                      \
    (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values))  \
  X(cuModuleUnload, "cuModuleUnload", (CUmodule module))                                           \
  X(cuLinkCreate, "cuLinkCreate_v2",                                                               \
    (unsigned count, CUjit_option *options, void **values, CUlinkState *state))                    \
  X(cuLinkAddData, "cuLinkAddData_v2",                                                             \
    (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,            \
     unsigned count, CUjit_option *options, void **values))                                        \
  X(cuLinkComplete, "cuLinkComplete", (CUlinkState state, void **cubin, size_t *size))             \
  X(cuLinkDestroy, "cuLinkDestroy", (CUlinkState state))                                           \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                                    \
    (CUfunction * function, CUmodule module, const char *name))                                    \
  X(cuFuncSetAttribute, "cuFuncSetAttribute",                                                      \
    (CUfunction function, CUfunction_attribute attribute, int value))                              \
  X(cuLaunchKernel, "cuLaunchKernel",                                                              \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,         \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,   \
     void **extra))                                                                                \
  X(cuPointerGetAttributes, "cuPointerGetAttributes",                                              \
    (unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer))         \
  X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * pointer, size_t bytes))                            \
  X(cuMemFree, "cuMemFree_v2", (CUdeviceptr pointer))                                              \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr to, const void *from, size_t bytes))             \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *to, CUdeviceptr from, size_t bytes))                   \
  X(cuMemsetD8, "cuMemsetD8_v2", (CUdeviceptr to, unsigned char value, size_t bytes))              \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                                      \
  X(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                         \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                      \
  X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                 \
  X(cuStreamIsCapturing, "cuStreamIsCapturing", (CUstream stream, CUstreamCaptureStatus * status)) \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",                        \
    (CUstreamCaptureMode * mode))                                                                  \
  X(cuLaunchHostFunc, "cuLaunchHostFunc", (CUstream stream, void (*function)(void *), void *data)) \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream stream, CUstreamCaptureMode mode))  \
  X(cuStreamEndCapture, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                  \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                             \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                           \
  X(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec executable, CUstream stream))                     \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec executable))                            \
  X(cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                                             \
  X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                             \
  X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                              \
  X(cuEventSynchronize, "cuEventSynchronize", (CUevent event))                                     \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float *milliseconds, CUevent begin, CUevent end))   \
  X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_DRIVERTYPES_H
