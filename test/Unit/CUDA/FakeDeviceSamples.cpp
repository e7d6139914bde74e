//===- FakeDeviceSamples.cpp - what the stand-in computes on several GPUs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/DeviceSamples.h"
#include "test/Unit/CUDA/FakeKernel.h"

#include <algorithm>

namespace flashc::test {

DeviceSamples makeDeviceSamples() {
  DeviceSamples result;
  result.target = "sm_80";
  result.objects = {makeFakeKernel(), makeFakeKernel() + "// another module\n"};
  for (size_t n = 0; n < 4; ++n) {
    const int64_t queries = 3 + static_cast<int64_t>(n), keys = 6, dim = 8;
    const auto zeros = [&](int64_t rows, int64_t heads) {
      return std::vector<std::byte>(static_cast<size_t>(rows * heads * dim) * sizeof(float));
    };
    DeviceSample sample;
    sample.kernel = n % 2;
    sample.type = {kDLFloat, 32, 1};
    sample.inputs = {{"q", {1, queries, 2, dim}, zeros(queries, 2)},
                     {"k", {1, keys, 1, dim}, zeros(keys, 1)},
                     {"v", {1, keys, 1, dim}, zeros(keys, 1)}};
    sample.outputShape = {1, queries, 2, dim};
    sample.judge = [](std::span<const std::byte> o) -> std::string {
      const bool isZero =
          std::ranges::all_of(o, [](std::byte byte) { return byte == std::byte{}; });
      return isZero ? "" : "expected an o of zeros, got others";
    };
    result.samples.push_back(sample);
  }
  return result;
}

} // namespace flashc::test
