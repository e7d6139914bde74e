//===- NVJitLinkTest.cpp - PTX and cubins linked into one cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/ToolkitSupport.h"

using namespace flashc;
using namespace flashc::test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

namespace {

std::vector<std::byte> link(std::vector<std::string> texts, const std::string &arch) {
  std::vector<LinkInput> inputs;
  for (size_t n = 0; n < texts.size(); ++n)
    inputs.push_back({"input" + std::to_string(n) + ".ptx", asBytes(texts[n])});
  return NVJitLink::get().link(inputs, arch);
}

TEST(NVJitLinkTest, LinksPTXForEveryArchitecture) {
  FLASHC_NEED_TOOLKIT();
  EXPECT_GE(std::stod(NVJitLink::get().version()), 12);
  for (const char *arch :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    const std::string cubin = asText(link({kernelPTX("sm_75")}, arch));
    EXPECT_THAT(cubin, StartsWith("\x7f"
                                  "ELF"))
        << arch;
    EXPECT_THAT(cubin, HasSubstr(".text.attention")) << arch;
  }
}

TEST(NVJitLinkTest, LinksPTXWithCudaAndCubins) {
  FLASHC_NEED_TOOLKIT();
  const CudaSource source = {
      "second.cu", "extern \"C\" __global__ void second(int *to) { *to = 1; }", {}, {}};
  const std::string ptx = NVRTC::get().compileToPTX(source, "sm_80");
  const std::string both = asText(link({kernelPTX("sm_80"), ptx}, "sm_80"));
  EXPECT_THAT(both, HasSubstr(".text.attention"));
  EXPECT_THAT(both, HasSubstr(".text.second"));
  CudaSource relocatable = source;
  relocatable.options = {"-rdc=true"};
  const std::string cubin = asText(NVRTC::get().compileToCubin(relocatable, "sm_80"));
  EXPECT_THAT(asText(link({kernelPTX("sm_80") + std::string(1, '\0'), cubin}, "sm_80")),
              HasSubstr(".text.second"));
}

TEST(NVJitLinkTest, ErrorsCarryTheLog) {
  FLASHC_NEED_TOOLKIT();
  std::string broken = kernelPTX("sm_80");
  broken.replace(broken.find("ret;"), 4, "rot;");
  EXPECT_THAT([&] { link({broken}, "sm_80"); },
              ThrowsMessage<Error>(
                  ::testing::AllOf(StartsWith("expected nvJitLink to take input0.ptx, got error"),
                                   HasSubstr("line 18; error"), HasSubstr("rot"))));
  EXPECT_THAT([&] { link({kernelPTX("sm_80"), kernelPTX("sm_80")}, "sm_80"); },
              ThrowsMessage<Error>(HasSubstr("got attention in input0.ptx too; rename")));
  EXPECT_THAT([&] { link({kernelPTX("sm_90")}, "sm_80"); },
              ThrowsMessage<Error>(HasSubstr("expected nvJitLink to ")));
  for (const char *arch :
       {"sm_1", "sm_", "", "sm_90aa", "sm_9000", "compute_90", "x86-64-v4", "90"})
    EXPECT_THAT([&] { link({kernelPTX("sm_75")}, arch); },
                ThrowsMessage<Error>(HasSubstr("expected an architecture such as sm_90")))
        << arch;
  for (const char *arch : {"sm_10", "sm_999"})
    EXPECT_THAT([&] { link({kernelPTX("sm_75")}, arch); },
                ThrowsMessage<Error>(HasSubstr("expected nvJitLink to link for")))
        << arch;
  EXPECT_THAT([&] { link({std::string("a\0b", 3)}, "sm_80"); },
              ThrowsMessage<Error>(HasSubstr("zero byte")));
  EXPECT_THROW(link({}, "sm_80"), Error);
}

} // namespace
