//===- FakeKernel.h - a kernel for the stand-in for the driver --*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_FAKEKERNEL_H
#define FLASHC_TEST_UNIT_CUDA_FAKEKERNEL_H

#include <string>

namespace flashc::test {

/// An object for sm_80, of f32 attention, whose single kernel zeroes o; `packed` adds the lengths of sequences.
std::string makeFakeKernel(bool packed = false);

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_FAKEKERNEL_H
