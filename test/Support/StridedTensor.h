//===- StridedTensor.h - a tensor with chosen strides -----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A tensor in a storage of its own whose elements lie where a test wants them: transposed, apart, backwards
// or repeated. What lies between the elements is filled with something recognisable: NaN around inputs, so
// that a stray read shows, and a known value around outputs, so that a stray write does.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_SUPPORT_STRIDEDTENSOR_H
#define FLASHC_TEST_SUPPORT_STRIDEDTENSOR_H

#include "runtime/API/Binding.h"
#include "runtime/Reference/TensorView.h"
#include "runtime/Support/HostArray.h"

#include <algorithm>
#include <numeric>

namespace flashc::test {

/// How a tensor lies in memory. HeadsFirst and ZeroKeyHeads concern tensors of four dimensions.
enum class Strides { Dense, HeadsFirst, Padded, Negative, ZeroKeyHeads };
inline constexpr int kNumStrides = 5;

class StridedTensor {
public:
  StridedTensor() = default;

  /// Every element of the storage is `filler` at first.
  StridedTensor(DType type, std::vector<int64_t> extents, Strides mode, double filler)
      : shape(std::move(extents)), strides(shape.size(), 1), filler(filler) {
    size_t rank = shape.size();
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    if (mode == Strides::HeadsFirst && rank == 4)
      std::swap(order[1], order[2]);
    int64_t step = mode == Strides::Padded ? 2 : 1;
    for (size_t n = rank; n-- > 0;) {
      size_t dim = order[n];
      bool isRepeated = mode == Strides::ZeroKeyHeads && rank == 4 && dim == 2;
      strides[dim] = isRepeated ? 0 : step;
      if (!isRepeated)
        step *= std::max<int64_t>(shape[dim], 1);
      if (mode == Strides::Padded)
        step += 3;
    }
    if (mode == Strides::Negative) {
      for (size_t dim = 0; dim + 1 < rank; ++dim) {
        origin += std::max<int64_t>(shape[dim] - 1, 0) * strides[dim];
        strides[dim] = -strides[dim];
      }
    }
    // Something lies before and behind, too.
    constexpr int64_t margin = 16;
    origin += margin;
    storage = HostArray::zeros(type, {step + 2 * margin});
    for (int64_t n = 0; n < storage.numElements(); ++n)
      storage.set(n, filler);
  }

  /// The same memory seen as a broadcast to `extents`, right-aligned.
  void broadcast(const std::vector<int64_t> &extents) {
    std::vector<int64_t> wide(extents.size(), 0);
    for (size_t n = 0; n < shape.size(); ++n) {
      size_t dim = extents.size() - shape.size() + n;
      wide[dim] = shape[n] == 1 && extents[dim] != 1 ? 0 : strides[n];
    }
    shape = extents;
    strides = wide;
  }

  int64_t count() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  }

  /// Element `flat` in C order: where it is in the storage.
  int64_t place(int64_t flat) const {
    int64_t at = origin;
    for (size_t dim = shape.size(); dim-- > 0; flat /= shape[dim])
      at += flat % shape[dim] * strides[dim];
    return at;
  }

  void set(int64_t flat, double value) { storage.set(place(flat), value); }
  void setInt(int64_t flat, int64_t value) { storage.setInt(place(flat), value); }

  std::vector<double> values() const {
    std::vector<double> result(count());
    for (int64_t n = 0; n < count(); ++n)
      result[n] = storage.at(place(n));
    return result;
  }

  /// Whether all memory outside of the tensor still holds the filler.
  bool isUntouchedOutside() const {
    std::vector<bool> inside(storage.numElements());
    for (int64_t n = 0; n < count(); ++n)
      inside[place(n)] = true;
    HostArray expected = HostArray::zeros(storage.dtype, {1});
    expected.set(0, filler);
    for (int64_t n = 0; n < storage.numElements(); ++n)
      if (!inside[n] && storage.at(n) != expected.at(0))
        return false;
    return true;
  }

  /// Views are valid while the tensor lives and keeps its place.
  DLTensor view() {
    return {data(),
            {kDLCPU, 0},
            static_cast<int>(shape.size()),
            toDLPack(storage.dtype),
            shape.data(),
            strides.data(),
            0};
  }
  reference::TensorView referenceView() { return {data(), storage.dtype, shape, strides}; }

  HostArray storage;
  std::vector<int64_t> shape, strides; ///< in elements

private:
  void *data() {
    return storage.data.data() + origin * static_cast<int64_t>(sizeOf(storage.dtype));
  }

  double filler = 0;
  int64_t origin = 0; // the storage's element that is [0, 0, ...]
};

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_STRIDEDTENSOR_H
