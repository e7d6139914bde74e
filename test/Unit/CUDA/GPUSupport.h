//===- GPUSupport.h - tests that need a GPU ---------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Arrays in device memory, and the templates' kernels on them.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_GPUSUPPORT_H
#define FLASHC_TEST_UNIT_CUDA_GPUSUPPORT_H

#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Resources.h"
#include "runtime/CUDA/TemplateLaunch.h"
#include "runtime/Support/HostArray.h"
#include "test/Unit/CUDA/ToolkitSupport.h"

namespace flashc::test {

inline const cuda::Driver *driverOrNull() {
  std::string reason;
  const cuda::Driver *driver = cuda::Driver::find(reason);
  return driver && driver->deviceCount() ? driver : nullptr;
}

#define FLASHC_NEED_GPU()                                                                          \
  if (!::flashc::test::driverOrNull())                                                             \
    GTEST_SKIP() << "this machine has no GPU, or no driver for it";                                \
  FLASHC_NEED_TOOLKIT()

inline const char *elementOf(DType type) {
  return type == DType::F16    ? "f16"
         : type == DType::BF16 ? "bf16"
         : type == DType::F64  ? "f64"
                               : "f32";
}

/// An array in device memory.
struct DeviceArray {
  DType type;
  std::vector<int64_t> shape;
  cuda::DeviceBuffer buffer;

  DeviceArray(DType type, std::vector<int64_t> shape)
      : type(type), shape(std::move(shape)),
        buffer(*driverOrNull(), 0, HostArray::zeros(type, this->shape).data.size(), "a test") {
    buffer.fill(std::byte{0xff}); // NaN: what is not written is found
  }

  template <typename T>
  static DeviceArray from(DType type, std::vector<int64_t> shape, const std::vector<T> &values) {
    DeviceArray array(type, std::move(shape));
    array.buffer.copyFrom(std::as_bytes(std::span(values)));
    return array;
  }

  template <typename T> T *data() { return static_cast<T *>(buffer.data()); }

  void strides(templates::i64 (&to)[4]) const {
    templates::i64 stride = 1;
    for (int n = 3; n >= 0; --n) {
      to[n] = stride;
      stride *= shape[static_cast<size_t>(n)];
    }
  }

  templates::Tensor4 view() {
    templates::Tensor4 tensor = {buffer.data(), {}};
    strides(tensor.strides);
    return tensor;
  }

  HostArray read() const {
    HostArray array = HostArray::zeros(type, shape);
    buffer.copyTo(array.data);
    return array;
  }
};

class GPUTest : public testing::Test {
protected:
  template <typename Arguments>
  void launch(const char *name, std::vector<std::string> values, const char *kernel, int64_t grid,
              const Arguments &arguments) {
    const cuda::DeviceTemplate loaded(*driverOrNull(), 0, instantiateTemplate(name, values));
    loaded.launch(kernel, grid, arguments, nullptr);
    const cuda::ContextScope context(*driverOrNull(), 0);
    driverOrNull()->check(driverOrNull()->cuCtxSynchronize(), "cuCtxSynchronize", " after ",
                          kernel);
  }

  void fillNormal(DeviceArray &array, templates::u64 stream) {
    templates::Fill fill = {array.buffer.data(), {}, {}, 7, stream, 0, 1};
    for (int n = 0; n < 4; ++n)
      fill.sizes[n] = array.shape[static_cast<size_t>(n)];
    array.strides(fill.strides);
    launch("Fill", {elementOf(array.type)}, "fill_normal", fillGrid(fill), fill);
  }
};

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CUDA_GPUSUPPORT_H
