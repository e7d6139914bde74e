//===- HostedModule.h - a GPU kernel's code for the host --------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDMODULE_H
#define FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDMODULE_H

#include <string>

namespace flashc::test {

/// An x86-64 object of the LLVM IR that the compiler emits for a GPU. Function NAME becomes hosted_NAME(int64 *values),
/// what one thread does with these parameters; instructions of the GPU are calls of HostedBlock.h's. Throws Error for
/// those that it does not know.
std::string compileHosted(const std::string &ir);

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDMODULE_H
