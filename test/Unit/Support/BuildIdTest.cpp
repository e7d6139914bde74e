//===- BuildIdTest.cpp - which build a piece of code is from -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Support/BuildId.h"
#include "test/Unit/IO/TestFiles.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fstream>
#include <iterator>

using namespace flashc;
using namespace flashc::test;

namespace {

TEST(BuildIdTest, IsTheSameFromMemoryAndFromTheFile) {
  const std::string own = buildIdAt(reinterpret_cast<const void *>(&buildIdAt));
  EXPECT_EQ(own.size(), 40u);
  EXPECT_EQ(own.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(buildIdOfFile("/proc/self/exe"), own);
}

TEST(BuildIdTest, IsAnotherForAnotherFile) {
  const std::string own = buildIdAt(reinterpret_cast<const void *>(&buildIdAt));
  // The C library's own, whatever stands before it in this program, as sanitizers do.
  const void *elsewhere = dlsym(RTLD_NEXT, "fopen");
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_NE(buildIdAt(elsewhere), own);
  int local = 0;
  EXPECT_EQ(buildIdAt(&local), "");
  EXPECT_EQ(buildIdAt(nullptr), "");
}

TEST(BuildIdTest, ForeignFilesHaveNone) {
  const ScratchDirectory scratch;
  EXPECT_EQ(buildIdOfFile(scratch.path("absent")), "");
  EXPECT_EQ(buildIdOfFile(scratch.path("")), ""); // a folder
  EXPECT_EQ(buildIdOfFile(scratch.write("text", "not ELF")), "");
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  // Cut off anywhere, and with any byte of the headers and notes wrong: another answer at most.
  for (size_t size = 0; size < head.size(); size += 7)
    buildIdOfFile(scratch.write("cut", head.substr(0, size)));
  for (size_t at = 4; at < 1200; ++at) {
    std::string bad = head;
    bad[at] = static_cast<char>(~bad[at]);
    buildIdOfFile(scratch.write("bad", bad));
  }
}

} // namespace
