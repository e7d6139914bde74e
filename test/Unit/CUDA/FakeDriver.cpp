//===- FakeDriver.cpp - tests with the stand-in for the driver -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/FakeDriver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace flashc::test {
namespace {

// No toolkit either, or the one that a test has: machine code would mean nothing to the stand-in.
#ifndef TEST_TOOLKIT
#define TEST_TOOLKIT "/nowhere"
#endif

const bool isNamed = setenv("FLASHC_LIBCUDA", TEST_FAKE_CUDA, 1) == 0 &&
                     setenv("FLASHC_CUDA_PATH", TEST_TOOLKIT, 1) == 0;

} // namespace

const FakeControls &fakeCUDA() {
  static const FakeControls *controls = [] {
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    return static_cast<const FakeControls *>(library ? dlsym(library, "fakeCudaControls")
                                                     : nullptr);
  }();
  if (!controls || !isNamed)
    fail("expected the stand-in for the driver at ", TEST_FAKE_CUDA, ", got none");
  return *controls;
}

const cuda::Driver &fakeDriver() { return cuda::Driver::get("a test"); }

} // namespace flashc::test
