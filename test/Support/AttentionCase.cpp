//===- AttentionCase.cpp - one attention, run and judged ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "test/Support/AttentionCase.h"
#include "compiler/Driver/CompilerABI.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/API/KernelCache.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Support/Error.h"

#include <limits>
#include <numeric>
#include <random>
#include <sstream>

namespace flashc::test {

namespace {

class CaseRunner {
public:
  explicit CaseRunner(const AttentionCase &attention) : c(attention), engine(attention.seed) {}

  CaseOutcome run() {
    AttentionDesc desc = c.desc;
    if (c.allOutputs)
      desc.wantLse = desc.wantRowMax = true;
    makeInputs();
    makeOutputs();
    if (c.execute)
      outputs = c.execute(desc, tensors);
    else
      executeHere(desc);
    return judge();
  }

private:
  void executeHere(const AttentionDesc &desc) {
    registerLinkedCompiler();
    std::shared_ptr<const Kernel> kernel = compileKernel(desc);
    std::vector<DLTensor> views;
    for (const auto &argument : kernel->info().arguments) {
      views.push_back(tensors.at(argument.name).view());
      if (argument.isOutput)
        outputs.push_back(argument.name);
    }
    std::vector<const DLTensor *> pointers;
    for (const DLTensor &view : views)
      pointers.push_back(&view);
    size_t bytes = kernel->workspaceSize(pointers);
    std::vector<std::byte> storage(bytes + 64, std::byte(0xff)); // NaN in every float type
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    kernel->run(pointers, storage.data() + (64 - address % 64) % 64, bytes, c.threads);
  }

  bool isPacked() const { return c.desc.packed.has_value(); }

  std::vector<double> normal(int64_t count, double deviation) {
    std::normal_distribution<double> distribution(0.0, deviation);
    std::vector<double> values(count);
    for (double &value : values)
      value = distribution(engine);
    return values;
  }

  StridedTensor &add(const char *name, DType type, const std::vector<int64_t> &shape,
                     Strides mode = Strides::Dense) {
    double filler = isFloat(type) ? std::numeric_limits<double>::quiet_NaN() : 0;
    return tensors[name] = StridedTensor(type, shape, mode, filler);
  }

  static void fill(StridedTensor &tensor, const std::vector<double> &values) {
    for (int64_t n = 0; n < tensor.count(); ++n)
      tensor.set(n, values[n]);
  }

  void addLengths(const char *name, DType type, const std::vector<int64_t> &values) {
    StridedTensor &tensor = add(name, type, {static_cast<int64_t>(values.size())});
    for (size_t n = 0; n < values.size(); ++n)
      tensor.setInt(n, values[n]);
  }

  /// Gives every sequence pages of its own, in no order. Entries that no key in use needs lead nowhere. Returns the
  /// number of pages, of which some belong to nobody.
  int64_t addPageTable() {
    int64_t columns = (c.sk + c.pageRows - 1) / c.pageRows, pages = c.batch * columns + 2;
    StridedTensor &table =
        add("page_table", *c.desc.pageTable, {c.batch, columns}, c.captureStrides);
    std::vector<int64_t> order(pages);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine);
    for (int64_t n = 0; n < c.batch * columns; ++n) {
      bool isNeeded = n % columns * c.pageRows < c.used.at(n / columns);
      table.setInt(n, isNeeded ? order[n] : n % 2 ? -1 : std::numeric_limits<int32_t>::max());
    }
    return pages;
  }

  static std::vector<int64_t> prefixSums(const std::vector<int64_t> &lengths) {
    std::vector<int64_t> sums = {0};
    for (int64_t length : lengths)
      sums.push_back(sums.back() + length);
    return sums;
  }

  /// What is repeated in the inputs cannot be so in the output.
  Strides outerStrides() const {
    return c.strides == Strides::ZeroKeyHeads ? Strides::Dense : c.strides;
  }

  void makeInputs() {
    const AttentionDesc &d = c.desc;
    int64_t batch = c.batch, sq = c.sq, sk = c.sk;
    if (isPacked()) {
      batch = 1;
      sq = prefixSums(c.lengthsQ).back();
      sk = prefixSums(c.lengthsK).back();
      addLengths("cu_seqlens_q", *d.packed, prefixSums(c.lengthsQ));
      addLengths("cu_seqlens_k", *d.packed, prefixSums(c.lengthsK));
    }
    if (d.sequsedK)
      addLengths("seqused_k", *d.sequsedK, c.used);
    int64_t caches = batch, rows = sk; // pages and their rows, where there are pages
    if (d.pageTable) {
      caches = addPageTable();
      rows = c.pageRows;
      sk = tensors["page_table"].shape[1] * rows;
    }
    StridedTensor &q = add("q", d.dtype, {batch, sq, c.hq, d.headDim}, outerStrides());
    StridedTensor &k = add("k", d.dtype, {caches, rows, c.hkv, d.headDim}, c.strides);
    StridedTensor &v = add("v", d.dtype, {caches, rows, c.hkv, d.resolvedValueDim()}, c.strides);
    CaseInputs inputs;
    inputs.q = normal(q.count(), c.amplitude);
    inputs.k = normal(k.count(), c.amplitude);
    inputs.v = normal(v.count(), 1.0);
    std::vector<int64_t> fullBias = {sequences(), c.hq, isPacked() ? longest(c.lengthsQ) : sq,
                                     isPacked() ? longest(c.lengthsK) : sk};
    if (d.sinks)
      inputs.sinks = normal(add("sinks", DType::F32, {c.hq}).count(), 1.0);
    if (d.alibi)
      inputs.alibi = normal(add("alibi", DType::F32, {c.hq}).count(), 0.1);
    if (d.bias)
      inputs.bias =
          normal(add("bias", *d.bias, c.biasShape.empty() ? fullBias : c.biasShape).count(), 1.0);
    if (c.edit)
      c.edit(inputs);
    fill(q, inputs.q);
    fill(k, inputs.k);
    fill(v, inputs.v);
    if (d.sinks)
      fill(tensors["sinks"], inputs.sinks);
    if (d.alibi)
      fill(tensors["alibi"], inputs.alibi);
    if (d.bias) {
      fill(tensors["bias"], inputs.bias);
      tensors["bias"].broadcast(fullBias);
    }
    for (const auto &[name, array] : c.captures) {
      StridedTensor &tensor = add(name.c_str(), array.dtype, array.shape, c.captureStrides);
      for (int64_t n = 0; n < tensor.count(); ++n) {
        if (isFloat(array.dtype))
          tensor.set(n, array.at(n));
        else
          tensor.setInt(n, array.intAt(n));
      }
    }
  }

  int64_t sequences() const {
    return isPacked() ? static_cast<int64_t>(c.lengthsQ.size()) : c.batch;
  }

  static int64_t longest(const std::vector<int64_t> &lengths) {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  }

  void makeOutputs() {
    const std::vector<int64_t> q = tensors["q"].shape;
    auto addOutput = [&](const char *name, DType type, std::vector<int64_t> shape, Strides mode) {
      tensors[name] = StridedTensor(type, std::move(shape), mode, kPoison);
    };
    addOutput("o", c.desc.dtype, {q[0], q[1], q[2], c.desc.resolvedValueDim()}, outerStrides());
    addOutput("lse", DType::F32, {q[0], q[2], q[1]}, Strides::Dense);
    addOutput("row_max", DType::F32, {q[0], q[2], q[1]}, Strides::Dense);
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
    p.pageTable = optional("page_table");
    return p;
  }

  CaseOutcome judge() {
    using namespace reference;
    Problem problem = makeProblem();
    // The reference starts threads of its own, which pay for large problems only.
    Result expected = evaluate(problem), unfused = evaluateUnfusedF32(problem, c.desc.dtype);
    CaseOutcome outcome;
    outcome.passed = true;
    for (const std::string &name : outputs) {
      auto select = [&](auto &result) -> auto & {
        return name == "o" ? result.o : name == "lse" ? result.lse : result.rowMax;
      };
      select(outcome.actual) = tensors.at(name).values();
      BarContext context = name == "o" ? BarContext::forOutput(expected, c.desc.dtype)
                                       : BarContext::forScores(expected);
      if (c.amplitude == 0)
        context.rows = std::min<int64_t>(context.rows, 1); // equal rows are one sample
      Measure &measure = outcome.measures[name];
      std::vector<double> actual = select(outcome.actual);
      if (c.infinityMayBeNaN && name == "o")
        for (size_t n = 0; n < actual.size(); ++n)
          if (std::isnan(actual[n]) && std::isinf(expected.o[n]))
            actual[n] = expected.o[n];
      measure.actual = compare(actual, select(expected));
      measure.unfused = compare(select(unfused), select(expected));
      measure.bar = errorBar(measure.unfused, context);
      bool isUntouched = tensors.at(name).isUntouchedOutside();
      bool isGross = measure.actual.max > grossError(measure, context);
      bool ok = withinBar(measure.actual, measure.unfused, context) && isUntouched && !isGross;
      outcome.passed &= ok;
      outcome.message +=
          concat(name, ok ? ": " : " FAILED: ", describe(measure.actual, measure.bar),
                 isGross ? ", gross error" : "", isUntouched ? "; " : ", wrote outside; ");
    }
    outcome.expected = std::move(expected);
    return outcome;
  }

  /// An error that no element may have. The measures of the bar are means, in which one wrong row hides.
  static double grossError(const Measure &measure, const reference::BarContext &context) {
    return 16 * (measure.unfused.max + context.slack) + 2 * measure.bar.p999;
  }

  static constexpr double kPoison = 24576.0; // exact in every type
  const AttentionCase &c;
  std::mt19937_64 engine;
  CaseTensors tensors;
  std::vector<std::string> outputs;
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
  if (desc.pageTable)
    os << " page rows " << pageRows;
  if (captureStrides != Strides::Dense)
    os << " capture strides " << static_cast<int>(captureStrides);
  for (const auto &[name, array] : captures)
    os << " " << name << shapeToString(array.shape);
  os << " threads " << threads << " " << desc.toJson();
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

AttentionCase makeCase(DType type, int64_t d, int64_t dv, int64_t batch, int64_t sq, int64_t sk,
                       int64_t hq, int64_t hkv) {
  AttentionCase c;
  c.desc.dtype = type;
  c.desc.headDim = d;
  c.desc.valueDim = dv;
  c.batch = batch;
  c.sq = sq;
  c.sk = sk;
  c.hq = hq;
  c.hkv = hkv;
  return c;
}

void addCapture(AttentionCase &attention, const std::string &name, DType type,
                std::vector<int64_t> shape, const std::vector<double> &values) {
  attention.desc.captures.push_back({name, type, static_cast<int>(shape.size())});
  HostArray array = HostArray::zeros(type, std::move(shape));
  for (int64_t n = 0; n < array.numElements(); ++n)
    array.set(n, values.at(n));
  attention.captures[name] = std::move(array);
}

void addIntCapture(AttentionCase &attention, const std::string &name, DType type,
                   std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  attention.desc.captures.push_back({name, type, static_cast<int>(shape.size())});
  HostArray array = HostArray::zeros(type, std::move(shape));
  for (int64_t n = 0; n < array.numElements(); ++n)
    array.setInt(n, values.at(n));
  attention.captures[name] = std::move(array);
}

bool canRunTarget(const std::string &name) {
  const TargetInfo *target = lookupTarget(name);
  return name.empty() || (target && HostCPU::get().canRun(*target));
}

} // namespace flashc::test
