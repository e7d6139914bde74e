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

TEST(PtxasTest, CompilesSeveralKernels) {
  FLASHC_NEED_TOOLKIT();
  const std::string second = kernelPTX("sm_80", "merge");
  const std::string ptx = kernelPTX("sm_80") + second.substr(second.find(".visible"));
  const std::string cubin = asText(Ptxas::get().compile(ptx, "sm_80"));
  EXPECT_THAT(cubin, HasSubstr(".text.attention"));
  EXPECT_THAT(cubin, HasSubstr(".text.merge"));
}

/// A kernel that calls a function beside it.
std::string ptxWithFunction(const std::string &body = "  ret;\n") {
  std::string ptx = kernelPTX("sm_80");
  ptx.replace(ptx.find(".visible .entry"), 0,
              ".visible .func again(\n  .param .b64 number\n)\n;\n");
  ptx.replace(ptx.rfind("  ret;"), 0,
              "  {\n  .param .b64 p0;\n  st.param.b64 [p0], %rd1;\n  call.uni again, (p0);\n  }\n");
  return ptx + ".visible .func again(\n  .param .b64 number\n)\n{\n" + body + "}\n";
}

TEST(PtxasTest, CompilesFunctionsApartAndLinksThem) {
  FLASHC_NEED_TOOLKIT();
  const ScratchDirectory scratch;
  ::setenv("TMPDIR", scratch.path("").c_str(), 1);
  for (const char *arch : {"sm_80", "sm_90a", "sm_120"}) {
    const std::string cubin = asText(Ptxas::get().compile(ptxWithFunction(), arch));
    EXPECT_THAT(cubin, HasSubstr(".text.attention"));
    EXPECT_THAT(cubin, HasSubstr("again"));
  }
  // What is wrong is told of the whole, and nothing left behind.
  EXPECT_THAT([] { Ptxas::get().compile(ptxWithFunction("  wrong;\n"), "sm_90"); },
              ThrowsMessage<Error>(::testing::AllOf(
                  StartsWith("expected PTX that ptxas compiles for sm_90, got an error:\n"),
                  HasSubstr("kernel.ptx"))));
  EXPECT_EQ(scratch.fileCount(), 0u);
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

TEST(PtxasDeathTest, AssemblesKernelsSideBySideWhereItCan) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Stand-ins that give what they are asked for.
  const ScratchDirectory scratch;
  for (const char *release : {"12.4", "13.0"}) {
    std::filesystem::create_directories(scratch.path(std::string(release) + "/bin"));
    ::chmod(scratch
                .write(std::string(release) + "/bin/ptxas",
                       "#!/bin/sh\n[ $1 = --version ] && exec echo release " +
                           std::string(release) + ", V\nto=$4\nshift 4\necho \"extra: $*.\" >$to\n")
                .c_str(),
            0755);
  }
  const std::string one = kernelPTX("sm_80"), two = one + kernelPTX("sm_80", "merge");
  const auto tell = [&](const char *release, const std::string &ptx) {
    ::setenv("FLASHC_CUDA_PATH", scratch.path(release).c_str(), 1);
    std::fputs(asText(Ptxas::get().compile(ptx, "sm_80")).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(tell("13.0", two), ::testing::ExitedWithCode(0), "extra: --split-compile 0\\.");
  EXPECT_EXIT(tell("13.0", one), ::testing::ExitedWithCode(0), "extra: \\.");
  EXPECT_EXIT(tell("12.4", two), ::testing::ExitedWithCode(0), "extra: \\.");
}

TEST(PtxasDeathTest, LinksWhereTheToolkitCan) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScratchDirectory scratch;
  const auto install = [&](const std::string &folder, const char *program,
                           const std::string &text) {
    std::filesystem::create_directories(scratch.path(folder + "/bin"));
    ::chmod(scratch.write(folder + "/bin/" + program, "#!/bin/sh\n" + text).c_str(), 0755);
  };
  const std::string ptxas = "[ $1 = --version ] && exec echo release 13.0, V\n"
                            "to=$4\nname=$(basename $2)\nshift 4\necho \"$name $*.\" >$to\n";
  for (const char *folder : {"alone", "whole", "broken"})
    install(folder, "ptxas", ptxas);
  install("whole", "nvlink", "cat $2 $3 >$5\n");
  install("broken", "nvlink", "echo no such thing; exit 1\n");
  const auto tell = [&](const char *folder, const char *arch = "sm_90") {
    ::setenv("FLASHC_CUDA_PATH", scratch.path(folder).c_str(), 1);
    try {
      std::fputs(asText(Ptxas::get().compile(ptxWithFunction(), arch)).c_str(), stderr);
    } catch (const Error &error) {
      std::fputs(error.what(), stderr);
    }
    std::exit(0);
  };
  EXPECT_EXIT(tell("alone"), ::testing::ExitedWithCode(0), "kernel.ptx \\.");
  EXPECT_EXIT(tell("whole", "sm_80"), ::testing::ExitedWithCode(0), "kernel.ptx \\.");
  EXPECT_EXIT(tell("whole"), ::testing::ExitedWithCode(0),
              "part0.ptx -c\\.\npart1.ptx -c -maxrregcount=255\\.");
  EXPECT_EXIT(tell("broken"), ::testing::ExitedWithCode(0), "kernel.ptx \\.");
}

} // namespace
