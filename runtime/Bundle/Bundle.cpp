//===- Bundle.cpp - one kernel for several targets, in one file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Bundle/Bundle.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/Bundle/OffloadBinary.h"
#include "runtime/Cache/ContentHash.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace flashc {
namespace {

constexpr size_t mostImages = 256;
constexpr const char *version = "1";

std::string checksumOf(const BundleImage &image) {
  return ContentHash()
      .add("target", image.target)
      .add("kind", nameOf(image.kind))
      .add("image", image.bytes)
      .key();
}

uint16_t offloadKind(BundleImage::Kind kind) {
  switch (kind) {
  case BundleImage::Kind::Object:
    return OffloadBinary::Object;
  case BundleImage::Kind::PTX:
    return OffloadBinary::PTX;
  case BundleImage::Kind::Cubin:
    return OffloadBinary::Cubin;
  }
  return 0;
}

BundleImage::Kind parseKind(uint16_t kind) {
  for (const BundleImage::Kind known :
       {BundleImage::Kind::Object, BundleImage::Kind::PTX, BundleImage::Kind::Cubin})
    if (offloadKind(known) == kind)
      return known;
  fail("bundle: expected an object, PTX or a cubin, got an image of kind ", kind,
       "; was it written by flashc?");
}

/// Throws unless `image` may follow those before it.
void checkImage(std::span<const BundleImage> before, const BundleImage &image) {
  if (before.size() == mostImages)
    fail("bundle: expected at most ", mostImages, " images, got more");
  for (const BundleImage &other : before)
    if (other.target == image.target && other.kind == image.kind)
      fail("bundle: expected one ", nameOf(image.kind), " for ", image.target.substr(0, 100),
           ", got two");
}

bool isForCPU(const BundleImage &image) { return image.kind == BundleImage::Kind::Object; }

/// The image's place in the order of preference; nothing for targets that are not known.
std::optional<std::array<size_t, 3>> rankOf(const BundleImage &image, const BundleChoice &choice) {
  const TargetInfo *target = lookupTarget(image.target);
  if (!target || (target->kind == TargetKind::CPU) != isForCPU(image))
    return std::nullopt;
  size_t place = static_cast<size_t>(target - allTargets().data());
  if (isForCPU(image) && !choice.processors.empty()) {
    const auto found = std::ranges::find(choice.processors, target);
    place = found == choice.processors.end()
                ? 0
                : 1 + static_cast<size_t>(found - choice.processors.begin());
  }
  return std::array<size_t, 3>{!isForCPU(image), place, image.kind == BundleImage::Kind::Cubin};
}

} // namespace

std::string_view nameOf(BundleImage::Kind kind) {
  switch (kind) {
  case BundleImage::Kind::Object:
    return "object";
  case BundleImage::Kind::PTX:
    return "PTX";
  case BundleImage::Kind::Cubin:
    return "cubin";
  }
  return "";
}

std::vector<std::byte> writeBundle(std::span<const BundleImage> images) {
  if (images.empty())
    fail("bundle: expected at least one image, got none");
  std::vector<std::byte> file;
  for (size_t n = 0; n < images.size(); ++n) {
    const BundleImage &image = images[n];
    checkImage(images.first(n), image);
    OffloadBinary binary;
    binary.kind = offloadKind(image.kind);
    binary.producer = isForCPU(image) ? OffloadBinary::None : OffloadBinary::Cuda;
    binary.strings = {
        {"triple", isForCPU(image) ? "x86_64-unknown-linux-gnu" : "nvptx64-nvidia-cuda"},
        {"arch", image.target},
        {"flashc-bundle", version},
        {"xxh3-128", checksumOf(image)}};
    binary.image = image.bytes;
    writeOffloadBinary(binary, file);
  }
  return file;
}

bool isBundle(std::span<const std::byte> bytes) { return isOffloadBinary(bytes); }

std::vector<BundleImage> readBundle(std::span<const std::byte> file) {
  std::vector<BundleImage> images;
  do {
    const auto [binary, size] = readOffloadBinary(file);
    file = file.subspan(size);
    if (const std::string found = binary.find("flashc-bundle"); found != version)
      fail("bundle: expected version ", version, " of flashc's bundles, got '",
           found.substr(0, 100), "'; compile it with this version of flashc");
    BundleImage image{binary.find("arch"), parseKind(binary.kind), binary.image};
    if (image.target.empty())
      fail("bundle: expected a target for every image, got none");
    if (binary.find("xxh3-128") != checksumOf(image))
      fail("bundle: expected the image for ", image.target.substr(0, 100),
           " as it was written, got other bytes; the file is damaged");
    checkImage(images, image);
    images.push_back(std::move(image));
  } while (!file.empty());
  return images;
}

const BundleImage *chooseImage(std::span<const BundleImage> images, const BundleChoice &choice) {
  const BundleImage *best = nullptr;
  std::array<size_t, 3> bestRank = {};
  for (const BundleImage &image : images) {
    if (!choice.wanted.empty() && choice.wanted != image.target &&
        choice.wanted != (isForCPU(image) ? "cpu" : "cuda"))
      continue;
    const auto rank = rankOf(image, choice);
    if (!rank || (best && *rank < bestRank) || !choice.canRun(image))
      continue;
    best = &image;
    bestRank = *rank;
  }
  return best;
}

std::string listImages(std::span<const BundleImage> images) {
  std::string text;
  for (const BundleImage &image : images) {
    text += (text.empty() ? "" : ", ") + image.target.substr(0, 100);
    if (!isForCPU(image))
      text += concat(" (", nameOf(image.kind), ")");
  }
  return text;
}

} // namespace flashc
