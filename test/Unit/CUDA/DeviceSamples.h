//===- DeviceSamples.h - attention to run on several GPUs -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What DevicesTest computes: on GPUs real attention, held against float64; on the stand-in
// for the driver something that it can compute.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_DEVICESAMPLES_H
#define FLASHC_TEST_UNIT_CUDA_DEVICESAMPLES_H

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flashc::test {

/// One computation of a kernel.
struct DeviceSample {
  struct Input {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };

  size_t kernel = 0; ///< which of DeviceSamples::objects
  DLDataType type;   ///< of all its tensors
  std::vector<Input> inputs;
  std::vector<int64_t> outputShape;
  /// What is wrong with the bytes of o; "" where they are right. Safe from any thread.
  std::function<std::string(std::span<const std::byte>)> judge;
};

struct DeviceSamples {
  std::string missing; ///< why there are none; "" where there are
  std::string target;  ///< of all objects
  std::vector<std::string> objects;
  std::vector<DeviceSample> samples;
};

DeviceSamples makeDeviceSamples();

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_DEVICESAMPLES_H
