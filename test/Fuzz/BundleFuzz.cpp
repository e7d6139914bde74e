//===- BundleFuzz.cpp - libFuzzer target of the bundle reader -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Any bytes either are read or give an Error. Inputs that do not begin as a
// bundle are pairs of a 16-bit offset and a byte to patch a good one with, and
// images are read to their last byte, so that a sanitizer sees where they lie.
//
//===----------------------------------------------------------------------===//
#include "runtime/Bundle/Bundle.h"
#include "runtime/Support/Error.h"

#include <algorithm>

using namespace flashc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  std::vector<std::byte> file(bytes, bytes + size);
  if (!isBundle(file)) {
    static constexpr std::byte image[100] = {};
    static const std::vector<std::byte> good = writeBundle(std::vector<BundleImage>{
        {"x86-64-v3", BundleImage::Kind::Object, image}, {"sm_80", BundleImage::Kind::PTX, {}}});
    file = good;
    for (size_t at = 0; at + 3 <= size; at += 3)
      file[(data[at] | data[at + 1] << 8) % file.size()] = bytes[at + 2];
  }
  try {
    const std::vector<BundleImage> images = readBundle(file);
    for (const BundleImage &image : images)
      volatile auto highest [[maybe_unused]] =
          image.bytes.empty() ? std::byte{}
                              : *std::max_element(image.bytes.begin(), image.bytes.end());
    chooseImage(images, {[](const BundleImage &) { return true; }, ""});
    listImages(images);
  } catch (const Error &) {
  }
  return 0;
}
