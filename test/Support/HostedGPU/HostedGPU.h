//===- HostedGPU.h - GPU kernels run on the host ----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What the compiler makes for a GPU, up to LLVM's code generation for it, computed on the host: slow, and exact in what
// threads share and when they meet. Rates, registers and rounding of the special functions are not a GPU's.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDGPU_H
#define FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDGPU_H

#include "test/Support/AttentionCase.h"

namespace flashc::test {

/// An AttentionCase's `execute`: compiles for the description's GPU and runs that here. One at a time.
std::vector<std::string> executeOnHostedGPU(const AttentionDesc &desc, CaseTensors &tensors);

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDGPU_H
