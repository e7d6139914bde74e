//===- ToolkitSupport.h - tests that need the CUDA toolkit -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Where the toolkit is absent such tests say so and are left out, but never
// silently where it ought to be there.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_TOOLKITSUPPORT_H
#define FLASHC_TEST_UNIT_CUDA_TOOLKITSUPPORT_H

#include "runtime/CUDA/NVJitLink.h"
#include "runtime/CUDA/NVRTC.h"
#include "runtime/CUDA/Ptxas.h"
#include "test/Unit/IO/TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace flashc::test {

/// Why tests of the toolkit cannot run; "" where they can.
inline std::string missingToolkit() {
  for (const std::string &reason :
       {NVRTC::get().reason(), NVJitLink::get().reason(), Ptxas::get().reason()})
    if (!reason.empty())
      return reason;
  return "";
}

inline bool mustHaveToolkit() {
#ifdef FLASHC_TEST_TOOLKIT
  return std::getenv("CI") != nullptr;
#else
  return false;
#endif
}

/// First in a test that needs the toolkit.
#define FLASHC_NEED_TOOLKIT()                                                                      \
  if (const std::string missing = ::flashc::test::missingToolkit(); !missing.empty()) {            \
    if (::flashc::test::mustHaveToolkit())                                                         \
      FAIL() << missing;                                                                           \
    GTEST_SKIP() << missing;                                                                       \
  }

/// PTX as flashc's compiler writes it: a description, then a kernel that takes pointers, sizes and
/// strides as 64-bit numbers.
inline std::string kernelPTX(const std::string &target, const std::string &name = "attention") {
  return "// flashc_kernel_info {\"abi\":2,\"name\":\"" + name + "\",\"target\":\"" + target +
         "\"}\n"
         ".version 8.7\n.target " +
         target + "\n.address_size 64\n.visible .entry " + name +
         "(\n  .param .u64 pointer,\n  .param .u64 size,\n  .param .u64 stride\n)\n"
         ".maxntid 128, 1, 1\n{\n"
         "  .reg .b64 %rd<3>;\n  .reg .b32 %r<2>;\n"
         "  ld.param.u64 %rd1, [pointer];\n  cvta.to.global.u64 %rd2, %rd1;\n"
         "  mov.u32 %r1, %tid.x;\n  st.global.u32 [%rd2], %r1;\n  ret;\n}\n";
}

inline std::span<const std::byte> asBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_TOOLKITSUPPORT_H
