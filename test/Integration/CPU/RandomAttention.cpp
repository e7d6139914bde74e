//===- RandomAttention.cpp - random compositions of attention -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What is drawn keeps the comparison with the reference meaningful: scores stay where f32 resolves them, and
// no f32 product overflows.
//
//===----------------------------------------------------------------------===//

#include "test/Integration/CPU/RandomAttention.h"
#include "compiler/Target/ScheduleTable.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/CPU/HostCPU.h"
#include "test/Support/RandomExpr.h"

#include <limits>

namespace flashc::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Some non-finite numbers at random places.
struct Injection {
  char where = 0; ///< 'q', 'k', 'v', 'b'ias or 's'inks
  double value = 0;
  int count = 0;
  uint64_t seed = 0;

  void operator()(CaseInputs &inputs) const {
    std::vector<double> &values = where == 'q'   ? inputs.q
                                  : where == 'k' ? inputs.k
                                  : where == 'v' ? inputs.v
                                  : where == 'b' ? inputs.bias
                                                 : inputs.sinks;
    std::mt19937_64 engine(seed);
    for (int n = 0; n < count && !values.empty(); ++n)
      values[engine() % values.size()] = value;
  }
};

class Generator {
public:
  Generator(uint64_t seed, uint64_t index) : engine(seed * 0x9e3779b97f4a7c15u + index) {
    engine.discard(8);
  }

  std::vector<AttentionCase> run() {
    AttentionCase c;
    c.seed = below(1u << 30);
    drawSizes(c);
    drawTypes(c.desc);
    drawFeatures(c);
    drawExecution(c);
    drawInjection(c);
    std::vector<AttentionCase> cases = {c};
    while (cases.size() < 3) {
      AttentionCase other = c;
      other.seed += cases.size();
      drawSizes(other);
      drawLengths(other);
      cases.push_back(std::move(other));
    }
    return cases;
  }

private:
  uint64_t below(uint64_t bound) { return engine() % bound; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

  /// Sizes around the edges of tiles and micro-tiles.
  int64_t length(int64_t most) {
    int64_t value =
        pick<int64_t>({0,   1,   1,   2,   5,   6,   7,   8,   11,  12,  13,  15,  16,  17,
                       31,  33,  47,  48,  49,  63,  64,  65,  96,  100, 127, 128, 129, 150,
                       191, 192, 193, 200, 256, 300, 383, 384, 385, 400, 500, 770});
    return value > most ? below(most + 1) : value;
  }

  void drawSizes(AttentionCase &c) {
    int64_t groups = pick<int64_t>({1, 1, 1, 2, 3, 4});
    c.hkv = pick<int64_t>({1, 1, 2, 3});
    c.hq = c.hkv * groups;
    c.batch = chance(3) ? 0 : pick<int64_t>({1, 1, 2, 3});
    c.sq = length(800);
    // Scores in all, which the reference computes twice.
    int64_t budget = 120000 / std::max<int64_t>(c.hq * c.batch, 1);
    c.sk = length(std::max<int64_t>(budget / std::max<int64_t>(c.sq, 1), 2));
  }

  int64_t headDim() {
    if (chance(4))
      return 1 + below(576);
    if (chance(15))
      return pick<int64_t>({64, 72, 80, 96, 128});
    return chance(50) ? pick<int64_t>({1, 2, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40})
                      : 1 + below(40);
  }

  void drawTypes(AttentionDesc &d) {
    d.dtype = pick({DType::F32, DType::F32, DType::BF16, DType::F16});
    d.headDim = headDim();
    d.valueDim = chance(60) ? 0 : headDim();
    d.strategy = chance(20) ? Strategy::Standard : Strategy::Online;
    std::vector<std::string> targets = {"", "x86-64-v3"};
    for (const TargetInfo &target : allTargets())
      if (target.kind == TargetKind::CPU && canRunTarget(std::string(target.name)))
        targets.push_back(std::string(target.name));
    d.target = targets[below(targets.size())];
    drawSchedule(d);
  }

  void drawSchedule(AttentionDesc &d) {
    if (chance(20))
      d.queries = pick<int64_t>({1, 2, 16, 100});
    if (d.queries && chance(40))
      d.groupSize = pick<int64_t>({3, 12, 40, 100});
    if (chance(55))
      return;
    if (chance(15)) {
      d.schedule = "paper";
      return;
    }
    const TargetInfo &target = d.target.empty() ? bestHostTarget(d.dtype) : *lookupTarget(d.target);
    ScheduleProblem problem = {d.headDim, d.resolvedValueDim(), d.dtype == DType::BF16};
    ScheduleSizes sizes;
    sizes.micro = {pick<int64_t>({1, 2, 3, 4, 5, 6}),
                   target.vectorLanesF32() * pick<int64_t>({1, 1, 2})};
    if (usesTileRegisters(target, problem))
      sizes.micro[0] = pick<int64_t>({16, 32});
    sizes.tile = {sizes.micro[0] * pick<int64_t>({1, 2, 4, 7, 20}),
                  sizes.micro[1] * pick<int64_t>({1, 2, 3, 4})};
    const bool isOnline = d.strategy == Strategy::Online;
    sizes.rowsAreHeads = isOnline && chance(30);
    sizes.split = isOnline && chance(30) ? sizes.tile[1] * pick<int64_t>({1, 2, 5}) : 0;
    if (!rejectSchedule(sizes, target, problem).empty())
      return;
    auto text = [](std::array<int64_t, 2> pair) {
      return "[" + std::to_string(pair[0]) + "," + std::to_string(pair[1]) + "]";
    };
    d.schedule = "tile=" + text(sizes.tile) + ",micro=" + text(sizes.micro);
    if (sizes.rowsAreHeads)
      d.schedule += ",rows=heads";
    if (sizes.split)
      d.schedule += ",split=" + std::to_string(sizes.split);
  }

  void drawLengths(AttentionCase &c) {
    if (c.desc.packed) {
      c.lengthsQ.clear();
      c.lengthsK.clear();
      for (uint64_t n = below(5); n > 0; --n) {
        c.lengthsQ.push_back(chance(15) ? 0 : length(90));
        c.lengthsK.push_back(chance(15) ? 0 : length(140));
      }
    }
    if (c.desc.pageTable) {
      c.pageRows = pick<int64_t>({1, 2, 3, 7, 16, 64, 100});
      c.sk = (c.sk + c.pageRows - 1) / c.pageRows * c.pageRows;
    }
    c.used.clear();
    if (c.desc.sequsedK)
      for (int64_t b = 0; b < (c.desc.packed ? int64_t(c.lengthsK.size()) : c.batch); ++b) {
        int64_t most = c.desc.packed ? c.lengthsK[b] : c.sk;
        c.used.push_back(chance(20) ? most : below(most + 1));
      }
    // A bias keeps the ranks that broadcast, with the new sizes.
    for (int64_t n = 0, rank = c.biasShape.size(); n < rank; ++n) {
      int64_t full[] = {c.desc.packed ? int64_t(c.lengthsQ.size()) : c.batch, c.hq,
                        c.desc.packed ? longest(c.lengthsQ) : c.sq,
                        c.desc.packed ? longest(c.lengthsK) : c.sk};
      if (biasRepeats[4 - rank + n])
        c.biasShape[n] = 1;
      else
        c.biasShape[n] = full[4 - rank + n];
    }
  }

  static int64_t longest(const std::vector<int64_t> &lengths) {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  }

  void drawFeatures(AttentionCase &c) {
    AttentionDesc &d = c.desc;
    if (chance(20))
      d.scale = pick({0.0, 1.0, -0.3, 0.05, 0.5});
    d.causal = chance(35) ? pick({Causal::TopLeft, Causal::BottomRight}) : Causal::None;
    if (chance(20))
      d.window = Window{chance(25) ? -1 : int64_t(below(60)), chance(25) ? -1 : int64_t(below(30))};
    if (chance(15))
      d.softcap = pick({0.5, 5.0, 30.0});
    d.alibi = chance(15);
    d.sinks = chance(20);
    if (chance(20))
      d.bias = pick({DType::F32, DType::BF16, DType::F16});
    if (chance(15))
      d.packed = pick({DType::I32, DType::I64});
    if (chance(15))
      d.sequsedK = pick({DType::I32, DType::I64});
    if (d.sequsedK && !d.packed && d.strategy == Strategy::Online && chance(50))
      d.pageTable = pick({DType::I32, DType::I64});
    if (d.bias && chance(70)) {
      c.biasShape.assign(1 + below(4), 0);
      for (bool &repeats : biasRepeats)
        repeats = chance(40);
    }
    d.wantLse = chance(50);
    d.wantRowMax = chance(50);
    c.allOutputs = chance(80);
    drawLengths(c);
    drawExpressions(c);
  }

  void drawExpressions(AttentionCase &c) {
    bool hasScore = chance(35), hasMask = chance(35);
    ExprSizes sizes = {c.desc.packed ? int64_t(c.lengthsQ.size()) : c.batch, c.hq,
                       c.desc.packed ? longest(c.lengthsQ) : c.sq,
                       c.desc.packed ? longest(c.lengthsK) : c.sk};
    RandomExpr random(engine(), sizes, /*nonFinite=*/chance(30));
    int depth = 1 + below(3);
    if (hasScore)
      c.desc.score = random.score(depth);
    if (hasMask)
      c.desc.mask = random.mask(depth);
    for (const RandomExpr::Capture &capture : random.captures()) {
      HostArray array = convert(capture.array);
      c.desc.captures.push_back({capture.name, array.dtype, static_cast<int>(array.rank())});
      c.captures[capture.name] = std::move(array);
    }
    c.captureStrides = pick({Strides::Dense, Strides::Dense, Strides::Padded, Strides::Negative});
  }

  /// u8 and f64 can be read by expressions but not be captured.
  static HostArray convert(const HostArray &array) {
    DType type = array.dtype == DType::U8    ? DType::I16
                 : array.dtype == DType::F64 ? DType::F32
                                             : array.dtype;
    HostArray result = HostArray::zeros(type, array.shape);
    for (int64_t n = 0; n < array.numElements(); ++n) {
      if (isFloat(type))
        result.set(n, array.at(n));
      else
        result.setInt(n, array.intAt(n));
    }
    return result;
  }

  void drawExecution(AttentionCase &c) {
    c.threads = pick({1, 1, 2, 3});
    c.strides = chance(50) ? Strides::Dense : static_cast<Strides>(below(kNumStrides));
    c.amplitude = pick({0.0, 0.01, 1.0, 1.0, 1.0, 1.0, 3.0, 10.0, 30.0});
  }

  void drawInjection(AttentionCase &c) {
    if (chance(70))
      return;
    Injection injection;
    injection.where = pick({'q', 'k', 'k', 'v', 'v', 'v', 'b', 's'});
    // A sink that is NaN or +inf has no meaning in an empty row.
    injection.value = injection.where == 's' ? -kInfinity : pick({kNaN, kInfinity, -kInfinity});
    injection.count = pick({1, 1, 2, 5, 50});
    injection.seed = engine();
    c.edit = injection;
    c.infinityMayBeNaN = injection.where == 'v';
  }

  std::mt19937_64 engine;
  bool biasRepeats[4] = {};
};

} // namespace

std::vector<AttentionCase> randomAttention(uint64_t seed, uint64_t index) {
  return Generator(seed, index).run();
}

AttentionCase simplify(AttentionCase attention,
                       const std::function<bool(const AttentionCase &)> &fails) {
  using Step = std::function<void(AttentionCase &)>;
  std::vector<Step> steps = {
      [](AttentionCase &c) { c.edit = nullptr; },
      [](AttentionCase &c) { c.desc.score.clear(); },
      [](AttentionCase &c) { c.desc.mask.clear(); },
      [](AttentionCase &c) {
        if (c.desc.score.empty() && c.desc.mask.empty()) {
          c.desc.captures.clear();
          c.captures.clear();
        }
      },
      [](AttentionCase &c) { c.desc.bias.reset(), c.biasShape.clear(); },
      [](AttentionCase &c) { c.desc.alibi = false; },
      [](AttentionCase &c) { c.desc.sinks = false; },
      [](AttentionCase &c) { c.desc.softcap.reset(); },
      [](AttentionCase &c) { c.desc.window.reset(); },
      [](AttentionCase &c) { c.desc.causal = Causal::None; },
      [](AttentionCase &c) { c.desc.pageTable.reset(); },
      [](AttentionCase &c) {
        if (!c.desc.pageTable)
          c.desc.sequsedK.reset(), c.used.clear();
      },
      [](AttentionCase &c) {
        if (!c.desc.packed)
          return;
        c.desc.packed.reset();
        c.batch = 1;
        c.sq = c.lengthsQ.empty() ? 0 : c.lengthsQ.back();
        c.sk = c.lengthsK.empty() ? 0 : c.lengthsK.back();
        c.used.resize(c.desc.sequsedK ? 1 : 0);
        c.lengthsQ.clear(), c.lengthsK.clear(), c.biasShape.clear();
      },
      [](AttentionCase &c) { c.desc.scale.reset(); },
      [](AttentionCase &c) { c.desc.strategy = Strategy::Online; },
      [](AttentionCase &c) { c.desc.schedule.clear(); },
      [](AttentionCase &c) { c.desc.queries = 0; },
      [](AttentionCase &c) { c.desc.groupSize = 0; },
      [](AttentionCase &c) { c.desc.target.clear(); },
      [](AttentionCase &c) { c.desc.dtype = DType::F32; },
      [](AttentionCase &c) { c.strides = Strides::Dense; },
      [](AttentionCase &c) { c.captureStrides = Strides::Dense; },
      [](AttentionCase &c) { c.biasShape.clear(); },
      [](AttentionCase &c) { c.threads = 1; },
      [](AttentionCase &c) { c.amplitude = 1; },
      [](AttentionCase &c) { c.allOutputs = c.desc.wantLse = c.desc.wantRowMax = false; },
      [](AttentionCase &c) { c.desc.valueDim = 0; },
      [](AttentionCase &c) {
        if (c.used.empty())
          c.batch = std::min<int64_t>(c.batch, 1);
      },
      [](AttentionCase &c) { c.hq = c.hkv; },
      [](AttentionCase &c) { c.hq = c.hkv = std::min<int64_t>(c.hkv, 1); },
  };
  auto shrink = [&](auto member) {
    steps.push_back([member](AttentionCase &c) { member(c) /= 2; });
    steps.push_back([member](AttentionCase &c) { member(c) -= member(c) > 0; });
  };
  shrink([](AttentionCase &c) -> int64_t & { return c.sq; });
  shrink([](AttentionCase &c) -> int64_t & { return c.sk; });
  steps.push_back([](AttentionCase &c) { c.desc.headDim = (c.desc.headDim + 1) / 2; });
  steps.push_back([](AttentionCase &c) { c.desc.valueDim = (c.desc.valueDim + 1) / 2; });

  int tries = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Step &step : steps) {
      AttentionCase simpler = attention;
      step(simpler);
      if (simpler.describe() == attention.describe() && !(attention.edit && !simpler.edit))
        continue;
      if (++tries > 300)
        return attention;
      if (fails(simpler)) {
        attention = std::move(simpler);
        progress = true;
      }
    }
  }
  return attention;
}

} // namespace flashc::test
