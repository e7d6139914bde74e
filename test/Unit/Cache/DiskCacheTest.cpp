//===- DiskCacheTest.cpp - one process and its cache -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Hits, bad files, the bound, the environment, and folders that do not work.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Cache/CacheTestSupport.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <sched.h>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr uint64_t large = uint64_t(1) << 30;

/// What `get` gives for `number`, and in `made` how often it had to be made so far.
Bytes take(const DiskCache &cache, int number, int &made, size_t size = 1000) {
  return cache.get(keyOf(number), "number " + std::to_string(number), [&] {
    ++made;
    return payload(number, size);
  });
}

TEST(DiskCacheTest, MakesOnceAndFindsLater) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("deep/cache"), large);
  int made = 0;
  EXPECT_EQ(cache.find(keyOf(1)), std::nullopt);
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(take(cache, 1, made), payload(1));
  EXPECT_EQ(take(DiskCache(scratch.path("deep/cache"), large), 1, made), payload(1));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(take(cache, 2, made, 0), Bytes());
  EXPECT_EQ(take(cache, 2, made, 0), Bytes());
  EXPECT_EQ(made, 2);
  // Nothing else stays behind, and nobody else may read it.
  EXPECT_EQ(countFiles(cache.directory(), ""), 2u);
  struct stat status = {};
  ASSERT_EQ(::stat(cache.directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(DiskCacheTest, AFailureToMakeIsNotKept) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  EXPECT_THROW(cache.get(keyOf(1), "", []() -> Bytes { fail("expected this"); }), Error);
  EXPECT_EQ(take(cache, 1, made), payload(1));
  EXPECT_EQ(made, 1);
}

TEST(DiskCacheTest, BadFilesAreRemovedAndMadeAgain) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  take(cache, 1, made);
  take(cache, 2, made);
  const std::string file = "c/" + keyOf(1) + ".entry", good = scratch.read(file);
  std::string flipped = good;
  flipped[good.size() - 1] ^= 1;
  for (const std::string &bad :
       {std::string(), std::string("text"), good.substr(0, good.size() - 1), good + "x", flipped,
        std::string(5000, '\0'), scratch.read("c/" + keyOf(2) + ".entry")}) {
    scratch.write(file, bad);
    EXPECT_EQ(cache.find(keyOf(1)), std::nullopt);
    EXPECT_FALSE(std::filesystem::exists(scratch.path(file)));
    scratch.write(file, bad);
    made = 0;
    EXPECT_EQ(take(cache, 1, made), payload(1));
    EXPECT_EQ(made, 1);
    EXPECT_EQ(scratch.read(file), good);
  }
}

TEST(DiskCacheTest, HugeAndSpecialFilesAreNotRead) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  take(cache, 1, made);
  const std::string path = scratch.path("c/" + keyOf(1) + ".entry");
  std::filesystem::resize_file(path, uint64_t(1) << 40); // sparse
  EXPECT_EQ(cache.find(keyOf(1)), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path));

  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); // opening it must not wait for a writer
  EXPECT_EQ(take(cache, 1, made), payload(1));
  EXPECT_EQ(cache.find(keyOf(1)), payload(1)); // a file took its place

  std::filesystem::remove(path);
  scratch.write("elsewhere", "x");
  std::filesystem::create_symlink(scratch.path("elsewhere"), path);
  EXPECT_EQ(take(cache, 1, made), payload(1));
  EXPECT_EQ(scratch.read("elsewhere"), "x");
  EXPECT_FALSE(std::filesystem::is_symlink(path));

  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(inChild([&] { return take(cache, 1, made) == payload(1) ? 0 : 1; }), 0);
}

TEST(DiskCacheTest, TheLeastRecentlyUsedGoFirst) {
  const ScratchDirectory scratch;
  const uint64_t entry = 1000 + cacheHeaderBytes + 10;
  const DiskCache cache(scratch.path("c"), 4 * entry);
  int made = 0;
  for (int n = 0; n < 4; ++n) {
    take(cache, n, made);
    const timespec times[2] = {{1000 + n, 0}, {1000 + n, 0}};
    ::utimensat(AT_FDCWD, scratch.path("c/" + keyOf(n) + ".entry").c_str(), times, 0);
  }
  take(cache, 0, made); // used again
  EXPECT_EQ(made, 4);
  take(cache, 4, made);
  EXPECT_EQ(cache.find(keyOf(1)), std::nullopt);
  for (int n : {0, 2, 3, 4})
    EXPECT_EQ(cache.find(keyOf(n)), payload(n)) << n;

  for (int n = 10; n < 60; ++n)
    take(cache, n, made);
  EXPECT_EQ(countFiles(cache.directory(), ""), 4u);
  EXPECT_NE(cache.find(keyOf(59)), std::nullopt);

  // What is larger than all of it is not kept, and drives nothing out.
  EXPECT_EQ(inChild([&] {
              take(cache, 100, made, 5 * entry);
              return countFiles(cache.directory(), "") == 4 ? 0 : 1;
            }),
            0);
  EXPECT_NE(cache.find(keyOf(59)), std::nullopt);
}

TEST(DiskCacheTest, PruneRemovesBadFilesAndLeavesForeignOnes) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  for (int n = 0; n < 5; ++n)
    take(cache, n, made);
  scratch.write("c/" + keyOf(0) + ".entry", "bad");
  scratch.write("c/" + keyOf(7) + ".tmp-1-1", "half");
  scratch.write("c/" + keyOf(7) + ".lock", "");
  scratch.write("c/README", "a user's");
  scratch.write("c/" + keyOf(7) + ".other", "a user's");
  const auto listed = cache.list(true);
  ASSERT_EQ(listed.size(), 5u);
  int bad = 0;
  for (const auto &entry : listed)
    bad += !entry.problem.empty();
  EXPECT_EQ(bad, 1);

  DiskCache::Pruned pruned = cache.prune(large);
  EXPECT_EQ(pruned.files, 2u);
  EXPECT_EQ(pruned.keptFiles, 4u);
  EXPECT_EQ(countFiles(cache.directory(), ""), 6u);
  pruned = cache.prune(0);
  EXPECT_EQ(pruned.keptFiles, 0u);
  EXPECT_EQ(countFiles(cache.directory(), ""), 2u);
  EXPECT_EQ(scratch.read("c/README"), "a user's");
  EXPECT_EQ(DiskCache(scratch.path("none"), large).prune(0).files, 0u);
}

TEST(DiskCacheTest, TheEnvironmentSaysWhere) {
  const auto with = [](std::initializer_list<std::pair<const char *, const char *>> variables,
                       const std::string &folder, uint64_t bytes) {
    return inChild([&] {
      for (const char *name : {"FLASHC_CACHE_DIR", "FLASHC_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"})
        ::unsetenv(name);
      for (const auto &[name, value] : variables)
        ::setenv(name, value, 1);
      const DiskCache cache = DiskCache::fromEnvironment();
      return cache.directory() == folder && cache.maxBytes() == bytes ? 0 : 1;
    });
  };
  EXPECT_EQ(with({{"HOME", "/h"}}, "/h/.cache/flashc", large), 0);
  EXPECT_EQ(with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}, "/x/flashc", large), 0);
  EXPECT_EQ(with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "x"}}, "/h/.cache/flashc", large), 0);
  EXPECT_EQ(with({{"XDG_CACHE_HOME", "/x"}, {"FLASHC_CACHE_DIR", "/f"}}, "/f", large), 0);
  EXPECT_EQ(with({}, "", 0), 0);
  EXPECT_EQ(with({{"HOME", ""}}, "", 0), 0);
  EXPECT_EQ(with({{"HOME", "/h"}, {"FLASHC_CACHE_SIZE", "3M"}}, "/h/.cache/flashc", 3 << 20), 0);
  EXPECT_EQ(with({{"HOME", "/h"}, {"FLASHC_CACHE_SIZE", "0"}}, "/h/.cache/flashc", 0), 0);
  for (const char *bad : {"x", "-1", "1T", "9999999999999999999999", "1.5G", " 1"})
    EXPECT_EQ(inChild([&] {
                ::setenv("FLASHC_CACHE_SIZE", bad, 1);
                try {
                  DiskCache::fromEnvironment();
                } catch (const Error &error) {
                  return std::string(error.what()).find("FLASHC_CACHE_SIZE: expected") == 0 ? 0 : 2;
                }
                return 1;
              }),
              0)
        << bad;
}

TEST(DiskCacheTest, WithoutAFolderEverythingIsMade) {
  int made = 0;
  const DiskCache none("", large);
  take(none, 1, made);
  take(none, 1, made);
  EXPECT_EQ(made, 2);
}

/// Runs `body` with standard error in a file, and returns the file's text.
template <typename Body> std::string errorsOf(const ScratchDirectory &scratch, Body body) {
  const std::string log = scratch.write("log", "");
  std::filesystem::permissions(log, std::filesystem::perms(0666));
  EXPECT_EQ(inChild([&] {
              ::dup2(::open(log.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
              return body();
            }),
            0);
  return scratch.read("log");
}

size_t count(const std::string &text, const std::string &part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++number;
  return number;
}

/// Three kernels, twice, from a cache that keeps none: right, made each time, and one note.
int takeUnkept(const DiskCache &cache) {
  int made = 0;
  for (int round = 0; round < 2; ++round)
    for (int n = 0; n < 3; ++n)
      if (take(cache, n, made, 100000) != payload(n, 100000))
        return 1;
  return made == 6 ? 0 : 2;
}

TEST(DiskCacheTest, AReadOnlyFolderIsReadAndNotedOnce) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  take(cache, 50, made);
  std::filesystem::permissions(scratch.path("."), std::filesystem::perms(0755));
  std::filesystem::permissions(cache.directory(), std::filesystem::perms(0555));
  const std::string errors = errorsOf(scratch, [&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) // to root every folder can be written to
      return 3;
    int madeHere = 0;
    if (take(cache, 50, madeHere) != payload(50) || madeHere != 0)
      return 4;
    return takeUnkept(cache);
  });
  EXPECT_EQ(count(errors, "flashc: note: "), 1u) << errors;
  EXPECT_EQ(count(errors, "\n"), 1u) << errors;
  std::filesystem::permissions(cache.directory(), std::filesystem::perms(0755));
}

TEST(DiskCacheTest, AFolderForEverybodyIsNotTrusted) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  int made = 0;
  take(cache, 0, made);
  ::chmod(cache.directory().c_str(), 01777);
  EXPECT_EQ(cache.find(keyOf(0)), std::nullopt);
  const std::string errors = errorsOf(scratch, [&] { return takeUnkept(cache); });
  EXPECT_EQ(count(errors, "anyone may write to this folder"), 1u) << errors;
}

TEST(DiskCacheTest, AFileInPlaceOfTheFolderIsNoted) {
  const ScratchDirectory scratch;
  scratch.write("c", "x");
  const DiskCache cache(scratch.path("c"), large);
  const std::string errors = errorsOf(scratch, [&] { return takeUnkept(cache); });
  EXPECT_EQ(count(errors, "flashc: note: "), 1u) << errors;
}

TEST(DiskCacheTest, ALimitOnFileSizesDoesNotEndTheProcess) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  const std::string errors = errorsOf(scratch, [&] {
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return takeUnkept(cache);
  });
  EXPECT_EQ(count(errors, "File too large"), 1u) << errors;
  EXPECT_EQ(countFiles(cache.directory(), ""), 0u);
}

TEST(DiskCacheTest, AFullDiskIsNotedOnce) {
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path("c"), large);
  std::filesystem::create_directory(scratch.path("c"));
  const std::string errors = errorsOf(scratch, [&] {
    const int spaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(spaces) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", cache.directory().c_str(), "tmpfs", 0, "size=65536,mode=700") != 0) {
      std::fprintf(stderr, "no mount: %s", std::strerror(errno));
      return 0;
    }
    const int code = takeUnkept(cache);
    return countFiles(cache.directory(), "") == 0 ? code : 5;
  });
  if (errors.starts_with("no mount"))
    GTEST_SKIP() << "this machine lets no test mount a small file system (" << errors << ")";
  EXPECT_EQ(count(errors, "No space left"), 1u) << errors;
}

} // namespace
