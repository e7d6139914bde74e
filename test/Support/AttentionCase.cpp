//===- AttentionCase.cpp - one attention, run and judged ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "test/Support/AttentionCase.h"
#include "compiler/Driver/CompilerABI.h"
#include "runtime/API/Binding.h"
#include "runtime/API/KernelCache.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Reference/ErrorStats.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

namespace flashc::test {

namespace {

/// A tensor of 3 or 4 dimensions in a storage of its own, with chosen strides.
struct Tensor {
  HostArray storage;
  std::vector<int64_t> shape, strides;
  int64_t origin = 0; // element of the storage that is [0, 0, ...]

  void *data() { return storage.data.data() + origin * static_cast<int64_t>(sizeOf(storage.dtype)); }
  int64_t count() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  }
  /// The storage element of flat index `flat` in C order.
  int64_t place(int64_t flat) const {
    int64_t at = origin;
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
      at += flat % shape[dim] * strides[dim];
      flat /= shape[dim];
    }
    return at;
  }
  DLTensor view() {
    return {data(),          {kDLCPU, 0},    static_cast<int>(shape.size()), toDLPack(storage.dtype),
            shape.data(), strides.data(), 0};
  }
  reference::TensorView referenceView() {
    return {data(), storage.dtype, shape, strides};
  }
};

Tensor makeTensor(DType type, std::vector<int64_t> shape, Strides mode) {
  Tensor t;
  t.shape = shape;
  size_t rank = shape.size();
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (mode == Strides::HeadsFirst && rank == 4)
    std::swap(order[1], order[2]);
  t.strides.assign(rank, 1);
  int64_t step = mode == Strides::Padded ? 2 : 1, total = 1;
  for (size_t i = rank; i-- > 0;) {
    size_t dim = order[i];
    bool isRepeated = mode == Strides::ZeroKeyHeads && rank == 4 && dim == 2;
    t.strides[dim] = isRepeated ? 0 : step;
    if (!isRepeated)
      step *= std::max<int64_t>(shape[dim], 1);
    if (mode == Strides::Padded)
      step += 3;
  }
  total = step;
  if (mode == Strides::Negative) {
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
      t.origin += std::max<int64_t>(shape[dim] - 1, 0) * t.strides[dim];
      t.strides[dim] = -t.strides[dim];
    }
  }
  t.storage = HostArray::zeros(type, {std::max<int64_t>(total, 1)});
  return t;
}

class CaseRunner {
public:
  explicit CaseRunner(const AttentionCase &attention) : c(attention), engine(attention.seed) {}

  CaseOutcome run() {
    registerLinkedCompiler();
    makeInputs();
    AttentionDesc desc = c.desc;
    desc.wantLse = desc.wantRowMax = true;
    std::shared_ptr<const Kernel> kernel = compileKernel(desc);
    makeOutputs();
    std::vector<DLTensor> views;
    for (const auto &argument : kernel->info().arguments)
      views.push_back(tensors.at(argument.name).view());
    std::vector<const DLTensor *> pointers;
    for (const DLTensor &view : views)
      pointers.push_back(&view);
    std::vector<std::byte> storage(kernel->workspaceSize(pointers) + 64);
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    auto *workspace = storage.data() + (64 - address % 64) % 64;
    kernel->run(pointers, workspace, storage.size() - 64, c.threads);
    return judge();
  }

private:
  bool isPacked() const { return !c.lengthsQ.empty(); }

  void fill(Tensor &t, const std::vector<double> &values) {
    for (int64_t i = 0; i < t.count(); ++i)
      t.storage.set(t.place(i), values[i]);
  }

  std::vector<double> normal(int64_t count, double deviation) {
    std::normal_distribution<double> distribution(0.0, deviation);
    std::vector<double> values(count);
    for (double &value : values)
      value = distribution(engine);
    return values;
  }

  void addLengths(const char *name, DType type, const std::vector<int64_t> &values) {
    Tensor t = makeTensor(type, {static_cast<int64_t>(values.size())}, Strides::Dense);
    for (size_t i = 0; i < values.size(); ++i)
      t.storage.setInt(i, values[i]);
    tensors[name] = std::move(t);
  }

  static std::vector<int64_t> prefixSums(const std::vector<int64_t> &lengths) {
    std::vector<int64_t> sums = {0};
    for (int64_t length : lengths)
      sums.push_back(sums.back() + length);
    return sums;
  }

  void makeInputs() {
    const AttentionDesc &d = c.desc;
    int64_t dv = d.resolvedValueDim(), batch = c.batch, sq = c.sq, sk = c.sk;
    if (isPacked()) {
      batch = 1;
      sq = prefixSums(c.lengthsQ).back();
      sk = prefixSums(c.lengthsK).back();
      addLengths("cu_seqlens_q", *d.packed, prefixSums(c.lengthsQ));
      addLengths("cu_seqlens_k", *d.packed, prefixSums(c.lengthsK));
    }
    if (!c.used.empty())
      addLengths("seqused_k", *d.sequsedK, c.used);
    Strides outer = c.strides == Strides::ZeroKeyHeads ? Strides::Dense : c.strides;
    tensors["q"] = makeTensor(d.dtype, {batch, sq, c.hq, d.headDim}, outer);
    tensors["k"] = makeTensor(d.dtype, {batch, sk, c.hkv, d.headDim}, c.strides);
    tensors["v"] = makeTensor(d.dtype, {batch, sk, c.hkv, dv}, c.strides);
    auto q = normal(tensors["q"].count(), c.amplitude);
    auto k = normal(tensors["k"].count(), c.amplitude);
    auto v = normal(tensors["v"].count(), 1.0);
    if (c.edit)
      c.edit(q, k, v);
    fill(tensors["q"], q);
    fill(tensors["k"], k);
    fill(tensors["v"], v);
    if (d.sinks)
      addVector("sinks", normal(c.hq, 1.0));
    if (d.alibi)
      addVector("alibi", normal(c.hq, 0.1));
    if (d.bias)
      addBias(sequences(), isPacked() ? longest(c.lengthsQ) : sq,
              isPacked() ? longest(c.lengthsK) : sk);
    for (const auto &[name, array] : c.captures) {
      Tensor t;
      t.storage = array;
      t.shape = array.shape;
      t.strides = array.strides();
      tensors[name] = std::move(t);
    }
  }

  int64_t sequences() const {
    return isPacked() ? static_cast<int64_t>(c.lengthsQ.size()) : c.batch;
  }

  static int64_t longest(const std::vector<int64_t> &lengths) {
    return *std::max_element(lengths.begin(), lengths.end());
  }

  void addVector(const char *name, const std::vector<double> &values) {
    tensors[name] = makeTensor(DType::F32, {static_cast<int64_t>(values.size())}, Strides::Dense);
    fill(tensors[name], values);
  }

  void addBias(int64_t batch, int64_t sq, int64_t sk) {
    std::vector<int64_t> full = {batch, c.hq, sq, sk}, shape = c.biasShape;
    if (shape.empty())
      shape = full;
    Tensor t = makeTensor(*c.desc.bias, shape, Strides::Dense);
    fill(t, normal(t.count(), 1.0));
    std::vector<int64_t> strides(4, 0);
    for (size_t i = 0; i < shape.size(); ++i) {
      size_t dim = 4 - shape.size() + i;
      strides[dim] = shape[i] == 1 && full[dim] != 1 ? 0 : t.strides[i];
    }
    t.shape = full;
    t.strides = strides;
    tensors["bias"] = std::move(t);
  }

  void makeOutputs() {
    const std::vector<int64_t> &q = tensors["q"].shape;
    Strides outer = c.strides == Strides::ZeroKeyHeads ? Strides::Dense : c.strides;
    tensors["o"] = makeTensor(c.desc.dtype, {q[0], q[1], q[2], c.desc.resolvedValueDim()}, outer);
    tensors["lse"] = makeTensor(DType::F32, {q[0], q[2], q[1]}, Strides::Dense);
    tensors["row_max"] = makeTensor(DType::F32, {q[0], q[2], q[1]}, Strides::Dense);
    for (const char *name : {"o", "lse", "row_max"}) {
      HostArray &storage = tensors[name].storage;
      for (int64_t i = 0; i < storage.numElements(); ++i)
        storage.set(i, kPoison);
    }
  }

  reference::Problem makeProblem() {
    reference::Problem p;
    const AttentionDesc &d = c.desc;
    auto dropBatch = [&](reference::TensorView view) {
      view.shape.erase(view.shape.begin());
      view.strides.erase(view.strides.begin());
      return view;
    };
    auto view = [&](const char *name) {
      reference::TensorView v = tensors.at(name).referenceView();
      return isPacked() ? dropBatch(v) : v;
    };
    auto optional = [&](const char *name) -> std::optional<reference::TensorView> {
      auto found = tensors.find(name);
      if (found == tensors.end())
        return std::nullopt;
      return found->second.referenceView();
    };
    p.q = view("q");
    p.k = view("k");
    p.v = view("v");
    p.scale = d.scale;
    p.softcap = d.softcap.value_or(0.0);
    p.causal = static_cast<reference::Causal>(d.causal);
    if (d.window) {
      p.windowLeft = d.window->left;
      p.windowRight = d.window->right;
    }
    p.alibi = optional("alibi");
    p.bias = optional("bias");
    p.sinks = optional("sinks");
    std::vector<CaptureInfo> infos;
    for (const Capture &capture : d.captures) {
      infos.push_back({capture.name, capture.dtype, capture.rank});
      p.captures.push_back({capture.name, tensors.at(capture.name).referenceView()});
    }
    if (!d.score.empty())
      p.score = parseExpression(d.score, ExprKind::Score, infos);
    if (!d.mask.empty())
      p.mask = parseExpression(d.mask, ExprKind::Mask, infos);
    p.cuSeqlensQ = optional("cu_seqlens_q");
    p.cuSeqlensK = optional("cu_seqlens_k");
    p.seqUsedK = optional("seqused_k");
    return p;
  }

  std::vector<double> values(const char *name) {
    Tensor &t = tensors.at(name);
    std::vector<double> result(t.count());
    for (int64_t i = 0; i < t.count(); ++i)
      result[i] = t.storage.at(t.place(i));
    return result;
  }

  /// Whether memory of an output outside of the tensor still holds the poison.
  bool isUntouchedOutside(const char *name) {
    Tensor &t = tensors.at(name);
    std::vector<bool> inside(t.storage.numElements());
    for (int64_t i = 0; i < t.count(); ++i)
      inside[t.place(i)] = true;
    HostArray poison = HostArray::zeros(t.storage.dtype, {1});
    poison.set(0, kPoison);
    for (int64_t i = 0; i < t.storage.numElements(); ++i)
      if (!inside[i] && t.storage.at(i) != poison.at(0))
        return false;
    return true;
  }

  CaseOutcome judge() {
    using namespace reference;
    Problem problem = makeProblem();
    Result expected = evaluate(problem), unfused = evaluateUnfusedF32(problem, c.desc.dtype);
    CaseOutcome outcome;
    outcome.passed = true;
    outcome.actual.o = values("o");
    outcome.actual.lse = values("lse");
    outcome.actual.rowMax = values("row_max");
    auto check = [&](const char *name, const std::vector<double> &actual,
                     const std::vector<double> &want, const std::vector<double> &baseline,
                     const BarContext &context) {
      ErrorStats stats = compare(actual, want), base = compare(baseline, want);
      ErrorBar bar = errorBar(base, context);
      bool ok = withinBar(stats, base, context) && isUntouchedOutside(name);
      outcome.passed &= ok;
      outcome.message += concat(name, ok ? ": " : " FAILED: ", describe(stats, bar),
                                isUntouchedOutside(name) ? "; " : ", wrote outside; ");
      if (name == std::string_view("o") && bar.rms > 0)
        outcome.errorRatio = stats.rms / bar.rms;
    };
    check("o", outcome.actual.o, expected.o, unfused.o,
          BarContext::forOutput(expected, c.desc.dtype));
    check("lse", outcome.actual.lse, expected.lse, unfused.lse, BarContext::forScores(expected));
    check("row_max", outcome.actual.rowMax, expected.rowMax, unfused.rowMax,
          BarContext::forScores(expected));
    return outcome;
  }

  static constexpr double kPoison = 24576.0;
  const AttentionCase &c;
  std::mt19937_64 engine;
  std::map<std::string, Tensor> tensors;
};

} // namespace

std::string AttentionCase::describe() const {
  std::ostringstream os;
  os << "B" << batch << " Sq" << sq << " Sk" << sk << " H" << hq << "/" << hkv << " seed " << seed
     << " strides " << static_cast<int>(strides) << " amplitude " << amplitude;
  auto list = [&](const char *name, const std::vector<int64_t> &values) {
    if (values.empty())
      return;
    os << " " << name;
    for (int64_t value : values)
      os << ' ' << value;
  };
  list("lengths q", lengthsQ);
  list("lengths k", lengthsK);
  list("used", used);
  list("bias", biasShape);
  os << " " << desc.toJson();
  return os.str();
}

CaseOutcome runCase(const AttentionCase &attention) {
  try {
    return CaseRunner(attention).run();
  } catch (const std::exception &error) {
    CaseOutcome outcome;
    outcome.message = concat("error: ", error.what());
    return outcome;
  }
}

} // namespace flashc::test
