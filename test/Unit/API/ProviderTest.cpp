//===- ProviderTest.cpp - finding and opening libflashc -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Each test runs in a process of its own (CTest), since a compiler once found stays.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Provider.h"
#include "runtime/API/Status.h"
#include "test/Unit/API/TestSupport.h"

#include <cstdlib>

using namespace flashc;

namespace {

TEST(Provider, FailsClearlyUntilTheLibraryIsThere) {
  setenv("FLASHC_LIBRARY", "/nowhere/libflashc.so", 1);
  try {
    compilerProvider();
    FAIL() << "found one";
  } catch (const StatusError &error) {
    EXPECT_EQ(error.status, FLASHC_ERROR_NO_COMPILER);
    EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/libflashc.so"));
  }
  EXPECT_EQ(compilerIdentity(), "");
  setenv("FLASHC_LIBRARY", TEST_OLD_COMPILER, 1);
  EXPECT_ERROR(compilerProvider(), "expected version 1 of the compiler's interface, got 99");
  setenv("FLASHC_LIBRARY", "libm.so.6", 1);
  EXPECT_ERROR(compilerProvider(), "not flashc's compiler");

  setenv("FLASHC_LIBRARY", TEST_FAKE_COMPILER, 1);
  // The identity is the same before the library is opened and after.
  const std::string identity = compilerIdentity();
  EXPECT_EQ(identity.size(), 40u);
  EXPECT_STREQ(compilerProvider().version(), "fake library");
  EXPECT_EQ(compilerProvider().identity, identity);
  EXPECT_EQ(compilerIdentity(), identity);
  setenv("FLASHC_LIBRARY", "/nowhere/libflashc.so", 1);
  EXPECT_STREQ(compilerProvider().version(), "fake library");
  EXPECT_EQ(compilerIdentity(), identity);
}

} // namespace
