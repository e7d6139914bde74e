//===- PointerCheck.h - is memory what a tensor says it is? -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A host pointer or one of another device in a launch is found late and far
// away, as an illegal address. The driver knows whose memory an address is.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_POINTERCHECK_H
#define FLASHC_RUNTIME_CUDA_POINTERCHECK_H

#include "runtime/CUDA/DeviceKernel.h"

namespace flashc::cuda {

/// Throws Error unless `data` is memory of this kind that kernels of device `ordinal`, whose
/// context is current, may use; null, for no elements, is always fine. Managed memory passes as
/// device memory, since frameworks have allocators that make one look like the other.
void checkPointer(const Driver &driver, int ordinal, MemoryKind kind, const void *data,
                  std::string_view name);

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_POINTERCHECK_H
