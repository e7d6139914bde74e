//===- BundleTest.cpp - one kernel for several targets, in one file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What is written is read back, the best image is found, and no damage goes
// unseen. That LLVM's tools read the files too is tested in Tools/bundle.test.
//
//===----------------------------------------------------------------------===//
#include "runtime/Bundle/Bundle.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/Bundle/OffloadBinary.h"
#include "runtime/Support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace flashc;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

namespace {

using Kind = BundleImage::Kind;

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

const std::vector<BundleImage> images = {{"x86-64-v4", Kind::Object, bytesOf("v4 object")},
                                         {"sm_80", Kind::PTX, bytesOf("// PTX for sm_80\n")},
                                         {"x86-64-v3", Kind::Object, bytesOf("")},
                                         {"sm_90", Kind::PTX, bytesOf("PTX 90")},
                                         {"sm_90", Kind::Cubin, bytesOf("cubin 90")}};

/// The image that a machine takes which runs images for `targets`.
std::string choose(std::vector<std::string> targets, const std::string &wanted = "",
                   bool cubins = true) {
  const auto canRun = [&](const BundleImage &image) {
    return (cubins || image.kind != Kind::Cubin) &&
           std::find(targets.begin(), targets.end(), image.target) != targets.end();
  };
  const BundleImage *image = chooseImage(images, {canRun, wanted});
  return image ? image->target + " " + std::string(nameOf(image->kind)) : "none";
}

TEST(BundleTest, ReadsWhatItWrites) {
  const std::vector<std::byte> file = writeBundle(images);
  EXPECT_EQ(file.size() % 8, 0u);
  EXPECT_TRUE(isBundle(file));
  const std::vector<BundleImage> read = readBundle(file);
  ASSERT_EQ(read.size(), images.size());
  for (size_t n = 0; n < read.size(); ++n) {
    EXPECT_EQ(read[n].target, images[n].target);
    EXPECT_EQ(read[n].kind, images[n].kind);
    EXPECT_EQ(textOf(read[n].bytes), textOf(images[n].bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read[n].bytes.data()) % 8, 0u);
  }
  EXPECT_EQ(writeBundle(read), file);
  EXPECT_EQ(listImages(read), "x86-64-v4, sm_80 (PTX), x86-64-v3, sm_90 (PTX), sm_90 (cubin)");
}

TEST(BundleTest, TheLayoutIsLLVMs) {
  const std::vector<std::byte> file = writeBundle(std::span(images).first(1));
  const auto number = [&](size_t offset) {
    uint64_t value;
    std::memcpy(&value, file.data() + offset, 8);
    return value;
  };
  EXPECT_EQ(textOf(std::span(file).first(8)), std::string("\x10\xff\x10\xad\1\0\0\0", 8));
  EXPECT_EQ(number(8), file.size());
  EXPECT_EQ(number(16), 32u);          // the entry
  EXPECT_EQ(number(24), 40u);          // its size
  EXPECT_EQ(number(32), 1u);           // an object of no producer, no flags
  EXPECT_EQ(number(40), 72u);          // the strings
  EXPECT_EQ(number(48), 4u);           // their number
  EXPECT_EQ(number(72), 72u + 4 * 16); // the first key
  EXPECT_STREQ(reinterpret_cast<const char *>(file.data() + number(72)), "triple");
  EXPECT_STREQ(reinterpret_cast<const char *>(file.data() + number(96)), "x86-64-v4");
  EXPECT_EQ(textOf(std::span(file).subspan(number(56), number(64))), "v4 object");
}

TEST(BundleTest, TheBestImageIsTaken) {
  EXPECT_EQ(choose({"x86-64-v3"}), "x86-64-v3 object");
  EXPECT_EQ(choose({"x86-64-v3", "x86-64-v4"}), "x86-64-v4 object");
  EXPECT_EQ(choose({"x86-64-v3", "x86-64-v4"}, "x86-64-v3"), "x86-64-v3 object");
  EXPECT_EQ(choose({"x86-64-v3", "x86-64-v4", "sm_80"}), "sm_80 PTX");
  EXPECT_EQ(choose({"x86-64-v3", "x86-64-v4", "sm_80"}, "cpu"), "x86-64-v4 object");
  EXPECT_EQ(choose({"sm_80", "sm_90", "x86-64-v3"}), "sm_90 cubin");
  EXPECT_EQ(choose({"sm_80", "sm_90", "x86-64-v3"}, "", false), "sm_90 PTX");
  EXPECT_EQ(choose({"sm_80", "sm_90", "x86-64-v3"}, "sm_80"), "sm_80 PTX");
  EXPECT_EQ(choose({"x86-64-v3"}, "cuda"), "none");
  EXPECT_EQ(choose({}), "none");
  EXPECT_EQ(choose({"x86-64-v3"}, "x86-64-v4"), "none");
}

TEST(BundleTest, ProcessorsOrderTheirImages) {
  const std::vector<BundleImage> objects = {{"x86-64-v4-bf16", Kind::Object, {}},
                                            {"x86-64-v3", Kind::Object, {}},
                                            {"x86-64-v4", Kind::Object, {}},
                                            {"sm_80", Kind::PTX, {}}};
  const auto chosen = [&](std::vector<std::string> order, const std::string &wanted = "cpu") {
    BundleChoice choice = {[](const BundleImage &) { return true; }, wanted};
    for (const std::string &name : order)
      choice.processors.push_back(lookupTarget(name));
    return chooseImage(objects, choice)->target;
  };
  EXPECT_EQ(chosen({}), "x86-64-v4-bf16");
  EXPECT_EQ(chosen({"x86-64-v3", "x86-64-v4-bf16", "x86-64-v4"}), "x86-64-v4");
  EXPECT_EQ(chosen({"x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"}), "x86-64-v4-bf16");
  EXPECT_EQ(chosen({"x86-64-v3"}), "x86-64-v3");
  EXPECT_EQ(chosen({"x86-64-v3", "x86-64-v4-bf16", "x86-64-v4"}, "x86-64-v4-bf16"),
            "x86-64-v4-bf16");
  EXPECT_EQ(chosen({"x86-64-v4"}, ""), "sm_80");
}

TEST(BundleTest, UnknownTargetsAreNotTaken) {
  const std::vector<BundleImage> strange = {
      {"riscv64", Kind::Object, {}}, {"sm_80", Kind::Object, {}}, {"x86-64-v4", Kind::PTX, {}}};
  EXPECT_EQ(chooseImage(strange, {[](const BundleImage &) { return true; }, ""}), nullptr);
}

TEST(BundleTest, EveryFlippedBitOfAnImageIsSeen) {
  std::vector<std::byte> file = writeBundle(images);
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= std::byte(1 << bit % 8);
    try {
      // A flip elsewhere (in padding, in a triple) may go unseen, but what is taken for an image is
      // what was written.
      for (const BundleImage &image : readBundle(file))
        EXPECT_TRUE(std::any_of(images.begin(), images.end(), [&](const BundleImage &original) {
          return original.target == image.target && original.kind == image.kind &&
                 textOf(original.bytes) == textOf(image.bytes);
        })) << bit;
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), HasSubstr("bundle: expected ")) << bit;
    }
    file[bit / 8] ^= std::byte(1 << bit % 8);
  }
}

TEST(BundleTest, EveryOtherLengthIsSeen) {
  std::vector<std::byte> file = writeBundle(std::span(images).first(2));
  const size_t first = writeBundle(std::span(images).first(1)).size();
  for (size_t size = 0; size < file.size(); ++size)
    if (size != first) {
      // A copy, so that a sanitizer sees reads beyond the end.
      const std::vector<std::byte> part(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_THROW(readBundle(part), Error) << size;
    }
  file.push_back({});
  EXPECT_THROW(readBundle(file), Error);
}

TEST(BundleTest, HostileNumbersAreRefused) {
  const std::vector<std::byte> good = writeBundle(std::span(images).first(1));
  for (const size_t offset : {8, 16, 24, 40, 48, 56, 64, 72, 80, 88})
    for (const uint64_t value : {~0ull, ~0ull - 7, 1ull << 63, 1ull << 32, 100000ull}) {
      std::vector<std::byte> file = good;
      std::memcpy(file.data() + offset, &value, 8);
      EXPECT_THAT([&] { readBundle(file); }, ThrowsMessage<Error>(HasSubstr("bundle: expected ")))
          << offset << ' ' << value;
    }
}

TEST(BundleTest, WhatIsNoBundleSaysWhy) {
  const auto write = [](std::vector<std::pair<std::string, std::string>> strings, uint16_t kind) {
    std::vector<std::byte> file;
    writeOffloadBinary({kind, 0, 0, std::move(strings), bytesOf("image")}, file);
    return file;
  };
  const auto expect = [](const std::vector<std::byte> &file, const char *text) {
    EXPECT_THAT([&] { readBundle(file); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  expect({}, "expected an offload binary");
  expect(write({{"arch", "sm_80"}}, 5), "expected version 1 of flashc's bundles, got ''");
  expect(write({{"flashc-bundle", "2"}}, 5), "got '2'; compile it with this version");
  expect(write({{"flashc-bundle", "1"}}, 5), "expected a target for every image");
  expect(write({{"flashc-bundle", "1"}, {"arch", "sm_80"}}, 2), "got an image of kind 2");
  expect(write({{"flashc-bundle", "1"}, {"arch", "sm_80"}}, 5), "the file is damaged");
  std::vector<std::byte> other = writeBundle(std::span(images).first(1));
  other[4] = std::byte{2};
  expect(other, "expected version 1 of offload binaries, got 2");
  std::vector<std::byte> twice = writeBundle(std::span(images).first(1)), again = twice;
  twice.insert(twice.end(), again.begin(), again.end());
  expect(twice, "expected one object for x86-64-v4, got two");
  EXPECT_THAT([] { writeBundle({}); }, ThrowsMessage<Error>(HasSubstr("at least one image")));
  const std::vector<BundleImage> same = {images[0], images[0]};
  EXPECT_THAT([&] { writeBundle(same); }, ThrowsMessage<Error>(HasSubstr("got two")));
}

} // namespace
