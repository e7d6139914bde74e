//===- CacheEntryTest.cpp - the format of a cached file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// No damage goes unseen, and keys tell all inputs apart.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/CacheEntry.h"
#include "test/Unit/Cache/CacheTestSupport.h"

using namespace flashc;
using namespace flashc::test;

namespace {

TEST(CacheEntryTest, GoodEntriesAreGood) {
  for (size_t size : {0, 1, 1000}) {
    const auto file = writeCacheEntry(keyOf(1), "what it is", payload(1, size));
    EXPECT_EQ(checkCacheEntry(file, keyOf(1)), "");
    const CacheHeader header = readCacheHeader(file, file.size(), keyOf(1));
    EXPECT_EQ(header.descriptionBytes, 10u);
    EXPECT_EQ(header.payloadBytes, size);
  }
  const auto cut = writeCacheEntry(keyOf(1), std::string(10000, 'x'), payload(1));
  EXPECT_EQ(checkCacheEntry(cut, keyOf(1)), "");
}

TEST(CacheEntryTest, EveryFlippedBitIsSeen) {
  auto file = writeCacheEntry(keyOf(1), "text", payload(1, 50));
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_NE(checkCacheEntry(file, keyOf(1)), "") << "bit " << bit;
    file[bit / 8] ^= std::byte(1 << bit % 8);
  }
  EXPECT_EQ(checkCacheEntry(file, keyOf(1)), "");
}

TEST(CacheEntryTest, EveryOtherLengthIsSeen) {
  auto file = writeCacheEntry(keyOf(1), "text", payload(1, 50));
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(checkCacheEntry(std::span(file).first(size), keyOf(1)), "") << size;
  file.push_back({});
  EXPECT_NE(checkCacheEntry(file, keyOf(1)), "");
}

TEST(CacheEntryTest, OtherKeysAndVersionsAreSeen) {
  auto file = writeCacheEntry(keyOf(1), "", payload(1));
  EXPECT_EQ(checkCacheEntry(file, keyOf(2)), "of another key");
  file[7] = std::byte{2};
  EXPECT_EQ(checkCacheEntry(file, keyOf(1)), "of another version");
  file[0] = std::byte{0};
  EXPECT_EQ(checkCacheEntry(file, keyOf(1)), "not written by flashc");
}

TEST(CacheEntryTest, KeysTellPartsApart) {
  const auto key = [](std::initializer_list<std::pair<const char *, const char *>> parts) {
    ContentHash hash;
    for (const auto &[name, text] : parts)
      hash.add(name, std::string_view(text));
    return hash.key();
  };
  EXPECT_TRUE(isCacheKey(key({})));
  EXPECT_EQ(key({{"a", "b"}}), key({{"a", "b"}}));
  EXPECT_NE(key({{"a", "bc"}}), key({{"ab", "c"}}));
  EXPECT_NE(key({{"a", "b"}, {"c", "d"}}), key({{"a", "bcd"}}));
  EXPECT_NE(key({{"a", "b"}, {"c", "d"}}), key({{"c", "d"}, {"a", "b"}}));
  EXPECT_NE(key({{"a", ""}}), key({}));
  // The same on every machine, or a shared folder would hold everything twice.
  EXPECT_EQ(ContentHash().add("arch", "sm_90a").key(), "cfa8e4abcf414a91efa4bd5a6eb3e66e");
  EXPECT_FALSE(isCacheKey("../../../../../etc/passwd0000000"));
  EXPECT_FALSE(isCacheKey(keyOf(1) + "0"));
}

} // namespace
