//===- MergePropertiesTest.cpp - the softmax state is a monoid ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// flash.merge and flash.finalize, compiled from kernels written here, on random states: associative,
// commutative, (-inf, 0, 0) the identity. And attention over the two parts of a split, merged, is attention
// over all keys.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Compile.h"
#include "runtime/CPU/ObjectLoader.h"
#include "test/Integration/CPU/Variants.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

using namespace flashc;
using namespace flashc::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kRows = 24, kDim = 16;

/// The states of kRows rows.
struct States {
  std::vector<float> m = std::vector<float>(kRows, -kInfinity);
  std::vector<float> l = std::vector<float>(kRows, 0.0f);
  std::vector<float> acc = std::vector<float>(kRows * kDim, 0.0f);
};

/// A kernel of matrices [kRows, columns] of f32: inputs, then outputs.
class MatrixKernel {
public:
  /// `body` sees %in0 ... and stores to %out0 ...
  MatrixKernel(const std::vector<int64_t> &inputs, const std::vector<int64_t> &outputs,
               const std::string &body)
      : inputs(inputs), outputs(outputs) {
    std::string arguments;
    auto add = [&](const char *prefix, size_t index, int64_t columns, const char *more) {
      std::string name = prefix + std::to_string(index);
      arguments += "%" + name + ": memref<?x" + std::to_string(columns) + "xf32> {flash.name = \"" +
                   name + "\"" + more + "}, ";
    };
    for (size_t n = 0; n < inputs.size(); ++n)
      add("in", n, inputs[n], "");
    for (size_t n = 0; n < outputs.size(); ++n)
      add("out", n, outputs[n], ", flash.output");
    std::string text = R"(
      module attributes {flash.target = #flash.target<"x86-64-v3">} {
        func.func @states_phase0()" +
                       arguments + R"(%workspace: memref<?xi8> {flash.name = "workspace"})
            attributes {flash.kernel = 0 : i64,
                        flash.schedule = #flash.schedule<tile = [24, 16], micro = [6, 16]>} {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %columns = arith.constant 16 : index
          %rows = arith.constant 24 : index
          %all = memref.dim %in0, %zero : memref<?x1xf32>
          %points = arith.divui %all, %rows : index
          scf.forall (%point) in (%points) {
)" + body + R"(
          }
          return
        }
      })";
    std::string bytes = compileText(text, "states", Stage::Tiled, "", {Stage::Obj, {}});
    object = LoadedObject::load(std::as_bytes(std::span(bytes)));
    run = object->function<RunFunction>("flashc_kernel_run");
    std::string_view info = object->text("flashc_kernel_info");
    size_t at = info.find("\"scratch_bytes\":");
    scratchBytes = std::strtoull(std::string(info.substr(at + 16, 20)).c_str(), nullptr, 10);
  }

  void operator()(std::vector<const std::vector<float> *> arguments,
                  std::vector<std::vector<float> *> results) const {
    std::vector<std::array<int64_t, 7>> descriptors;
    auto add = [&](const float *data, int64_t columns) {
      auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(data));
      descriptors.push_back({address, address, 0, kRows, columns, columns, 1});
    };
    for (size_t n = 0; n < inputs.size(); ++n)
      add(arguments[n]->data(), inputs[n]);
    for (size_t n = 0; n < outputs.size(); ++n) {
      results[n]->assign(kRows * outputs[n], 12345.0f);
      add(results[n]->data(), outputs[n]);
    }
    std::vector<void *> pointers;
    for (auto &descriptor : descriptors)
      pointers.push_back(descriptor.data());
    std::vector<std::byte> scratch(scratchBytes + 64);
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    call(pointers.data(), scratch.data() + (64 - address % 64) % 64);
  }

private:
  using RunFunction = void(void *const *, int64_t, int64_t, void *, void *);

#ifdef __clang__
  __attribute__((no_sanitize("function")))
#endif
  void call(void *const *arguments, void *scratch) const {
    run(arguments, 0, 0, scratch, nullptr);
  }

  std::vector<int64_t> inputs, outputs;
  std::shared_ptr<const LoadedObject> object;
  RunFunction *run = nullptr;
  size_t scratchBytes = 0;
};

/// Text that loads input `index` as a tile `name`: [24, 16], or [24] for a column.
std::string load(int index, const std::string &name, bool isColumn) {
  std::string in = "%in" + std::to_string(index);
  if (!isColumn)
    return "%" + name + " = tile.load " + in +
           "[%zero, %zero] dims [0, 1] valid(%rows, %columns) : memref<?x16xf32> -> "
           "tensor<24x16xf32>\n";
  return "%" + name + "_column = tile.load " + in +
         "[%zero, %zero] dims [0, 1] valid(%rows, %one) : memref<?x1xf32> -> tensor<24x1xf32>\n%" +
         name + " = tile.reduce max %" + name + "_column : tensor<24x1xf32> -> tensor<24xf32>\n";
}

std::string store(int index, const std::string &name, bool isColumn) {
  std::string out = "%out" + std::to_string(index);
  if (!isColumn)
    return "tile.store %" + name + ", " + out +
           "[%zero, %zero] dims [0, 1] valid(%rows, %columns) : tensor<24x16xf32>, "
           "memref<?x16xf32>\n";
  return "tile.store %" + name + ", " + out +
         "[%zero, %zero] dims [0] valid(%rows) : tensor<24xf32>, memref<?x1xf32>\n";
}

States merge(const States &a, const States &b, int base) {
  auto make = [](const std::string &baseText) {
    return MatrixKernel(
        {1, 1, kDim, 1, 1, kDim}, {1, 1, kDim},
        load(0, "m1", true) + load(1, "l1", true) + load(2, "acc1", false) + load(3, "m2", true) +
            load(4, "l2", true) + load(5, "acc2", false) +
            "%m, %l, %acc = flash.merge (%m1, %l1, %acc1), (%m2, %l2, %acc2) {base = " + baseText +
            " : i32} : tensor<24xf32>, tensor<24xf32>, tensor<24x16xf32>\n" + store(0, "m", true) +
            store(1, "l", true) + store(2, "acc", false));
  };
  static const MatrixKernel natural = make("0"), binary = make("2");
  States result;
  (base ? binary : natural)({&a.m, &a.l, &a.acc, &b.m, &b.l, &b.acc},
                            {&result.m, &result.l, &result.acc});
  return result;
}

struct Outputs {
  std::vector<float> o, lse;
};

Outputs finalize(const States &state) {
  static const MatrixKernel kernel(
      {1, 1, kDim}, {kDim, 1},
      load(0, "m", true) + load(1, "l", true) + load(2, "acc", false) +
          "%o, %lse = flash.finalize %m, %l, %acc : tensor<24xf32>, tensor<24xf32>, "
          "tensor<24x16xf32> -> tensor<24x16xf32>, tensor<24xf32>\n" +
          store(0, "o", false) + store(1, "lse", true));
  Outputs outputs;
  kernel({&state.m, &state.l, &state.acc}, {&outputs.o, &outputs.lse});
  return outputs;
}

/// One row: empty, NaN, or a sum of a few keys near the reference, which lies anywhere.
void fillRow(States &states, int64_t row, bool withNaN) {
  int kind = *rc::gen::inRange(0, withNaN ? 10 : 9);
  if (kind == 0)
    return; // the identity
  float m = kind == 1   ? -100000.0f
            : kind == 2 ? 3e4f
                        : static_cast<float>(*rc::gen::inRange(-4000, 4000)) / 64;
  float l = 1 + static_cast<float>(*rc::gen::inRange(0, 1000)) / 250;
  states.m[row] = m;
  states.l[row] = l;
  for (int64_t n = 0; n < kDim; ++n)
    states.acc[row * kDim + n] = l * static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 256;
  if (kind == 9) {
    // A NaN score leaves m as it was, and reaches l and acc.
    states.l[row] = kNaN;
    std::fill_n(states.acc.begin() + row * kDim, kDim, kNaN);
    if (*rc::gen::inRange(0, 2))
      states.m[row] = -kInfinity; // no other score
  }
}

States arbitraryStates(bool withNaN = false) {
  States states;
  for (int64_t row = 0; row < kRows; ++row)
    fillRow(states, row, withNaN);
  return states;
}

bool isSame(float a, float b) { return std::isnan(a) ? std::isnan(b) : a == b; }

bool isSame(const std::vector<float> &a, const std::vector<float> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return isSame(x, y); });
}

/// Equal up to a few roundings of the larger terms.
void expectNear(const States &a, const States &b) {
  for (int64_t row = 0; row < kRows; ++row) {
    RC_ASSERT(isSame(a.m[row], b.m[row]));
    RC_ASSERT(std::isnan(a.l[row]) == std::isnan(b.l[row]));
    if (std::isnan(a.l[row]))
      continue;
    RC_ASSERT(std::fabs(a.l[row] - b.l[row]) <= 1e-5f * a.l[row]);
    for (int64_t n = row * kDim; n < (row + 1) * kDim; ++n)
      RC_ASSERT(std::fabs(a.acc[n] - b.acc[n]) <= 1e-4f * a.l[row]); // |acc| < 4 l
  }
}

RC_GTEST_PROP(Merge, IsAssociative, ()) {
  int base = *rc::gen::element(0, 2);
  States a = arbitraryStates(true), b = arbitraryStates(true), c = arbitraryStates(true);
  expectNear(merge(merge(a, b, base), c, base), merge(a, merge(b, c, base), base));
}

RC_GTEST_PROP(Merge, IsCommutative, ()) {
  int base = *rc::gen::element(0, 2);
  States a = arbitraryStates(true), b = arbitraryStates(true);
  expectNear(merge(a, b, base), merge(b, a, base));
}

RC_GTEST_PROP(Merge, HasIdentity, ()) {
  int base = *rc::gen::element(0, 2);
  States a = arbitraryStates(true), identity;
  for (const States &merged : {merge(a, identity, base), merge(identity, a, base)}) {
    RC_ASSERT(isSame(merged.m, a.m));
    RC_ASSERT(isSame(merged.l, a.l));
    RC_ASSERT(isSame(merged.acc, a.acc));
  }
}

/// What an empty state's acc holds does not matter: a value without weight may have made it NaN.
RC_GTEST_PROP(Merge, PassesOverEmptyStates, ()) {
  States a = arbitraryStates(), empty;
  std::fill(empty.acc.begin(), empty.acc.end(), kNaN);
  for (const States &merged : {merge(a, empty, 0), merge(empty, a, 0)}) {
    RC_ASSERT(isSame(merged.l, a.l));
    RC_ASSERT(isSame(merged.acc, a.acc));
  }
}

RC_GTEST_PROP(Merge, NaNAbsorbs, ()) {
  States a = arbitraryStates(true), b = arbitraryStates(true), merged = merge(a, b, 0);
  for (int64_t row = 0; row < kRows; ++row)
    RC_ASSERT(std::isnan(merged.l[row]) == (std::isnan(a.l[row]) || std::isnan(b.l[row])));
}

/// Against the definition, in double.
RC_GTEST_PROP(Merge, IsTheSumOfBoth, ()) {
  States a = arbitraryStates(), b = arbitraryStates(), merged = merge(a, b, 0);
  for (int64_t row = 0; row < kRows; ++row) {
    double m = std::max(a.m[row], b.m[row]);
    RC_ASSERT(merged.m[row] == m);
    if (m == -kInfinity)
      continue;
    double fa = std::exp(a.m[row] - m), fb = std::exp(b.m[row] - m);
    double l = fa * a.l[row] + fb * b.l[row];
    RC_ASSERT(std::fabs(merged.l[row] - l) <= 2e-6 * l);
    for (int64_t n = row * kDim; n < (row + 1) * kDim; ++n)
      RC_ASSERT(std::fabs(merged.acc[n] - (fa * a.acc[n] + fb * b.acc[n])) <= 1e-5 * l);
  }
}

TEST(Merge, FinalizeOfTheIdentityIsAnEmptyRow) {
  States empty;
  Outputs outputs = finalize(empty);
  EXPECT_TRUE(isSame(outputs.o, std::vector<float>(kRows * kDim, 0.0f)));
  EXPECT_TRUE(isSame(outputs.lse, std::vector<float>(kRows, -kInfinity)));
}

/// Attention over keys [from, to) of one problem of kRows queries, as states: the results are the state
/// (lse, 1, o).
States attend(int64_t from, int64_t to, bool withBias) {
  AttentionCase c = makeCase(DType::F32, kDim, kDim, 1, kRows, to - from, 1, 1);
  if (withBias)
    c.desc.bias = DType::F32;
  constexpr int64_t keys = 150;
  c.edit = [=](CaseInputs &x) {
    std::mt19937_64 engine(11);
    std::normal_distribution<double> normal;
    std::vector<double> k(keys * kDim), v(keys * kDim), bias(kRows * keys);
    for (auto *values : {&x.q, &k, &v, &bias})
      for (double &value : *values)
        value = normal(engine);
    for (int64_t j = 0; j < keys; ++j)
      bias[5 * keys + j] = bias[6 * keys + j] = -kInfinity; // empty rows
    bias[6 * keys + 70] = 2.0;
    for (int64_t j = from; j < to; ++j) {
      std::copy_n(&k[j * kDim], kDim, &x.k[(j - from) * kDim]);
      std::copy_n(&v[j * kDim], kDim, &x.v[(j - from) * kDim]);
      for (int64_t i = 0; withBias && i < kRows; ++i)
        x.bias[i * (to - from) + j - from] = bias[i * keys + j];
    }
  };
  CaseOutcome outcome = runCase(c);
  EXPECT_TRUE(outcome.passed) << outcome.message;
  States states;
  states.m.assign(outcome.actual.lse.begin(), outcome.actual.lse.end());
  states.acc.assign(outcome.actual.o.begin(), outcome.actual.o.end());
  for (int64_t row = 0; row < kRows; ++row)
    states.l[row] = states.m[row] == -kInfinity ? 0 : 1;
  return states;
}

TEST(Merge, OfASplitIsTheWhole) {
  for (bool withBias : {false, true}) {
    States whole = attend(0, 150, withBias);
    for (int64_t at : {0, 1, 63, 64, 70, 71, 149, 150}) {
      Outputs outputs = finalize(merge(attend(0, at, withBias), attend(at, 150, withBias), 0));
      for (int64_t row = 0; row < kRows; ++row) {
        if (std::isinf(whole.m[row])) {
          EXPECT_EQ(outputs.lse[row], whole.m[row]);
        } else {
          EXPECT_NEAR(outputs.lse[row], whole.m[row], 2e-6);
        }
        for (int64_t n = row * kDim; n < (row + 1) * kDim; ++n)
          EXPECT_NEAR(outputs.o[n], whole.acc[n], 3e-6);
      }
    }
  }
}

} // namespace
