//===- GPULinkTest.cpp - compiled kernels beside templates -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What nvJitLink makes of the compiler's PTX and NVRTC's, run on a GPU. The variable
// FLASHC_TEST_PTX names the PTX of 'flashc compile' for a GPU that is there: bf16, head
// dim 64, causal bottom-right. Without a GPU it is linked only.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelInfo.h"
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/CUDA/DeviceKernel.h"
#include "runtime/Cache/DiskCache.h"
#include "runtime/Reference/ErrorStats.h"
#include "test/Unit/CUDA/GPUSupport.h"

#include <fstream>
#include <iterator>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

/// A compiled kernel and the template Fill in one cubin for device 0.
struct LinkedKernel {
  std::string ptx, arch;
  KernelInfo info;
  std::vector<std::byte> cubin;

  explicit LinkedKernel(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    ptx.assign(std::istreambuf_iterator<char>(in), {});
    info = KernelInfo::parse(DeviceKernel::readInfo(asBytes(ptx)));
    arch = info.target;
    if (driverOrNull() && !parseTarget(arch)->suffix) {
      const Capability capability = readFacts(*driverOrNull(), 0).capability;
      arch = concat("sm_", 10 * capability.major + capability.minor);
    }
    const CudaSource fill = instantiateTemplate("Fill", {"bf16"}).source();
    cubin = cubinFor(ptx, arch, driverOrNull() ? driverOrNull()->versionNumber() : 0, {&fill, 1},
                     DiskCache("", 0));
  }

  /// The template's kernel of the linked module.
  CUfunction fillNormal() const {
    DeviceCode code = {ptx, info.name, arch, {}, cubin};
    Launch &launch = code.launches.emplace_back();
    launch.entry = instantiateTemplate("Fill", {"bf16"}).symbol("fill_normal");
    const Entries &entries = loadEntries(*driverOrNull(), 0, code);
    EXPECT_EQ(entries.facts.maker, CodeMaker::Ahead) << "the driver refused the linked cubin";
    return entries.functions[0];
  }
};

class GPULinkTest : public GPUTest {
protected:
  static void fill(CUfunction function, DeviceArray &array, templates::u64 stream) {
    templates::Fill arguments = {array.buffer.data(), {}, {}, 7, stream, 0, 1};
    for (int n = 0; n < 4; ++n)
      arguments.sizes[n] = array.shape[static_cast<size_t>(n)];
    array.strides(arguments.strides);
    void *parameters[] = {&arguments};
    const Driver &driver = *driverOrNull();
    const ContextScope context(driver, 0);
    driver.check(
        driver.cuLaunchKernel(function, static_cast<unsigned>(templates::fillGrid(arguments)), 1, 1,
                              templates::fillThreads, 1, 1, 0, nullptr, parameters, nullptr),
        "cuLaunchKernel");
    driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
  }
};

TEST_F(GPULinkTest, BothComputeWhatTheyDoAlone) {
  FLASHC_NEED_TOOLKIT();
  const char *path = std::getenv("FLASHC_TEST_PTX");
  if (!path)
    GTEST_SKIP() << "FLASHC_TEST_PTX names no PTX of flashc compile";
  const LinkedKernel linked(path);
  ASSERT_FALSE(linked.cubin.empty());
  FLASHC_NEED_GPU();

  const std::vector<int64_t> queryShape = {2, 130, 4, 64}, keyShape = {2, 201, 2, 64};
  DeviceArray q(DType::BF16, queryShape), k(DType::BF16, keyShape), v(DType::BF16, keyShape),
      o(DType::BF16, queryShape), alone(DType::BF16, queryShape);
  const CUfunction linkedFill = linked.fillNormal();
  fill(linkedFill, q, 1);
  fill(linkedFill, k, 2);
  fill(linkedFill, v, 3);
  fillNormal(alone, 1);
  const HostArray hostQ = q.read(), hostK = k.read(), hostV = v.read();
  EXPECT_EQ(hostQ.data, alone.read().data);

  const DeviceKernel kernel(asBytes(linked.ptx), linked.info.name, linked.arch,
                            *linked.info.launchPlan, linked.cubin);
  EXPECT_EQ(kernel.prepare(0).maker, CodeMaker::Ahead) << "the driver refused the linked cubin";
  const std::vector<int64_t> queryStrides = {130 * 4 * 64, 4 * 64, 64, 1},
                             keyStrides = {201 * 2 * 64, 2 * 64, 64, 1};
  const DeviceArgument arguments[] = {
      {"q", MemoryKind::Device, q.buffer.data(), queryShape, queryStrides},
      {"k", MemoryKind::Device, k.buffer.data(), keyShape, keyStrides},
      {"v", MemoryKind::Device, v.buffer.data(), keyShape, keyStrides},
      {"o", MemoryKind::Device, o.buffer.data(), queryShape, queryStrides}};
  const std::vector<std::span<const int64_t>> shapes = {queryShape, keyShape, keyShape, queryShape};
  DeviceBuffer workspace(*driverOrNull(), 0, kernel.workspaceSize(shapes), "the workspace");
  kernel.run(0, arguments, workspace.data(), nullptr);

  reference::Problem problem;
  problem.q = reference::viewOf(hostQ);
  problem.k = reference::viewOf(hostK);
  problem.v = reference::viewOf(hostV);
  problem.causal = reference::Causal::BottomRight;
  const reference::Result exact = evaluate(problem),
                          unfused = evaluateUnfusedF32(problem, DType::BF16);
  const reference::ErrorStats errors = reference::compare(valuesOf(o.read()), exact.o),
                              bar = reference::compare(unfused.o, exact.o);
  const auto context = reference::BarContext::forOutput(exact, DType::BF16);
  EXPECT_TRUE(withinBar(errors, bar, context)) << describe(errors, errorBar(bar, context));
}

} // namespace
