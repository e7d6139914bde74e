//===- AtomicFileTest.cpp - files that appear whole or not at all -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Replacement, permissions, special files and failures.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/AtomicFile.h"

#include "test/Unit/IO/TestFiles.h"

#include <sys/stat.h>

using namespace flashc;
using namespace flashc::test;

namespace {

void write(const std::string &path, const std::string &content) {
  writeFileAtomically(path, {bytesOf(content), bytesOf("!")});
}

TEST(AtomicFileTest, WritesAndReplaces) {
  const ScratchDirectory scratch;
  write(scratch.path("f"), "first");
  EXPECT_EQ(scratch.read("f"), "first!");
  write(scratch.path("f"), "second");
  EXPECT_EQ(scratch.read("f"), "second!");
  EXPECT_EQ(scratch.fileCount(), 1u);
}

TEST(AtomicFileTest, NewFilesGetOrdinaryPermissions) {
  const ScratchDirectory scratch;
  const mode_t before = ::umask(022);
  write(scratch.path("f"), "x");
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(scratch.path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(AtomicFileTest, KeepsSymbolicLinks) {
  const ScratchDirectory scratch;
  scratch.write("target", "old");
  std::filesystem::create_symlink("target", scratch.path("link"));
  write(scratch.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_EQ(scratch.read("target"), "new!");
}

TEST(AtomicFileTest, WritesIntoDevices) {
  write("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFileTest, FailuresNameThePathAndLeaveNothing) {
  const ScratchDirectory scratch;
  expectError([&] { write(scratch.path("none/f"), "x"); }, {"none/f", "No such file"});
  std::filesystem::create_directory(scratch.path("dir"));
  expectError([&] { write(scratch.path("dir"), "x"); }, {"dir", "a directory"});
  if (std::filesystem::exists("/dev/full"))
    expectError([&] { write("/dev/full", "x"); }, {"/dev/full", "No space"});
  EXPECT_EQ(scratch.fileCount(), 1u);
}

} // namespace
