//===- PtxasTest.cpp - PTX compiled by the toolkit's assembler -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/ToolkitSupport.h"

#include <csignal>
#include <sys/stat.h>

using namespace flashc;
using namespace flashc::test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

namespace {

TEST(PtxasTest, CompilesAndLeavesNothingBehind) {
  FLASHC_NEED_TOOLKIT();
  const ScratchDirectory scratch;
  ::setenv("TMPDIR", scratch.path("").c_str(), 1);
  EXPECT_THAT(Ptxas::get().version(), HasSubstr("release"));
  for (const char *arch : {"sm_75", "sm_80", "sm_90a", "sm_120"}) {
    const std::string cubin = asText(Ptxas::get().compile(kernelPTX("sm_75"), arch));
    EXPECT_THAT(cubin, StartsWith("\x7f"
                                  "ELF"));
    EXPECT_THAT(cubin, HasSubstr(".text.attention"));
  }
  EXPECT_THAT([] { Ptxas::get().compile("not PTX", "sm_80"); },
              ThrowsMessage<Error>(::testing::AllOf(
                  StartsWith("expected PTX that ptxas compiles for sm_80, got an error:\n"),
                  HasSubstr("line 1"))));
  EXPECT_THAT([] { Ptxas::get().compile(kernelPTX("sm_80"), "sm_1"); },
              ThrowsMessage<Error>(HasSubstr("sm_1")));
  EXPECT_EQ(scratch.fileCount(), 0u);
  ::setenv("TMPDIR", "/nonexistent", 1);
  EXPECT_THAT([] { Ptxas::get().compile(kernelPTX("sm_80"), "sm_80"); },
              ThrowsMessage<Error>(HasSubstr("set TMPDIR")));
  ::unsetenv("TMPDIR");
}

TEST(PtxasTest, WorksWhereTheProgramReapsItsChildren) {
  FLASHC_NEED_TOOLKIT();
  Ptxas::get();
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_THAT(asText(Ptxas::get().compile(kernelPTX("sm_80"), "sm_80")),
              HasSubstr(".text.attention"));
  EXPECT_THROW(Ptxas::get().compile("not PTX", "sm_80"), Error);
  std::signal(SIGCHLD, before);
}

using PtxasDeathTest = ::testing::Test;

TEST(PtxasDeathTest, SaysWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto tell = [](const std::string &folder) {
    ::setenv("FLASHC_CUDA_PATH", folder.c_str(), 1);
    std::fputs(Ptxas::get().reason().c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(tell("/nonexistent"), ::testing::ExitedWithCode(0),
              "expected the program ptxas of the CUDA toolkit, got none; .*FLASHC_CUDA_PATH");
  // Something else by that name.
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path("bin"));
  ::chmod(scratch.write("bin/ptxas", "#!/bin/false\n").c_str(), 0755);
  EXPECT_EXIT(tell(scratch.path("")), ::testing::ExitedWithCode(0),
              "bin/ptxas: expected ptxas to say its version, got nothing");
}

} // namespace
