//===- FakeDriver.h - tests with the stand-in for the driver -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_FAKEDRIVER_H
#define FLASHC_TEST_UNIT_CUDA_FAKEDRIVER_H

#include "runtime/CUDA/Driver.h"
#include "test/Support/FakeCUDA/FakeCUDA.h"
#include "test/Unit/API/TestSupport.h"

namespace flashc::test {

/// The controls of the library; before main, FLASHC_LIBCUDA names it.
const FakeControls &fakeCUDA();

/// The driver that it is.
const cuda::Driver &fakeDriver();

/// Tests that begin with nothing recorded.
class FakeCUDATest : public testing::Test {
protected:
  FakeCUDATest() { fakeCUDA().reset(); }
  ~FakeCUDATest() override { fakeCUDA().reset(); }
};

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_FAKEDRIVER_H
