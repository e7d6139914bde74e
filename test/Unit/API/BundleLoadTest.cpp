//===- BundleLoadTest.cpp - bundles through the interfaces of programs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The object for x86-64-v3 that runs here, beside objects that are none.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Status.h"
#include "runtime/API/flashc.hpp"
#include "runtime/Bundle/Bundle.h"
#include "test/Unit/API/TestSupport.h"

using namespace flashc::test;
using testing::HasSubstr;
using Image = flashc::BundleImage;
using Bytes = std::vector<std::byte>;

namespace {

const Bytes object = readBytes(TEST_KERNEL_OBJECT);
const Bytes junk = {std::byte{'j'}, std::byte{'u'}, std::byte{'n'}, std::byte{'k'}};

Image image(const char *target, const Bytes &bytes, Image::Kind kind = Image::Kind::Object) {
  return {target, kind, bytes};
}

/// The status of a load; the kernel must be the object for x86-64-v3 where it succeeds.
flashc_status statusOf(const Bytes &file, const char *target) {
  flashc_kernel *kernel = nullptr;
  const flashc_status status = flashc_load_for(file.data(), file.size(), target, &kernel);
  if (status != FLASHC_OK)
    return status;
  const void *bytes = nullptr;
  size_t size = 0;
  EXPECT_EQ(flashc_kernel_object(kernel, &bytes, &size), FLASHC_OK);
  EXPECT_TRUE(std::ranges::equal(std::span(static_cast<const std::byte *>(bytes), size), object));
  flashc_kernel_release(kernel);
  return status;
}

TEST(BundleLoad, AProgramRunsABundle) {
  const std::vector<Image> images = {image("x86-64-v3", object),
                                     image("sm_80", junk, Image::Kind::PTX)};
  const Bytes file = flashc::writeBundle(images);
  const auto kernel = flashc::Kernel::load(file.data(), file.size());
  std::vector<float> q = {1, 2, 3, 4, 5, 6}, k(3), o(6), lse(2);
  const flashc::Tensors tensors = {{"q", {q, {1, 2, 1, 3}}},
                                   {"k", {k, {1, 1, 1, 3}}},
                                   {"v", {k, {1, 1, 1, 3}}},
                                   {"o", {o, {1, 2, 1, 3}}},
                                   {"lse", {lse, {1, 1, 2}}}};
  alignas(64) int64_t workspace[2];
  flashc::RunOptions options;
  options.workspace = workspace;
  options.workspaceBytes = sizeof(workspace);
  ASSERT_EQ(kernel.workspaceSize(tensors), sizeof(workspace));
  kernel.run(tensors, options);
  EXPECT_EQ(o, (std::vector<float>{1, 2, 3, 5, 6, 7})); // each row plus its number
}

TEST(BundleLoad, TheTargetIsTheCallers) {
  const std::vector<Image> images = {
      image("x86-64-v3", object), image("sm_80", junk, Image::Kind::PTX),
      image("sm_80", junk, Image::Kind::Cubin), image("riscv64", junk)};
  const Bytes file = flashc::writeBundle(images);
  for (const char *target : {"", "cpu", "x86-64-v3"}) {
    EXPECT_EQ(statusOf(file, target), FLASHC_OK) << target << flashc_last_error();
    EXPECT_EQ(statusOf(object, target), FLASHC_OK) << target << flashc_last_error();
  }
  for (const char *target : {"cuda", "sm_80", "x86-64-v4", "riscv64", "everything"}) {
    EXPECT_EQ(statusOf(file, target), FLASHC_ERROR_UNSUPPORTED) << target;
    EXPECT_THAT(flashc_last_error(),
                HasSubstr(std::string("runs for target ") + target +
                          ", got x86-64-v3, sm_80 (PTX), sm_80 (cubin), riscv64; compile"));
    EXPECT_EQ(statusOf(object, target), FLASHC_ERROR_UNSUPPORTED) << target;
    EXPECT_THAT(flashc_last_error(), HasSubstr("got one for x86-64-v3"));
  }
  flashc_kernel *kernel = nullptr;
  EXPECT_EQ(flashc_load_for(file.data(), file.size(), nullptr, &kernel), FLASHC_ERROR_INVALID);
}

TEST(BundleLoad, BadBundlesAreInvalid) {
  const std::vector<Image> images = {image("x86-64-v3", object)};
  Bytes file = flashc::writeBundle(images);
  for (const size_t size : {4ul, 40ul, file.size() / 2, file.size() - 8})
    EXPECT_EQ(statusOf(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)), ""),
              FLASHC_ERROR_INVALID)
        << size;
  file[file.size() / 2] ^= std::byte{1};
  EXPECT_EQ(statusOf(file, ""), FLASHC_ERROR_INVALID);
  EXPECT_THAT(flashc_last_error(), HasSubstr("the file is damaged"));
  // An image that lies about what it is.
  const std::vector<Image> lying = {image("x86-64-v3", junk)};
  EXPECT_EQ(statusOf(flashc::writeBundle(lying), ""), FLASHC_ERROR_INVALID);
  // A bundle in a bundle is no object.
  const Bytes inner = flashc::writeBundle(images);
  const std::vector<Image> outer = {image("x86-64-v3", inner)};
  EXPECT_EQ(statusOf(flashc::writeBundle(outer), ""), FLASHC_ERROR_INVALID);
}

} // namespace
