//===- flashc.hpp - the C++ interface of flashc -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A thin C++17 layer, header only, over flashc.h: descriptions are values,
// kernels shared handles, failures exceptions, and tensors go in by name.
//
//   auto kernel = flashc::compile(flashc::AttentionDesc(flashc::DType::F32, 64)
//                                     .causal(flashc::Causal::BottomRight));
//   kernel.run({{"q", q}, {"k", k}, {"v", v}, {"o", o}});
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_FLASHC_HPP
#define FLASHC_FLASHC_HPP

#include "flashc.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flashc {
inline namespace v1 {

/// What every failing call throws; `status` is one of FLASHC_ERROR_*.
class Error : public std::runtime_error {
public:
  Error(flashc_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  flashc_status status;
};

namespace detail {
inline void check(flashc_status status) {
  if (status != FLASHC_OK)
    throw Error(status, flashc_last_error());
}
} // namespace detail

enum class DType { Bool, I8, I16, I32, I64, F16, BF16, F32 };
enum class Causal { None, TopLeft, BottomRight };
enum class Strategy { Online, Standard };

inline const char *nameOf(DType type) {
  constexpr const char *names[] = {"bool", "i8", "i16", "i32", "i64", "f16", "bf16", "f32"};
  return names[static_cast<int>(type)];
}

inline DLDataType toDLPack(DType type) {
  constexpr DLDataType types[] = {{kDLUInt, 8, 1},    {kDLInt, 8, 1},   {kDLInt, 16, 1},
                                  {kDLInt, 32, 1},    {kDLInt, 64, 1},  {kDLFloat, 16, 1},
                                  {kDLBfloat, 16, 1}, {kDLFloat, 32, 1}};
  return types[static_cast<int>(type)];
}

/// The element type of T: bool, an integer or float. 16-bit floats are named, not deduced.
template <typename T> constexpr DType dtypeOf() {
  static_assert(std::is_same_v<T, bool> || std::is_same_v<T, float> ||
                    (std::is_integral_v<T> && std::is_signed_v<T>),
                "pass the element type and a pointer for elements of this type");
  if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else
    return sizeof(T) == 1   ? DType::I8
           : sizeof(T) == 2 ? DType::I16
           : sizeof(T) == 4 ? DType::I32
                            : DType::I64;
}

/// What is computed, independent of sizes; flashc_attention_help() describes every field.
class AttentionDesc {
public:
  /// Plain attention on q, k, v of `dtype` with head dimension `headDim`.
  AttentionDesc(DType dtype, int64_t headDim) : handle(create()) {
    set("dtype", nameOf(dtype));
    set("head-dim", std::to_string(headDim));
  }
  AttentionDesc(const AttentionDesc &other) : handle(fromJson(other.json())) {}
  AttentionDesc(AttentionDesc &&) = default;
  AttentionDesc &operator=(AttentionDesc other) {
    handle = std::move(other.handle);
    return *this;
  }

  AttentionDesc &valueDim(int64_t dim) { return set("value-dim", std::to_string(dim)); }
  AttentionDesc &scale(double factor) { return set("scale", text(factor)); }
  AttentionDesc &causal(Causal kind) {
    return set("causal", kind == Causal::TopLeft       ? "top-left"
                         : kind == Causal::BottomRight ? "bottom-right"
                                                       : "none");
  }
  /// -1: unlimited on that side.
  AttentionDesc &window(int64_t left, int64_t right) {
    return set("window", std::to_string(left) + "," + std::to_string(right));
  }
  AttentionDesc &softcap(double cap) { return set("softcap", text(cap)); }
  AttentionDesc &alibi(bool on = true) { return set("alibi", flag(on)); }
  AttentionDesc &bias(DType type) { return set("bias", nameOf(type)); }
  AttentionDesc &sinks(bool on = true) { return set("sinks", flag(on)); }
  AttentionDesc &score(const std::string &expression) { return set("score", expression); }
  AttentionDesc &mask(const std::string &expression) { return set("mask", expression); }
  /// One more array that the expressions read as `name[i0, ..., i(rank-1)]`.
  AttentionDesc &capture(const std::string &name, DType type, int rank) {
    const std::string others = get("captures");
    return set("captures", (others.empty() ? "" : others + ",") + name + ":" + nameOf(type) + ":" +
                               std::to_string(rank));
  }
  /// Sequences end to end, with cu_seqlens of this type.
  AttentionDesc &packed(DType indexType = DType::I32) { return set("packed", nameOf(indexType)); }
  AttentionDesc &pageTable(DType indexType = DType::I32) {
    return set("page-table", nameOf(indexType));
  }
  AttentionDesc &sequsedK(DType indexType = DType::I32) {
    return set("seqused-k", nameOf(indexType));
  }
  AttentionDesc &lse(bool on = true) { return set("lse", flag(on)); }
  AttentionDesc &rowMax(bool on = true) { return set("row-max", flag(on)); }
  AttentionDesc &strategy(Strategy kind) {
    return set("strategy", kind == Strategy::Online ? "online" : "standard");
  }
  AttentionDesc &schedule(const std::string &parameters) { return set("schedule", parameters); }
  AttentionDesc &target(const std::string &name) { return set("target", name); }

  /// Any field, as text.
  AttentionDesc &set(const std::string &key, const std::string &value) {
    detail::check(flashc_attention_set(handle.get(), key.c_str(), value.c_str()));
    return *this;
  }
  std::string get(const std::string &key) const {
    const char *value = nullptr;
    detail::check(flashc_attention_get(handle.get(), key.c_str(), &value));
    return value;
  }
  std::string json() const {
    const char *value = nullptr;
    detail::check(flashc_attention_json(handle.get(), &value));
    return value;
  }
  const flashc_attention *get() const { return handle.get(); }

private:
  struct Destroy {
    void operator()(flashc_attention *desc) const { flashc_attention_destroy(desc); }
  };
  using Handle = std::unique_ptr<flashc_attention, Destroy>;

  static Handle create() {
    flashc_attention *desc = nullptr;
    detail::check(flashc_attention_create(&desc));
    return Handle(desc);
  }
  static Handle fromJson(const std::string &json) {
    flashc_attention *desc = nullptr;
    detail::check(flashc_attention_from_json(json.data(), json.size(), &desc));
    return Handle(desc);
  }
  static const char *flag(bool on) { return on ? "true" : "false"; }
  static std::string text(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.17g", value);
    return buffer;
  }

  Handle handle;
};

/// A view of somebody's memory; owns nothing but its shape.
class Tensor {
public:
  /// `strides` in elements; none: dense, in C order.
  Tensor(const void *data, DType dtype, std::vector<int64_t> shape,
         std::vector<int64_t> strides = {})
      : Tensor(data, toDLPack(dtype), std::move(shape), std::move(strides)) {}

  template <typename T>
  Tensor(const T *data, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : Tensor(data, dtypeOf<T>(), std::move(shape), std::move(strides)) {}

  /// The whole of `data` is checked to hold the dense tensor.
  template <typename T>
  Tensor(const std::vector<T> &data, std::vector<int64_t> shape)
      : Tensor(data.data(), dtypeOf<T>(), std::move(shape)) {
    uint64_t count = 1;
    for (int64_t extent : extents)
      count *= static_cast<uint64_t>(extent);
    if (count != data.size())
      throw Error(FLASHC_ERROR_INVALID, "expected a vector of as many elements as its tensor, " +
                                            std::to_string(count) + ", got " +
                                            std::to_string(data.size()));
  }

  /// The same view of memory that lives elsewhere: `Tensor(address, type, shape).on(kDLCUDA, 1)`.
  Tensor on(DLDeviceType type, int ordinal = 0) const {
    Tensor moved = *this;
    moved.device = {type, ordinal};
    return moved;
  }

  /// A view of what `tensor` views.
  explicit Tensor(const DLTensor &tensor)
      : Tensor(tensor.data, tensor.dtype, {tensor.shape, tensor.shape + tensor.ndim},
               tensor.strides ? std::vector<int64_t>{tensor.strides, tensor.strides + tensor.ndim}
                              : std::vector<int64_t>{}) {
    device = tensor.device;
    byteOffset = tensor.byte_offset;
  }

  /// As DLPack; valid while this Tensor lives unchanged.
  DLTensor toDLPackTensor() const {
    DLTensor tensor{};
    tensor.data = data;
    tensor.device = device;
    tensor.ndim = static_cast<int>(extents.size());
    tensor.dtype = dtype;
    tensor.shape = const_cast<int64_t *>(extents.data());
    tensor.strides = steps.empty() ? nullptr : const_cast<int64_t *>(steps.data());
    tensor.byte_offset = byteOffset;
    return tensor;
  }

private:
  Tensor(const void *data, DLDataType dtype, std::vector<int64_t> shape,
         std::vector<int64_t> strides)
      : data(const_cast<void *>(data)), dtype(dtype), extents(std::move(shape)),
        steps(std::move(strides)) {
    if (!steps.empty() && steps.size() != extents.size())
      throw Error(FLASHC_ERROR_INVALID, "expected as many strides as extents, " +
                                            std::to_string(extents.size()) + ", got " +
                                            std::to_string(steps.size()));
  }

  void *data;
  DLDataType dtype;
  std::vector<int64_t> extents, steps;
  DLDevice device{kDLCPU, 0};
  uint64_t byteOffset = 0;
};

/// Tensors by their arguments' names, in any order.
using Tensors = std::vector<std::pair<std::string, Tensor>>;

struct RunOptions {
  void *workspace = nullptr; ///< see Kernel::workspaceSize; 64-byte aligned, on the tensors' device
  size_t workspaceBytes = 0;
  int threads = 0;        ///< at most so many; 0: one per processor; not for GPUs
  void *stream = nullptr; ///< a CUstream or cudaStream_t, none on the CPU
};

/// A compiled kernel: a shared handle to something immutable, usable from many threads at once.
class Kernel {
public:
  /// Takes over one reference.
  explicit Kernel(flashc_kernel *kernel) : handle(kernel, flashc_kernel_release) {}

  /// From the bytes of a kernel object, or the best object of a bundle; needs no compiler.
  /// `target`: "cpu", "cuda" or a target's name; "" takes any that this machine runs.
  static Kernel load(const void *object, size_t size, const std::string &target = "") {
    flashc_kernel *kernel = nullptr;
    detail::check(flashc_load_for(object, size, target.c_str(), &kernel));
    return Kernel(kernel);
  }

  /// The bytes that RunOptions::workspace needs for these tensors (0: none).
  size_t workspaceSize(const Tensors &tensors) const {
    const Arguments arguments(handle.get(), tensors);
    size_t bytes = 0;
    detail::check(flashc_workspace_size(handle.get(), arguments.pointers.data(),
                                        arguments.pointers.size(), &bytes));
    return bytes;
  }

  /// Loads the code on CUDA device `ordinal`, as its first run there would: see
  /// flashc_kernel_prepare.
  void prepare(int ordinal) const {
    detail::check(flashc_kernel_prepare(handle.get(), DLDevice{kDLCUDA, ordinal}));
  }

  /// Runs and returns when done, or, on a GPU, when the launches are queued on the stream. Every
  /// argument of the kernel must be there.
  void run(const Tensors &tensors, const RunOptions &options = {}) const {
    const Arguments arguments(handle.get(), tensors);
    detail::check(flashc_run(handle.get(), arguments.pointers.data(), arguments.pointers.size(),
                             options.workspace, options.workspaceBytes, options.threads,
                             options.stream));
  }

  /// The kernel object, to be kept and loaded later.
  std::pair<const void *, size_t> object() const {
    std::pair<const void *, size_t> bytes{};
    detail::check(flashc_kernel_object(handle.get(), &bytes.first, &bytes.second));
    return bytes;
  }

  /// Name, target, schedule, arguments, ... as JSON.
  std::string json() const { return flashc_kernel_json(handle.get()); }

  flashc_kernel *get() const { return handle.get(); }

private:
  /// Tensors in argument order.
  struct Arguments {
    Arguments(const flashc_kernel *kernel, const Tensors &named)
        : pointers(static_cast<size_t>(flashc_kernel_num_arguments(kernel))) {
      tensors.reserve(named.size());
      for (const auto &[name, tensor] : named) {
        const int32_t index = flashc_kernel_find_argument(kernel, name.c_str());
        if (index < 0 || pointers[index])
          throw Error(FLASHC_ERROR_INVALID, "expected one of the kernel's arguments, each once, "
                                            "got '" +
                                                name + "'");
        tensors.push_back(tensor.toDLPackTensor());
        pointers[index] = &tensors.back();
      }
    }
    std::vector<DLTensor> tensors;
    std::vector<const DLTensor *> pointers;
  };

  std::shared_ptr<flashc_kernel> handle;
};

/// Compiles for `target` ("cuda": this host's first GPU), or where that is empty for the
/// description's (default: the best of this host's processor). Equal descriptions give the same kernel again, at once.
inline Kernel compile(const AttentionDesc &desc, const std::string &target = "") {
  if (!target.empty())
    return compile(AttentionDesc(desc).target(target));
  flashc_kernel *kernel = nullptr;
  detail::check(flashc_compile(desc.get(), &kernel));
  return Kernel(kernel);
}

} // namespace v1
} // namespace flashc

#endif // FLASHC_FLASHC_HPP
