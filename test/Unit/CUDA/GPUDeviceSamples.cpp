//===- GPUDeviceSamples.cpp - attention to run on several GPUs --*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The variables FLASHC_TEST_PTX and FLASHC_TEST_DECODE_PTX name PTX of 'flashc compile' for
// GPUs that are there: bf16, head dim 64, causal bottom-right, and the same with queries 1,
// whose kernels have a workspace.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelInfo.h"
#include "runtime/CUDA/DeviceKernel.h"
#include "runtime/Reference/ErrorStats.h"
#include "test/Unit/CUDA/DeviceSamples.h"
#include "test/Unit/IO/TestFiles.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

namespace flashc::test {
namespace {

constexpr int64_t headDim = 64;

HostArray randomArray(std::vector<int64_t> shape, std::minstd_rand &engine) {
  HostArray array = HostArray::zeros(DType::BF16, std::move(shape));
  std::normal_distribution<float> normal;
  for (uint16_t &element : array.as<uint16_t>())
    element = floatToBfloat(normal(engine));
  return array;
}

DeviceSample makeSample(size_t kernel, int64_t batch, int64_t queries, int64_t keys, int64_t heads,
                        int64_t keyHeads, unsigned seed) {
  std::minstd_rand engine(seed);
  DeviceSample sample;
  sample.kernel = kernel;
  sample.type = {kDLBfloat, 16, 1};
  sample.outputShape = {batch, queries, heads, headDim};
  const HostArray q = randomArray(sample.outputShape, engine),
                  k = randomArray({batch, keys, keyHeads, headDim}, engine),
                  v = randomArray(k.shape, engine);
  sample.inputs = {{"q", q.shape, q.data}, {"k", k.shape, k.data}, {"v", v.shape, v.data}};

  reference::Problem problem;
  problem.q = reference::viewOf(q);
  problem.k = reference::viewOf(k);
  problem.v = reference::viewOf(v);
  problem.causal = reference::Causal::BottomRight;
  const auto exact = std::make_shared<const reference::Result>(evaluate(problem));
  const auto bar = reference::compare(evaluateUnfusedF32(problem, DType::BF16).o, exact->o);
  sample.judge = [exact, bar, shape = sample.outputShape](std::span<const std::byte> bytes) {
    HostArray o = HostArray::zeros(DType::BF16, shape);
    o.data.assign(bytes.begin(), bytes.end());
    const reference::ErrorStats errors = reference::compare(valuesOf(o), exact->o);
    const auto context = reference::BarContext::forOutput(*exact, DType::BF16);
    return withinBar(errors, bar, context) ? std::string()
                                           : describe(errors, errorBar(bar, context));
  };
  return sample;
}

} // namespace

DeviceSamples makeDeviceSamples() {
  DeviceSamples result;
  for (const char *variable : {"FLASHC_TEST_PTX", "FLASHC_TEST_DECODE_PTX"}) {
    const char *path = std::getenv(variable);
    if (!path) {
      result.missing = std::string(variable) + " names no PTX of flashc compile";
      return result;
    }
    std::ifstream in(path, std::ios::binary);
    const std::string &object = result.objects.emplace_back(std::istreambuf_iterator<char>(in),
                                                            std::istreambuf_iterator<char>());
    result.target =
        KernelInfo::parse(cuda::DeviceKernel::readInfo(std::as_bytes(std::span(object)))).target;
  }
  for (unsigned seed = 1; seed <= 3; ++seed) {
    result.samples.push_back(makeSample(0, 2, 130, 201, 4, 2, seed));
    result.samples.push_back(makeSample(1, 2, 1, 1300, 8, 2, seed + 100));
  }
  return result;
}

} // namespace flashc::test
