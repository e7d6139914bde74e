//===- PointerCheck.cpp - is memory what a tensor says it is? -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/PointerCheck.h"

namespace flashc::cuda {
namespace {

struct Owner {
  unsigned memoryType = 0; ///< 0: memory that the driver does not know
  unsigned isManaged = 0;
  int ordinal = -1;
  CUdeviceptr deviceAddress = 0;
};

std::string describe(const Owner &owner) {
  if (owner.isManaged)
    return "managed memory";
  if (owner.memoryType == CU_MEMORYTYPE_DEVICE)
    return concat("memory of device ", owner.ordinal);
  return owner.memoryType == CU_MEMORYTYPE_HOST ? "pinned host memory"
                                                : "memory that the driver does not know";
}

} // namespace

void checkPointer(const Driver &driver, int ordinal, MemoryKind kind, const void *data,
                  std::string_view name) {
  if (!data)
    return;
  Owner owner;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
  void *values[] = {&owner.memoryType, &owner.isManaged, &owner.ordinal, &owner.deviceAddress};
  const CUdeviceptr address = reinterpret_cast<uintptr_t>(data);
  // For an address that it does not know this call gives zeros, or on some systems an error.
  const CUresult result = driver.cuPointerGetAttributes(4, attributes, values, address);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_CONTEXT)
    owner = Owner();
  else
    driver.check(result, "cuPointerGetAttributes", " for ", name, " at ", data);
  const bool isDevice = owner.memoryType == CU_MEMORYTYPE_DEVICE && !owner.isManaged;
  switch (kind) {
  case MemoryKind::Device:
    if (!owner.isManaged && (!isDevice || owner.ordinal != ordinal))
      fail(name, ": expected memory of device ", ordinal, ", got ", describe(owner), " at ", data,
           "; copy it to the device");
    return;
  case MemoryKind::Managed:
    if (!owner.isManaged)
      fail(name, ": expected managed memory, as its device type says, got ", describe(owner),
           " at ", data);
    return;
  case MemoryKind::PinnedHost:
    if (owner.memoryType != CU_MEMORYTYPE_HOST && !owner.isManaged)
      fail(name, ": expected pinned host memory, as its device type says, got ", describe(owner),
           " at ", data);
    if (owner.deviceAddress != address)
      fail(name, ": expected pinned host memory at the same address for the device, got ", data,
           " on the host; copy it to the device");
    return;
  }
}

} // namespace flashc::cuda
