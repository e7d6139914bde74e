//===- KernelImage.h - the part of a file that this machine runs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A kernel's file is an object for one target, or a bundle of several.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_KERNELIMAGE_H
#define FLASHC_RUNTIME_API_KERNELIMAGE_H

#include <cstddef>
#include <span>
#include <string>

namespace flashc {

/// What to load, parts of a file.
struct KernelImage {
  std::span<const std::byte> object;
  std::span<const std::byte> cubin; ///< of an object that is PTX, compiled ahead; empty: none
};

/// The object in `file` to load: the file itself, or of a bundle the best image that this machine
/// runs: for the first GPU, else for the processor. `wanted` narrows a bundle down to "cpu", "cuda"
/// or one target, for any of the GPUs. Throws Error for a damaged bundle, and StatusError
/// (FLASHC_ERROR_UNSUPPORTED) where no image will do.
KernelImage selectImage(std::span<const std::byte> file, const std::string &wanted);

} // namespace flashc

#endif // FLASHC_RUNTIME_API_KERNELIMAGE_H
