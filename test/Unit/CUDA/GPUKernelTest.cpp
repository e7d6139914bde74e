//===- GPUKernelTest.cpp - GPU kernels through the interfaces of programs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelCache.h"
#include "runtime/API/Status.h"
#include "runtime/Bundle/Bundle.h"
#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Resources.h"
#include "test/Unit/CUDA/FakeDriver.h"
#include "test/Unit/CUDA/FakeKernel.h"

#include <algorithm>
#include <deque>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::test;

namespace {

/// Tensors on one device, o full of ones. B 1, Sq 4, Sk 6, Hq 2, Hkv 1, D = Dv = 8.
class Call {
public:
  explicit Call(int device, bool packed = false) : device(device) {
    add("q", {1, 4, 2, 8}, f32);
    add("k", {1, 6, 1, 8}, f32);
    add("v", {1, 6, 1, 8}, f32);
    if (packed) {
      add("cu_seqlens_q", {3}, i32);
      add("cu_seqlens_k", {3}, i32);
      add("seqused_k", {2}, i32);
      add("bias", {2, 2, 4, 6}, f32);
    }
    add("o", {1, 4, 2, 8}, f32);
    const std::vector<float> ones(64, 1);
    (*this)["o"].memory.copyFrom(std::as_bytes(std::span(ones)));
  }

  struct Argument {
    std::string name;
    std::vector<int64_t> shape;
    DeviceBuffer memory;
    DLTensor view;
  };

  Argument &operator[](std::string_view name) {
    return *std::find_if(arguments.begin(), arguments.end(),
                         [&](const Argument &argument) { return argument.name == name; });
  }

  std::vector<const DLTensor *> tensors() {
    std::vector<const DLTensor *> result;
    for (Argument &argument : arguments) {
      argument.view.shape = argument.shape.data();
      result.push_back(&argument.view);
    }
    return result;
  }

  flashc_status run(const flashc_kernel *kernel, CUstream stream = nullptr) {
    return flashc_run(kernel, tensors().data(), arguments.size(), workspace.data(),
                      workspace.size(), 0, stream);
  }

  std::vector<float> output() {
    std::vector<float> values(64);
    (*this)["o"].memory.copyTo(std::as_writable_bytes(std::span(values)));
    return values;
  }

  const int device;
  DeviceBuffer workspace{fakeDriver(), device, 1024, "workspace"};

private:
  void add(const char *name, std::vector<int64_t> shape, DLDataType type) {
    size_t bytes = type.bits / 8;
    for (int64_t extent : shape)
      bytes *= static_cast<size_t>(extent);
    arguments.push_back(
        {name, std::move(shape), DeviceBuffer(fakeDriver(), device, bytes, name), {}});
    DLTensor &view = arguments.back().view;
    view.data = arguments.back().memory.data();
    view.device = {kDLCUDA, device};
    view.ndim = static_cast<int>(arguments.back().shape.size());
    view.dtype = type;
  }

  std::deque<Argument> arguments;
};

class GPUKernelTest : public FakeCUDATest {
protected:
  ~GPUKernelTest() override {
    flashc_kernel_release(kernel);
    flashc_kernel_release(packed);
  }

  static flashc_kernel *load(const std::string &object) {
    flashc_kernel *kernel = nullptr;
    EXPECT_EQ(flashc_load(object.data(), object.size(), &kernel), FLASHC_OK) << flashc_last_error();
    return kernel;
  }

  static void expectError(flashc_status status, const std::string &text,
                          flashc_status expected = FLASHC_ERROR_INVALID) {
    EXPECT_EQ(status, expected);
    EXPECT_THAT(flashc_last_error(), testing::HasSubstr(text));
  }

  flashc_kernel *const kernel = load(makeFakeKernel()), *const packed = load(makeFakeKernel(true));
};

TEST_F(GPUKernelTest, RunsOnTheDeviceOfItsTensors) {
  for (int device : {1, 0}) {
    Call call(device);
    size_t bytes = 0;
    const auto tensors = call.tensors();
    ASSERT_EQ(flashc_workspace_size(kernel, tensors.data(), tensors.size(), &bytes), FLASHC_OK);
    EXPECT_EQ(bytes, 1024u);
    const Stream stream(fakeDriver(), device);
    ASSERT_EQ(call.run(kernel, stream.get()), FLASHC_OK) << flashc_last_error();
    EXPECT_EQ(fakeCUDA().launches().back().device, device);
    EXPECT_EQ(fakeCUDA().launches().back().stream, stream.get());
    EXPECT_EQ(fakeCUDA().launches().back().grid, 2u);
    EXPECT_EQ(call.output(), std::vector<float>(64, 0));
  }
}

TEST_F(GPUKernelTest, DescribesItselfAndKeepsItsObject) {
  EXPECT_THAT(flashc_kernel_json(kernel), testing::StartsWith("{\"abi\":2"));
  const void *data = nullptr;
  size_t size = 0;
  ASSERT_EQ(flashc_kernel_object(kernel, &data, &size), FLASHC_OK);
  EXPECT_EQ(std::string(static_cast<const char *>(data), size), makeFakeKernel());
  EXPECT_EQ(flashc_kernel_num_arguments(packed), 8);
}

TEST_F(GPUKernelTest, PreparesDevices) {
  EXPECT_EQ(flashc_kernel_prepare(kernel, {kDLCUDA, 0}), FLASHC_OK) << flashc_last_error();
  Call call(0);
  const Stream stream(fakeDriver(), 0);
  fakeCUDA().capture(stream.get(), true);
  EXPECT_EQ(call.run(kernel, stream.get()), FLASHC_OK) << flashc_last_error();
  expectError(flashc_kernel_prepare(kernel, {kDLCPU, 0}), "expected a device of type 2");
  expectError(flashc_kernel_prepare(kernel, {kDLCUDA, 2}), "from 0 to 1, got 2");
}

TEST_F(GPUKernelTest, ChecksWhereTensorsLive) {
  Call call(0);
  call["k"].view.device = {kDLCPU, 0};
  expectError(call.run(kernel),
              "k: expected a tensor in CUDA memory (device type 2), got device type 1");
  call["k"].view.device = {kDLCUDA, 1};
  expectError(call.run(kernel), "k: expected a tensor on device 0, as q, got device 1");
  for (const char *name : {"q", "k", "v", "o"})
    call[name].view.device = {kDLCUDA, 1};
  expectError(call.run(kernel), "q: expected memory of device 1, got memory of device 0");
  for (const char *name : {"q", "k", "v", "o"})
    call[name].view.device = {kDLCUDA, 5};
  expectError(call.run(kernel), "expected a CUDA device from 0 to 1, got 5");
  EXPECT_TRUE(fakeCUDA().launches().empty());
}

TEST_F(GPUKernelTest, ManagedAndPinnedMemoryGoesAlong) {
  Call call(1);
  // DLPack gives these the ordinal 0.
  call["k"].view.device = {kDLCUDAManaged, 0};
  call["k"].view.data = fakeCUDA().allocateManaged(192);
  call["v"].view.device = {kDLCUDAHost, 0};
  call["v"].view.data = fakeCUDA().allocatePinned(192);
  EXPECT_EQ(call.run(kernel), FLASHC_OK) << flashc_last_error();
  EXPECT_EQ(fakeCUDA().launches().back().device, 1);
}

TEST_F(GPUKernelTest, ChecksTheWorkspace) {
  Call call(0);
  const auto tensors = call.tensors();
  const auto runWith = [&](void *workspace, size_t bytes) {
    return flashc_run(kernel, tensors.data(), tensors.size(), workspace, bytes, 0, nullptr);
  };
  expectError(runWith(nullptr, 0), "expected a workspace of 1024 bytes, got 0");
  expectError(runWith(call.workspace.data(), 1023), "got 1023");
  alignas(64) static char host[1024];
  expectError(runWith(host, 1024), "workspace: expected memory of device 0");
}

TEST_F(GPUKernelTest, LengthsAreNotReadByTheHost) {
  Call call(0, true);
  // Values that no host could make sense of.
  for (const char *name : {"cu_seqlens_q", "cu_seqlens_k", "seqused_k"})
    call[name].memory.fill(std::byte{0xff});
  EXPECT_EQ(call.run(packed), FLASHC_OK) << flashc_last_error();
  call["cu_seqlens_k"].shape = {2};
  expectError(call.run(packed), "cu_seqlens_k: expected 3 values, as in cu_seqlens_q, got 2");
  call["cu_seqlens_k"].shape = {3};
  call["seqused_k"].shape = {1};
  expectError(call.run(packed), "seqused_k: expected shape [2] (sequences)");
  call["seqused_k"].shape = {2};
  call["bias"].shape = {1, 2, 4, 6};
  expectError(call.run(packed), "bias: expected 2 sequences and 2 heads");
  call["bias"].shape = {2, 2, 1, 1};
  EXPECT_EQ(call.run(packed), FLASHC_OK)
      << "what the longest sequence needs is the device's to know";
}

TEST_F(GPUKernelTest, OutputsMustOverlapNothing) {
  Call call(0);
  call["o"].view.data = call["q"].view.data;
  expectError(call.run(kernel), "o: expected memory of its own, got memory shared with q");
}

TEST_F(GPUKernelTest, RefusesDamagedObjects) {
  flashc_kernel *loaded = nullptr;
  const auto loadChanged = [&](const std::string &from, const std::string &to) {
    std::string object = makeFakeKernel();
    object.replace(object.find(from), from.size(), to);
    return flashc_load(object.data(), object.size(), &loaded);
  };
  expectError(loadChanged("\"kernels\"", "\"colonels\""), "expected kernels in the description");
  expectError(loadChanged("\"phases\":1", "\"phases\":2"), "a kernel for each of 2 phases, got 1");
  expectError(loadChanged("\"dim\",0,2", "\"dim\",4,2"), "dimension 2 of argument 4");
  expectError(loadChanged("\"workspace\"", "\"workshop\""), "expected a description");
  const std::string object = makeFakeKernel();
  expectError(flashc_load(object.data(), 200, &loaded), "got one line; is the file whole?");
}

TEST_F(GPUKernelTest, TargetsAreResolvedAndChecked) {
  AttentionDesc desc;
  desc.headDim = 8;
  desc.target = "sm_999";
  EXPECT_ERROR(compileKernel(desc), "expected cpu, cuda or one of x86-64-v3");
  for (const TargetInfo &target : allTargets()) {
    if (target.kind != TargetKind::GPU || parseTarget(target.name)->least < Capability{10, 0})
      continue;
    desc.target = target.name;
    EXPECT_ERROR(compileKernel(desc), "expected a GPU of compute capability");
  }
}

TEST_F(GPUKernelTest, ABundlesBestImageForTheGPU) {
  std::string best = makeFakeKernel(), older = best;
  for (size_t at; (at = older.find("sm_80")) != std::string::npos;)
    older.replace(at, 5, "sm_75");
  const std::vector<BundleImage> images = {
      {"sm_75", BundleImage::Kind::PTX, std::as_bytes(std::span(older))},
      {"sm_120", BundleImage::Kind::PTX, std::as_bytes(std::span(older))},
      {"sm_80", BundleImage::Kind::PTX, std::as_bytes(std::span(best))},
      {"x86-64-v3", BundleImage::Kind::Object, std::as_bytes(std::span(best))}};
  const std::vector<std::byte> file = writeBundle(images);
  for (const auto &[target, wanted] :
       {std::pair("", &best), std::pair("cuda", &best), std::pair("sm_75", &older)}) {
    flashc_kernel *loaded = nullptr;
    ASSERT_EQ(flashc_load_for(file.data(), file.size(), target, &loaded), FLASHC_OK)
        << flashc_last_error();
    const void *bytes = nullptr;
    size_t size = 0;
    flashc_kernel_object(loaded, &bytes, &size);
    EXPECT_EQ(std::string_view(static_cast<const char *>(bytes), size), *wanted) << target;
    Call call(0);
    EXPECT_EQ(call.run(loaded), FLASHC_OK) << flashc_last_error();
    flashc_kernel_release(loaded);
  }
  flashc_kernel *loaded = nullptr;
  expectError(flashc_load_for(file.data(), file.size(), "sm_120", &loaded),
              "runs for target sm_120, got sm_75 (PTX), sm_120 (PTX)", FLASHC_ERROR_UNSUPPORTED);
}

TEST_F(GPUKernelTest, ACubinOfABundleSparesCompiling) {
  // Other text than that of the other tests, whose modules stay loaded.
  const std::string ptx = makeFakeKernel() + "// with a cubin\n", cubin = "cubin\n" + ptx;
  const std::vector<BundleImage> images = {
      {"sm_80", BundleImage::Kind::PTX, std::as_bytes(std::span(ptx))},
      // The stand-in reads up to a zero byte.
      {"sm_80", BundleImage::Kind::Cubin,
       std::as_bytes(std::span(cubin.c_str(), cubin.size() + 1))}};
  const std::vector<std::byte> file = writeBundle(images);
  flashc_kernel *loaded = nullptr;
  ASSERT_EQ(flashc_load(file.data(), file.size(), &loaded), FLASHC_OK) << flashc_last_error();
  Call newer(0), same(1);
  EXPECT_EQ(newer.run(loaded), FLASHC_OK) << flashc_last_error(); // 9.0
  EXPECT_EQ(fakeCUDA().lastImage(), ptx);
  EXPECT_EQ(same.run(loaded), FLASHC_OK) << flashc_last_error();
  EXPECT_EQ(fakeCUDA().lastImage(), cubin);
  EXPECT_EQ(same.output(), std::vector<float>(64, 0));
  flashc_kernel_release(loaded);

  // A cubin alone does not say what its arguments are.
  const std::vector<std::byte> alone = writeBundle(std::span(images).subspan(1));
  expectError(flashc_load(alone.data(), alone.size(), &loaded), "runs, got sm_80 (cubin)",
              FLASHC_ERROR_UNSUPPORTED);
}

} // namespace
