//===- Bundle.h - one kernel for several targets, in one file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// LLVM's offload binaries one after another, an image each. Their strings are
//
//   triple         x86_64-unknown-linux-gnu or nvptx64-nvidia-cuda
//   arch           the target: x86-64-v4, sm_80
//   flashc-bundle  the version of what flashc adds, 1
//   xxh3-128       the checksum of target, kind and image, in hexadecimal
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_BUNDLE_BUNDLE_H
#define FLASHC_RUNTIME_BUNDLE_BUNDLE_H

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

struct TargetInfo;

struct BundleImage {
  enum class Kind { Object, PTX, Cubin };

  std::string target;               ///< "x86-64-v4", "sm_80"
  Kind kind = Kind::Object;         ///< of a CPU; the others of a GPU
  std::span<const std::byte> bytes; ///< not owned
};

/// "object", "PTX" or "cubin".
std::string_view nameOf(BundleImage::Kind kind);

/// The file of `images`, which all differ in target or kind. Throws Error.
std::vector<std::byte> writeBundle(std::span<const BundleImage> images);

/// Whether `bytes` begin as a bundle does.
bool isBundle(std::span<const std::byte> bytes);

/// The images of a bundle, in the file's order; their bytes are parts of `file`. Any bytes will do:
/// throws Error where they are not a bundle of this version, whole and undamaged.
std::vector<BundleImage> readBundle(std::span<const std::byte> file);

/// What a machine can take of a bundle.
struct BundleChoice {
  /// Whether this machine runs an image.
  std::function<bool(const BundleImage &)> canRun;
  /// Only images for "cpu", for "cuda" or for a target of this name; "": any.
  std::string wanted;
  /// CPU targets from the slowest to the fastest; empty: in the order of TargetInfo.h. Images for
  /// others are slower than all of them.
  std::vector<const TargetInfo *> processors = {};
};

/// The best image: one for a GPU before one for a CPU, then by the order of TargetInfo.h, from the
/// least to the most capable, or that of the choice's processors, then a cubin before PTX. Null
/// where none will do.
const BundleImage *chooseImage(std::span<const BundleImage> images, const BundleChoice &choice);

/// "x86-64-v3, sm_80 (PTX)", for messages.
std::string listImages(std::span<const BundleImage> images);

} // namespace flashc

#endif // FLASHC_RUNTIME_BUNDLE_BUNDLE_H
