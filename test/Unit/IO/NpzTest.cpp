//===- NpzTest.cpp - reading .npz -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Archives as numpy writes them, and damaged, lying and hostile ones.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Npz.h"

#include "test/Unit/IO/TestFiles.h"

using namespace flashc;
using namespace flashc::test;

namespace {

NpzFile open(const std::string &file, const ReadLimits &limits = {}) {
  return NpzFile(ByteSource::fromMemory(bytesOf(file), "x.npz", limits), limits);
}

std::string floats(std::initializer_list<float> values) {
  return npyOf("<f4", "(" + std::to_string(values.size()) + ",)", raw(values));
}

std::string zeros(size_t count) {
  return npyOf("|u1", "(" + std::to_string(count) + ",)", std::string(count, '\0'));
}

/// Opens `file` and reads all its arrays.
void readAll(const std::string &file, const ReadLimits &limits = {}) {
  const NpzFile npz = open(file, limits);
  for (const std::string &name : npz.names())
    npz.read(name);
}

TEST(NpzTest, ReadsStoredAndDeflatedEntriesInAnyOrder) {
  const std::string file = zip({{"q.npy", floats({1, 2})},
                                {"k.npy", floats({3}), true},
                                {"big.npy", zeros(3000000), true},
                                {"dir/", ""},
                                {"readme.txt", "no array"},
                                {"a/b.npy", floats({})}});
  const NpzFile npz = open(file);
  EXPECT_EQ(npz.names(), (std::vector<std::string>{"q", "k", "big", "a/b"}));
  EXPECT_TRUE(npz.contains("k"));
  EXPECT_FALSE(npz.contains("k.npy"));
  EXPECT_FALSE(npz.contains("readme"));
  EXPECT_EQ(npz.read("big").numElements(), 3000000);
  EXPECT_EQ(valuesOf(npz.read("k")), std::vector<double>{3});
  EXPECT_EQ(valuesOf(npz.read("q")), (std::vector<double>{1, 2}));
  EXPECT_EQ(valuesOf(npz.read("q")), (std::vector<double>{1, 2}));
  EXPECT_EQ(npz.read("a/b").numElements(), 0);
}

TEST(NpzTest, RefusesAnEmptyArchive) {
  expectError([] { open(zip({})); }, {"x.npz", "an empty"});
}

TEST(NpzTest, MissingArrayNamesTheOthers) {
  expectError([] { open(zip({{"k.npy", floats({1})}})).read("q"); },
              {"x.npz", "'q'", "'k'", "FILE:NAME"});
  expectError([] { open(zip({{"a.txt", ""}})).read("q"); }, {"without arrays"});
}

TEST(NpzTest, RefusesDuplicatesAndEncryption) {
  expectError([] { open(zip({{"q.npy", floats({1})}, {"q.npy", floats({2})}})); },
              {"x.npz", "'q'", "two"});
  expectError([] { open(zip({{"q.npy", floats({1}), false, 1}})); }, {"x.npz", "encrypted"});
}

TEST(NpzTest, RefusesOtherCompression) {
  expectError([] { open(zip({{"q.npy", floats({1}), false, 0, 12}})); }, {"method 12", "savez"});
}

TEST(NpzTest, RefusesABadChecksum) {
  for (const bool deflate : {false, true}) {
    ZipEntry entry{"q.npy", floats({1}), deflate};
    entry.breakCrc = true;
    expectError([&] { readAll(zip({entry})); }, {"'q'", "CRC"});
  }
}

TEST(NpzTest, RefusesAnEntryThatIsNoArray) {
  expectError([] { readAll(zip({{"q.npy", "not an array at all"}})); }, {"x.npz", "'q'", "magic"});
  expectError([] { readAll(zip({{"q.npy", floats({1}) + "more"}})); }, {"'q'", "4 bytes"});
}

TEST(NpzTest, RefusesSizesThatPackedBytesCannotHold) {
  ZipEntry bomb{"q.npy", zeros(1000), true};
  bomb.declaredInflated = 0xfffffff0;
  expectError([&] { open(zip({bomb})); }, {"packed bytes", "'q.npy'"});
  ZipEntry stored{"q.npy", zeros(1000)};
  stored.declaredInflated = 2000;
  expectError([&] { open(zip({stored})); }, {"packed bytes"});
  ZipEntry tooLong{"q.npy", zeros(1000), true};
  tooLong.declaredCompressed = 0x7fffffff;
  expectError([&] { open(zip({tooLong})); }, {"fit the file"});
}

TEST(NpzTest, RefusesDeclaredSizesThatDifferFromTheTruth) {
  for (const int64_t declared : {100, 1000, 2000, 4000}) {
    ZipEntry entry{"q.npy", zeros(1000), true};
    entry.declaredInflated = declared;
    EXPECT_THROW(readAll(zip({entry})), Error) << declared;
  }
  // An inner header that agrees with the outer lie: the data ends early.
  const std::string header = zeros(1000).substr(0, zeros(1000).size() - 1000);
  std::string lie = header;
  lie.replace(lie.find("(1000,)"), 7, "(3000,)");
  ZipEntry entry{"q.npy", lie + std::string(1000, '\0'), true};
  entry.declaredInflated = static_cast<int64_t>(lie.size()) + 3000;
  expectError([&] { readAll(zip({entry})); }, {"'q'", "truncated"});
}

TEST(NpzTest, RefusesBombsBeyondTheTotal) {
  const std::string file = zip({{"a.npy", zeros(600000), true}, {"b.npy", zeros(600000), true}});
  ReadLimits limits;
  readAll(file, limits);
  limits.maxInflatedBytes = 1000000;
  expectError([&] { open(file, limits); }, {"at most 1000000 bytes", "inflated"});
  limits.maxFileBytes = 10;
  expectError([&] { open(file, limits); }, {"at most 10 bytes"});
}

TEST(NpzTest, RefusesOverlappingEntries) {
  // Many directory records that all point at the one large entry.
  const std::string content = zeros(100000);
  const std::string one = zip({{"a.npy", content}});
  const size_t directory = one.find("PK\1\2");
  const std::string record = one.substr(directory, one.find("PK\5\6") - directory);
  std::string file = one.substr(0, directory), records;
  constexpr int count = 50;
  for (int i = 0; i < count; ++i) {
    std::string copy = record;
    copy[copy.size() - 5] = static_cast<char>('0' + i);
    records += copy;
  }
  file += records + "PK\5\6" + le(0, 4) + le(count, 2) + le(count, 2) + le(records.size(), 4) +
          le(directory, 4) + le(0, 2);
  expectError([&] { open(file); }, {"overlapping"});
}

TEST(NpzTest, RefusesOtherFilesAndEveryTruncation) {
  expectError([] { open(""); }, {"zip archive"});
  expectError([] { open(floats({1})); }, {"zip archive"});
  const std::string file = zip({{"q.npy", floats({1, 2})}, {"k.npy", floats({3}), true}});
  readAll(file);
  for (size_t size = 0; size < file.size(); ++size)
    expectError([&] { readAll(file.substr(0, size)); }, {"x.npz"});
}

TEST(NpzTest, SurvivesEveryByteChange) {
  const std::string file = zip({{"q.npy", floats({1, 2})}, {"k.npy", floats({3}), true}});
  for (size_t i = 0; i < file.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      try {
        readAll(changed);
      } catch (const Error &) {
      }
    }
  }
}

TEST(NpzTest, HostileNamesAreEscapedInMessages) {
  const std::string name = "\x1b[31m" + std::string(5000, 'x');
  expectError([&] { open(zip({{name + ".npy", floats({1})}})).read("q"); }, {"\\x1b[31m", "..."});
}

} // namespace
