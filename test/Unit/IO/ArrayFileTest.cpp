//===- ArrayFileTest.cpp - the FILE[:NAME] interface -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// How specs are split, and what each kind of path gives.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/ArrayFile.h"

#include "test/Unit/IO/TestFiles.h"

#include <sys/stat.h>

using namespace flashc;
using namespace flashc::test;

namespace {

std::string one(float value) { return npyOf("<f4", "(1,)", raw({value})); }

void expectSpec(const std::string &spec, const std::string &path, ArrayFormat format,
                const std::string &name) {
  const ArraySpec parsed = parseArraySpec(spec);
  EXPECT_EQ(parsed.path, path);
  EXPECT_EQ(parsed.format, format);
  EXPECT_EQ(parsed.name, name);
}

TEST(ArrayFileTest, SplitsSpecs) {
  expectSpec("f.npy", "f.npy", ArrayFormat::Npy, "");
  expectSpec("a:b/f.npy", "a:b/f.npy", ArrayFormat::Npy, "");
  expectSpec("f.npz", "f.npz", ArrayFormat::Npz, "");
  expectSpec("f.npz:q", "f.npz", ArrayFormat::Npz, "q");
  expectSpec("f.npz:a:b", "f.npz", ArrayFormat::Npz, "a:b");
  expectSpec("f.npz:a.npy", "f.npz", ArrayFormat::Npz, "a.npy");
  expectSpec("f.npz:x.safetensors:y", "f.npz", ArrayFormat::Npz, "x.safetensors:y");
  expectSpec("a:b/f.safetensors:m.q", "a:b/f.safetensors", ArrayFormat::SafeTensors, "m.q");
  for (const char *spec : {"", "f", "f.txt", "f.NPY", "npy", "f.npy:q", "f.npz:", "f.safetensors:"})
    EXPECT_THROW(parseArraySpec(spec), Error) << spec;
  expectError([] { parseArraySpec("f.npy:q"); }, {"f.npy:q", "one array"});
}

TEST(ArrayFileTest, ReadsByNameOrDefaultName) {
  const ScratchDirectory scratch;
  const std::string npz = scratch.write("f.npz", zip({{"q.npy", one(1)}, {"k.npy", one(2)}}));
  const std::string npyFile = scratch.write("f.npy", one(3));
  const std::string tensors = scratch.write(
      "f.safetensors",
      safeTensors(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", raw({4.0f})));
  EXPECT_EQ(readArray(npz, "q").at(0), 1);
  EXPECT_EQ(readArray(npz + ":k", "q").at(0), 2);
  EXPECT_EQ(readArray(npyFile, "q").at(0), 3);
  EXPECT_EQ(readArray(tensors, "q").at(0), 4);
  EXPECT_EQ(readArray(tensors + ":q", "k").at(0), 4);
  expectError([&] { readArray(npz, "v"); }, {npz, "'v'", "'q', 'k'"});
  expectError([&] { readArray(tensors, "v"); }, {tensors, "'v'", "'q'"});
}

TEST(ArrayFileTest, ListsAndReadsFromFilesAndBuffers) {
  const ScratchDirectory scratch;
  const std::string archive = zip({{"q.npy", one(1)}, {"k.npy", one(2)}});
  const ArrayFile opened = ArrayFile::open(scratch.write("f.npz", archive));
  const ArrayFile parsed = ArrayFile::parse(bytesOf(archive), ArrayFormat::Npz, "buffer");
  for (const ArrayFile *file : {&opened, &parsed}) {
    EXPECT_EQ(file->names(), (std::vector<std::string>{"q", "k"}));
    EXPECT_TRUE(file->contains("q"));
    EXPECT_FALSE(file->contains("v"));
    EXPECT_EQ(file->read("k").at(0), 2);
  }
  const std::string single = one(5);
  const ArrayFile npyFile = ArrayFile::parse(bytesOf(single), ArrayFormat::Npy, "buffer");
  EXPECT_EQ(npyFile.names(), std::vector<std::string>{""});
  EXPECT_EQ(npyFile.read("").at(0), 5);
  expectError([&] { npyFile.read("q"); }, {"buffer", "'q'"});
}

TEST(ArrayFileTest, RefusesWhatIsNoRegularFile) {
  const ScratchDirectory scratch;
  expectError([&] { ArrayFile::open(scratch.path("none.npy")); }, {"none.npy", "No such file"});
  const std::string directory = scratch.path("dir.npz");
  std::filesystem::create_directory(directory);
  expectError([&] { ArrayFile::open(directory); }, {"dir.npz", "a directory"});
  const std::string pipe = scratch.path("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expectError([&] { ArrayFile::open(pipe); }, {"pipe.npy", "pipe"}); // and does not wait
}

TEST(ArrayFileTest, SizeLimitHoldsForEveryFormat) {
  const ScratchDirectory scratch;
  ReadLimits limits;
  limits.maxFileBytes = 3;
  for (const char *name : {"f.npy", "f.npz", "f.safetensors"}) {
    const std::string path = scratch.write(name, "1234");
    expectError([&] { readArray(path, "q", limits); }, {path, "at most 3 bytes", "got 4"});
  }
}

TEST(ArrayFileTest, SparseHugeFileIsRefusedBeforeReading) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("f.npy", "");
  std::error_code unsupported;
  std::filesystem::resize_file(path, (uint64_t(64) << 30) + 1, unsupported);
  if (unsupported)
    GTEST_SKIP() << "no sparse files here";
  expectError([&] { readArray(path, "q"); }, {path, "at most"});
}

TEST(ArrayFileTest, FileCutWhileOpenGivesAnError) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("f.npy", one(1));
  const ArrayFile file = ArrayFile::open(path);
  std::filesystem::resize_file(path, 20);
  expectError([&] { file.read(""); }, {path, "cut while"});
}

} // namespace
