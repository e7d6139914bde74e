//===- FakeKernel.cpp - a kernel for the stand-in for the driver -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/FakeKernel.h"
#include "runtime/Support/Error.h"

namespace flashc::test {

std::string makeFakeKernel(bool packed) {
  const auto argument = [](const char *name, const char *type, int rank, const char *role) {
    std::string extents;
    for (int d = 0; d < rank; ++d)
      extents += d ? ",-1" : "-1";
    return concat(R"({"name":")", name, R"(","dtype":")", type, R"(","rank":)", rank,
                  R"(,"static_shape":[)", extents, R"(],"role":")", role, R"("})");
  };
  std::string arguments = argument("q", "f32", 4, "input") + ',' +
                          argument("k", "f32", 4, "input") + ',' +
                          argument("v", "f32", 4, "input") + ',';
  int numParameters = 4 * 9 + 3;
  if (packed) {
    arguments += argument("cu_seqlens_q", "i32", 1, "input") + ',' +
                 argument("cu_seqlens_k", "i32", 1, "input") + ',' +
                 argument("seqused_k", "i32", 1, "input") + ',' +
                 argument("bias", "f32", 4, "input") + ',';
    numParameters += 3 * 3 + 9;
  }
  arguments += argument("o", "f32", 4, "output");
  const int first = numParameters - 3 - 9;
  std::string text = concat(
      R"(// flashc_kernel_info {"abi":2,"name":"attention","target":"sm_80","features":[],)",
      R"("scratch_bytes":0,"phases":1,"schedule":"none","strategy":"online","arguments":[)",
      arguments, R"(],"kernels":[{"entry":"zero4_at_)", first,
      R"(","threads":128,"shared_bytes":65536,"facts":[],"dependent":false,"grid":["mul",["dim",0,0],["dim",0,2]]}],)",
      R"("workspace":["mul",["dim",0,1],256]})", "\n.version 8.0\n.target sm_80\n",
      ".visible .entry zero4_at_", first, "(");
  for (int n = 0; n < numParameters; ++n)
    text += concat(n ? ", " : "", ".param .u64 p", n);
  return text + ") { ret; }\n";
}

} // namespace flashc::test
