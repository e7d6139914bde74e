//===- NVRTCTest.cpp - CUDA C++ compiled at run time -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/ToolkitSupport.h"

#include <thread>

using namespace flashc;
using namespace flashc::test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

namespace {

const CudaSource fill = {"fill.cu",
                         "#include \"value.h\"\n"
                         "extern \"C\" __global__ void fill(float *to) { to[threadIdx.x] = VALUE + "
                         "offset; }\n",
                         {"-DVALUE=2.5f"},
                         {{"value.h", "constexpr float offset = 1;\n"}}};

TEST(NVRTCTest, CompilesToPTXAndCubins) {
  FLASHC_NEED_TOOLKIT();
  const NVRTC &nvrtc = NVRTC::get();
  EXPECT_GE(std::stod(nvrtc.version()), 12);
  const std::string ptx = nvrtc.compileToPTX(fill, "sm_80");
  EXPECT_THAT(ptx, HasSubstr(".target sm_80"));
  EXPECT_THAT(ptx, HasSubstr(".visible .entry fill("));
  EXPECT_THAT(ptx, HasSubstr("1080033280")); // the bits of 3.5
  EXPECT_EQ(ptx.find('\0'), std::string::npos);
  EXPECT_THAT(asText(nvrtc.compileToCubin(fill, "sm_80")), StartsWith("\x7f"
                                                                      "ELF"));
}

TEST(NVRTCTest, ErrorsCarryTheLog) {
  FLASHC_NEED_TOOLKIT();
  const auto compile = [](CudaSource source, const std::string &arch = "sm_80") {
    return [=] { NVRTC::get().compileToPTX(source, arch); };
  };
  EXPECT_THAT(compile({"bad.cu", "__global__ void f() { undefined(); }", {}, {}}),
              ThrowsMessage<Error>(
                  ::testing::AllOf(StartsWith("bad.cu: expected CUDA C++ that NVRTC compiles"),
                                   HasSubstr("bad.cu(1): error: identifier \"undefined\""))));
  EXPECT_THAT(compile({"a.cu", "#include \"none.h\"", {}, {}}),
              ThrowsMessage<Error>(HasSubstr("none.h")));
  EXPECT_THAT(compile({"a.cu", "", {"-fno-such-option"}, {}}),
              ThrowsMessage<Error>(HasSubstr("no-such-option")));
  EXPECT_THAT(compile(fill, "sm_1"), ThrowsMessage<Error>(HasSubstr("arch")));
  EXPECT_THAT(compile({"zero.cu", std::string("int a;\0int b;", 13), {}, {}}),
              ThrowsMessage<Error>(HasSubstr("zero byte")));
}

TEST(NVRTCTest, CompilesFromManyThreads) {
  FLASHC_NEED_TOOLKIT();
  const std::string expected = NVRTC::get().compileToPTX(fill, "sm_90");
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] { EXPECT_EQ(NVRTC::get().compileToPTX(fill, "sm_90"), expected); });
  for (std::thread &thread : threads)
    thread.join();
}

// The libraries are looked for once in a process, so each of these is one of its own.
using NVRTCDeathTest = ::testing::Test;

TEST(NVRTCDeathTest, SaysWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto tell = [](const std::string &folder) {
    ::setenv("FLASHC_CUDA_PATH", folder.c_str(), 1);
    std::string texts;
    for (const std::string &reason : {NVRTC::get().reason(), NVJitLink::get().reason()})
      texts += reason + '\n';
    try {
      NVRTC::get().compileToPTX(fill, "sm_80");
    } catch (const Error &error) {
      texts += error.what() == NVRTC::get().reason() ? "same" : "another";
    }
    std::fputs(texts.c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(tell("/nonexistent"), ::testing::ExitedWithCode(0),
              "expected libnvrtc.so.13 of the CUDA toolkit, got none.*/nonexistent/lib64/"
              "libnvrtc.so.13.*FLASHC_CUDA_PATH[^\n]*\n"
              "expected libnvJitLink.so.13 of the CUDA toolkit[^\n]*\nsame");
  // Something else by that name.
  const ScratchDirectory scratch;
  scratch.write("libnvrtc.so.13", "text");
  EXPECT_EXIT(tell(scratch.path("")), ::testing::ExitedWithCode(0),
              "libnvrtc.so.13: file too short");
}

} // namespace
