//===- ReportTest.cpp - what people read ----------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Report.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace flashc::tool;

namespace {

TEST(Report, AlignsTables) {
  Table table;
  table.add({"a", "long cell", "x"});
  table.add({"longer", "b", ""});
  table.add({"c"});
  std::ostringstream out;
  table.print(out, "  ");
  EXPECT_EQ(out.str(), "  a       long cell  x\n  longer  b\n  c\n");
}

TEST(Report, QuotesForTheShell) {
  EXPECT_EQ(shellQuote("--window"), "--window");
  EXPECT_EQ(shellQuote("-1,0"), "-1,0");
  EXPECT_EQ(shellQuote("a/b.npz:q"), "a/b.npz:q");
  EXPECT_EQ(shellQuote(""), "''");
  EXPECT_EQ(shellQuote("j <= i"), "'j <= i'");
  EXPECT_EQ(shellQuote("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shellQuote("tile=[6,64]"), "'tile=[6,64]'");
}

TEST(Report, EscapesControlCharacters) {
  EXPECT_EQ(escapeControls("a\x1b[31mb\nc\td\x7f"), "a\\x1b[31mb\nc\td\\x7f");
}

TEST(Report, ChoosesUnits) {
  EXPECT_EQ(describeBytes(0), "0 bytes");
  EXPECT_EQ(describeBytes(1023), "1023 bytes");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(3.0 * (1 << 20)), "3 MiB");
  EXPECT_EQ(describeSeconds(2.5), "2.5 s");
  EXPECT_EQ(describeSeconds(0.0025), "2.5 ms");
  EXPECT_EQ(describeSeconds(2.5e-6), "2.5 us");
  EXPECT_EQ(describeFlops(1.5e9), "1.5 GFLOP");
  EXPECT_EQ(describeCount(123456789), "123456789");
  EXPECT_EQ(describeCount(1e30), "1e+30");
}

} // namespace
