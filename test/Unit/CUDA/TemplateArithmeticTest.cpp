//===- TemplateArithmeticTest.cpp - what the templates compute -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The kernels of templates/, compiled for the host, against the float64
// reference and against plain loops.
//
//===----------------------------------------------------------------------===//
#include "runtime/Reference/ErrorStats.h"
#include "test/Unit/CUDA/HostKernels.h"
#include "test/Unit/CUDA/HostShim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace flashc;
using namespace flashc::templates;
using flashc::test::launchOnHost;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr DType elementTypes[] = {DType::F16, DType::BF16, DType::F32};

/// A dense array, filled by Fill.cu.
HostArray random(DType type, std::vector<int64_t> shape, uint64_t stream) {
  HostArray array = HostArray::zeros(type, shape);
  shape.resize(4, 1);
  Fill fill = {array.data.data(), {}, {}, 7, stream, 0, 1};
  int64_t stride = 1;
  for (int n = 3; n >= 0; --n) {
    fill.sizes[n] = shape[n];
    fill.strides[n] = stride;
    stride *= shape[n];
  }
  const auto kernel = FLASHC_PICK(fill_normal, , type);
  launchOnHost(fillGrid(fill), fillThreads, [&] { kernel(fill); });
  return array;
}

Tensor4 viewOf4(HostArray &array) {
  Tensor4 view = {array.data.data(), {}};
  std::copy_n(array.strides().begin(), 4, view.strides);
  return view;
}

/// Standard attention and the reference on the same arrays.
struct Attention {
  int64_t batch = 1, queries = 70, keys = 90, heads = 2, keyHeads = 1, dim = 40, valueDim = 24;
  DType type = DType::F32;
  int causal = NotCausal;
  int64_t left = -1, right = -1;
  std::vector<int32_t> used;
  HostArray q, k, v;

  void fill() {
    q = random(type, {batch, queries, heads, dim}, 1);
    k = random(type, {batch, keys, keyHeads, dim}, 2);
    v = random(type, {batch, keys, keyHeads, valueDim}, 3);
  }

  HostArray usedArray() const {
    HostArray array = HostArray::zeros(DType::I32, {batch});
    const auto bytes = std::as_bytes(std::span(used));
    std::copy(bytes.begin(), bytes.end(), array.data.begin());
    return array;
  }

  reference::Problem problem(const HostArray &usedKeys) const {
    reference::Problem problem;
    problem.q = reference::viewOf(q);
    problem.k = reference::viewOf(k);
    problem.v = reference::viewOf(v);
    problem.causal = static_cast<reference::Causal>(causal);
    problem.windowLeft = left;
    problem.windowRight = right;
    if (!used.empty())
      problem.seqUsedK = reference::viewOf(usedKeys);
    return problem;
  }

  /// o and LSE of the template, in groups of `group` heads.
  std::pair<std::vector<double>, std::vector<double>> run(bool oracle, int64_t group,
                                                          bool inPlace) {
    HostArray o = HostArray::zeros(oracle ? DType::F64 : type, {batch, queries, heads, valueDim});
    HostArray lse = HostArray::zeros(oracle ? DType::F64 : DType::F32, {batch, heads, queries});
    const size_t bytes = static_cast<size_t>(group * queries * keys) * (oracle ? 8 : 4);
    std::vector<double> scores(bytes / 8 + 1), probabilities(inPlace ? 0 : bytes / 8 + 1);
    StandardAttention a = {};
    a.q = viewOf4(q), a.k = viewOf4(k), a.v = viewOf4(v), a.o = viewOf4(o);
    a.scores = scores.data();
    a.probabilities = inPlace ? scores.data() : probabilities.data();
    a.lse = lse.data.data();
    std::copy_n(lse.strides().begin(), 3, a.lseStrides);
    a.usedKeys = used.empty() ? nullptr : used.data();
    a.queries = queries, a.keys = keys, a.heads = heads, a.keyHeads = keyHeads;
    a.dim = dim, a.valueDim = valueDim;
    a.scale = 1 / std::sqrt(static_cast<double>(dim));
    a.windowLeft = left, a.windowRight = right, a.causal = causal;
    a.roundProbabilities = !oracle;
    const auto first =
        oracle ? FLASHC_PICK(standard_scores, _oracle, type) : FLASHC_PICK(standard_scores, , type);
    const auto second = oracle ? FLASHC_PICK(standard_softmax, _oracle, type)
                               : FLASHC_PICK(standard_softmax, , type);
    const auto third =
        oracle ? FLASHC_PICK(standard_output, _oracle, type) : FLASHC_PICK(standard_output, , type);
    for (int64_t begin = 0; begin < batch * heads; begin += group) {
      a.firstProblem = begin;
      a.problems = std::min(group, batch * heads - begin);
      launchOnHost(standardScoresGrid(a), standardThreads, [&] { first(a); });
      launchOnHost(standardSoftmaxGrid(a), standardThreads, [&] { second(a); });
      launchOnHost(standardOutputGrid(a), standardThreads, [&] { third(a); });
    }
    std::pair<std::vector<double>, std::vector<double>> results;
    for (int64_t n = 0; n < o.numElements(); ++n)
      results.first.push_back(o.at(n));
    for (int64_t n = 0; n < lse.numElements(); ++n)
      results.second.push_back(lse.at(n));
    return results;
  }

  void check() {
    const HostArray usedKeys = usedArray();
    const reference::Problem p = problem(usedKeys);
    const reference::Result exact = evaluate(p), unfused = evaluateUnfusedF32(p, type);
    const auto judge = [&](const std::vector<double> &actual, const std::vector<double> &wanted,
                           const std::vector<double> &plain, const reference::BarContext &context) {
      const reference::ErrorStats errors = reference::compare(actual, wanted),
                                  bar = reference::compare(plain, wanted);
      EXPECT_TRUE(withinBar(errors, bar, context)) << describe(errors, errorBar(bar, context));
    };
    const auto [o, lse] = run(false, 1, false);
    judge(o, exact.o, unfused.o, reference::BarContext::forOutput(exact, type));
    judge(lse, exact.lse, unfused.lse, reference::BarContext::forScores(exact));
    const auto [o64, lse64] = run(true, batch * heads, true);
    for (const auto &errors :
         {reference::compare(o64, exact.o), reference::compare(lse64, exact.lse)}) {
      EXPECT_EQ(errors.mismatches, 0);
      EXPECT_LT(errors.max, 1e-13);
    }
  }
};

TEST(StandardAttentionTemplate, IsAttention) {
  for (const DType type : elementTypes) {
    Attention a;
    a.type = type;
    a.fill();
    a.check();
  }
}

TEST(StandardAttentionTemplate, Masks) {
  struct {
    int causal;
    int64_t left, right;
    std::vector<int32_t> used;
  } const cases[] = {{CausalTopLeft, -1, -1, {}},
                     {CausalBottomRight, -1, -1, {}},
                     {NotCausal, 10, 3, {}},
                     {CausalTopLeft, 20, -1, {}},
                     {NotCausal, -1, -1, {50, 0}},
                     {CausalBottomRight, -1, -1, {70, 35}},
                     {CausalBottomRight, 7, 0, {3, 20}}};
  for (const auto &each : cases) {
    Attention a;
    a.batch = 2, a.queries = 33, a.keys = 70, a.heads = 1, a.dim = 16, a.valueDim = 70;
    a.causal = each.causal, a.left = each.left, a.right = each.right, a.used = each.used;
    a.fill();
    a.check();
  }
}

TEST(StandardAttentionTemplate, NonFiniteValues) {
  Attention a;
  a.queries = 20, a.keys = 20, a.heads = 1, a.dim = 8, a.valueDim = 8;
  a.causal = CausalTopLeft;
  a.fill();
  auto *q = reinterpret_cast<float *>(a.q.data.data());
  auto *k = reinterpret_cast<float *>(a.k.data.data());
  auto *v = reinterpret_cast<float *>(a.v.data.data());
  v[15 * 8 + 3] = std::nanf("");
  k[17 * 8] = static_cast<float>(-inf);
  q[2 * 8] = static_cast<float>(inf);
  const HostArray none = a.usedArray();
  const reference::Result exact = evaluate(a.problem(none));
  for (const bool oracle : {false, true}) {
    const auto [o, lse] = a.run(oracle, 1, true);
    EXPECT_EQ(reference::compare(o, exact.o).mismatches, 0);
    EXPECT_EQ(reference::compare(lse, exact.lse).mismatches, 0);
    EXPECT_TRUE(std::isfinite(o[14 * 8 + 3]) && std::isnan(o[15 * 8 + 3]));
  }
}

TEST(SplitCombineTemplate, MergesStates) {
  constexpr int64_t batch = 2, heads = 3, queries = 2, parts = 5, dim = 150, keys = 40;
  for (const DType type : elementTypes)
    for (const bool base2 : {false, true})
      for (const bool hasSink : {false, true}) {
        const double ln = base2 ? std::log(2.0) : 1;
        std::mt19937 engine(3);
        std::normal_distribution<double> normal;
        const int64_t rows = batch * heads * queries;
        std::vector<float> m(parts * rows), l(m.size()), acc(m.size() * dim);
        std::vector<double> wanted(rows * dim), wantedLse(rows);
        std::vector<float> sinks = {0.5f, -3, 2};
        for (int64_t row = 0; row < rows; ++row) {
          std::vector<double> total(dim);
          double sum = hasSink ? std::exp(sinks[row / queries % heads]) : 0;
          for (int64_t part = 0; part < parts; ++part) {
            const int64_t at = part * rows + row;
            m[at] = static_cast<float>(-inf);
            // Row 0 keeps nothing; of the others some parts keep nothing.
            if (row == 0 || (part + row) % 4 == 0)
              continue;
            const double reference = normal(engine); // not the maximum: any will do
            m[at] = static_cast<float>(reference);
            double ownSum = 0;
            std::vector<double> own(dim);
            for (int64_t j = 0; j < keys / parts; ++j) {
              const double p = std::exp((normal(engine) * 4 - m[at]) * ln);
              ownSum += p;
              for (double &value : own)
                value += p * normal(engine);
            }
            l[at] = static_cast<float>(ownSum);
            const double weight = std::exp(m[at] * ln);
            sum += weight * l[at];
            for (int64_t d = 0; d < dim; ++d) {
              acc[at * dim + d] = static_cast<float>(own[d]);
              total[d] += weight * acc[at * dim + d];
            }
          }
          wantedLse[row] = std::log(sum);
          for (int64_t d = 0; d < dim; ++d)
            wanted[row * dim + d] = sum == 0 ? 0 : total[d] / sum;
        }
        HostArray o = HostArray::zeros(type, {batch, heads, queries, dim});
        std::vector<float> lse(rows);
        SplitCombine a = {};
        a.m = m.data(), a.l = l.data(), a.acc = acc.data();
        a.partStride = rows, a.accPartStride = rows * dim, a.accDimStride = 1;
        const int64_t strides[3] = {heads * queries, queries, 1};
        for (int n = 0; n < 3; ++n) {
          a.rowStrides[n] = a.lseStrides[n] = strides[n];
          a.accRowStrides[n] = strides[n] * dim;
        }
        a.o = {o.data.data(), {strides[0] * dim, dim, queries * dim, 1}};
        a.lse = lse.data();
        a.sinks = hasSink ? sinks.data() : nullptr;
        a.parts = parts, a.batch = batch, a.heads = heads, a.queries = queries, a.valueDim = dim;
        a.lnBase = static_cast<float>(ln);
        const auto kernel = FLASHC_PICK(split_combine, , type);
        launchOnHost(splitCombineGrid(a), combineThreads, [&] { kernel(a); });
        const double bound = type == DType::F32 ? 1e-5 : type == DType::F16 ? 2e-3 : 2e-2;
        for (int64_t n = 0; n < rows * dim; ++n)
          ASSERT_NEAR(o.at(n), wanted[n], bound * std::max(1.0, std::fabs(wanted[n]))) << n;
        for (int64_t row = 0; row < rows; ++row) {
          if (std::isinf(wantedLse[row]))
            EXPECT_EQ(lse[row], static_cast<float>(wantedLse[row]));
          else
            EXPECT_NEAR(lse[row], wantedLse[row], 1e-5);
        }
      }
}

TEST(BlockListsTemplate, ListsEveryTileOnceInOrder) {
  std::minstd_rand engine(1);
  for (const int64_t columns : {0, 1, 31, 32, 33, 100}) {
    constexpr int64_t rows = 5;
    const int64_t stride = columns + 3;
    std::vector<signed char> classes(rows * stride);
    for (signed char &kind : classes)
      kind = static_cast<signed char>(engine() % 3);
    std::vector<int> full(rows * stride, -7), partial(full), fullCount(rows), partialCount(rows);
    const BlockLists a = {classes.data(), stride,           rows,
                          columns,        full.data(),      partial.data(),
                          stride,         fullCount.data(), partialCount.data()};
    launchOnHost(blockListsGrid(a), blockListsThreads, [&] { flashc_block_lists_f32(a); });
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int> wanted[3];
      for (int64_t column = 0; column < columns; ++column)
        wanted[classes[row * stride + column]].push_back(static_cast<int>(column));
      const auto at = [&](std::vector<int> &list, int count) {
        const auto begin = list.begin() + row * stride;
        EXPECT_TRUE(std::all_of(begin + count, begin + stride, [](int n) { return n == -7; }));
        return std::vector<int>(begin, begin + count);
      };
      EXPECT_EQ(at(full, fullCount[row]), wanted[FullTile]);
      EXPECT_EQ(at(partial, partialCount[row]), wanted[PartialTile]);
    }
  }
}

/// Philox4x32-10 once more, as the paper states it.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, uint64_t seed) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1,
         uint32_t(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

TEST(FillTemplate, WordsArePhilox) {
  // The vectors that the authors publish with their code.
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, ~0ull),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  // The uniform fill shows the words' upper 24 bits.
  constexpr uint64_t seed = 0x123456789abcdef0, stream = 0xfedcba9876543210;
  std::vector<float> values(2003);
  const Fill a = {values.data(), {1, 1, 1, 2003}, {0, 0, 0, 1}, seed, stream, 0, 16777216};
  launchOnHost(fillGrid(a), fillThreads, [&] { flashc_fill_uniform_f32(a); });
  for (uint32_t n = 0; n < values.size(); ++n) {
    const Words words = philox(
        {n / 4, 0, static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)}, seed);
    ASSERT_EQ(values[n], static_cast<float>(words[n % 4] >> 8)) << n;
  }
}

TEST(FillTemplate, ValuesDependOnTheIndexAlone) {
  // [2, 3, 5, 7], dense, and with gaps in another order.
  std::vector<float> dense(210), spread(10000, 99);
  const Fill a = {dense.data(), {2, 3, 5, 7}, {105, 35, 7, 1}, 5, 6, 10, 2};
  Fill b = a;
  b.data = spread.data();
  const long long strides[4] = {1, 1000, 20, 3};
  std::copy_n(strides, 4, b.strides);
  launchOnHost(fillGrid(a), fillThreads, [&] { flashc_fill_normal_f32(a); });
  launchOnHost(fillGrid(b), fillThreads, [&] { flashc_fill_normal_f32(b); });
  int n = 0;
  for (int w = 0; w < 2; ++w)
    for (int x = 0; x < 3; ++x)
      for (int y = 0; y < 5; ++y)
        for (int z = 0; z < 7; ++z)
          EXPECT_EQ(spread[w + 1000 * x + 20 * y + 3 * z], dense[n++]);
  EXPECT_EQ(std::count(spread.begin(), spread.end(), 99.0f), 10000 - 210);
}

TEST(FillTemplate, NormalsAreNormal) {
  HostArray array = random(DType::F32, {100000}, 9);
  double sum = 0, squares = 0, fourth = 0, products = 0;
  for (int64_t n = 0; n < 100000; ++n) {
    const double x = array.at(n);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    products += x * array.at((n + 1) % 100000);
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.015);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
  EXPECT_NEAR(fourth / 1e5, 3, 0.15);
  EXPECT_NEAR(products / 1e5, 0, 0.015);
  // The same values, rounded.
  const HostArray half = random(DType::BF16, {1000}, 9);
  for (int64_t n = 0; n < 1000; ++n)
    EXPECT_EQ(half.at(n), bfloatToFloat(floatToBfloat(static_cast<float>(array.at(n)))));
}

TEST(FillTemplate, PoisonsEveryByteAndNoMore) {
  for (const size_t size : {0, 1, 4095, 4096, 9001}) {
    std::vector<unsigned char> bytes(size + 100, 1);
    const FillBytes a = {bytes.data(), static_cast<i64>(size), 0xff};
    launchOnHost(fillBytesGrid(a), fillThreads, [&] { flashc_fill_bytes_f32(a); });
    EXPECT_EQ(std::count(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size), 0xff),
              ptrdiff_t(size));
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 1), 100);
  }
}

TEST(CompareTemplate, FindsErrorsAndMismatches) {
  for (const DType type : elementTypes) {
    constexpr int64_t count = 3 * 7 * 11 * 13;
    HostArray actual = random(type, {3, 7, 11, 13}, 1);
    std::vector<double> oracle(count), values(count);
    std::minstd_rand engine(2);
    for (int64_t n = 0; n < count; ++n) {
      values[n] = actual.at(n);
      oracle[n] = values[n] + static_cast<double>(engine() % 1000) * 1e-3 - 0.5;
    }
    oracle[5] = inf;                                                        // a mismatch
    oracle[700] = std::nan("");                                             // another
    oracle[2] = -inf;                                                       // the same in both
    std::memset(actual.data.data() + 3 * sizeOf(type), 0xff, sizeOf(type)); // NaN
    oracle[3] = std::nan("");
    if (type == DType::F32)
      reinterpret_cast<float *>(actual.data.data())[2] = static_cast<float>(-inf);
    else
      reinterpret_cast<uint16_t *>(actual.data.data())[2] = type == DType::F16 ? 0xfc00 : 0xff80;
    for (int64_t n = 0; n < count; ++n)
      values[n] = actual.at(n);
    const reference::ErrorStats wanted = reference::compare(values, oracle);

    Comparison result = {};
    Compare a = {actual.data.data(), oracle.data(), {3, 7, 11, 13}, {}, {}, nullptr, &result};
    const i64 strides[4] = {7 * 11 * 13, 11 * 13, 13, 1};
    std::copy_n(strides, 4, a.actualStrides);
    std::copy_n(strides, 4, a.oracleStrides);
    std::vector<Comparison> partial(static_cast<size_t>(compareGrid(a)));
    a.partial = partial.data();
    const auto first = FLASHC_PICK(compare, , type), second = FLASHC_PICK(compare_finish, , type);
    launchOnHost(compareGrid(a), compareThreads, [&] { first(a); });
    launchOnHost(1, compareThreads, [&] { second(a); });
    EXPECT_EQ(result.compared, wanted.count);
    EXPECT_EQ(result.mismatches, 2);
    EXPECT_EQ(result.firstMismatch, 5);
    EXPECT_EQ(result.maxError, wanted.max);
    const double finite = static_cast<double>(count - 4);
    EXPECT_NEAR(std::sqrt(result.sumSquares / finite), wanted.rms, 1e-12);
    EXPECT_NEAR(std::sqrt(result.oracleSumSquares / finite), wanted.referenceRms, 1e-12);
  }
}

TEST(CompareTemplate, NothingIsEqual) {
  Comparison result = {}, partial[1];
  const Compare a = {nullptr, nullptr, {0, 1, 1, 1}, {}, {}, partial, &result};
  launchOnHost(compareGrid(a), compareThreads, [&] { flashc_compare_f32(a); });
  launchOnHost(1, compareThreads, [&] { flashc_compare_finish_f32(a); });
  EXPECT_EQ(result.compared, 0);
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.firstMismatch, -1);
}

/// What the tests of KVAppend share: three sequences, one of them over its end.
struct Append {
  static constexpr int64_t batch = 3, tokens = 5, heads = 2, dim = 12, valueDim = 7, positions = 64;
  static constexpr int64_t rotaryDim = 8;
  std::vector<float> cosines, sines;
  std::vector<int> lengths = {0, 13, 30};
  HostArray k = random(DType::F32, {batch, tokens, heads, dim}, 1);
  HostArray v = random(DType::F32, {batch, tokens, heads, valueDim}, 2);

  Append() {
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t n = 0; n < rotaryDim / 2; ++n) {
        const double angle =
            static_cast<double>(p) * std::pow(10000.0, -2.0 * double(n) / rotaryDim);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
  }

  Rotation rotation(bool interleaved) const {
    return {cosines.data(), sines.data(), rotaryDim / 2, positions, rotaryDim, interleaved};
  }

  double wantedKey(int64_t b, int64_t t, int64_t h, int64_t d, bool rotate,
                   bool interleaved) const {
    const auto at = [&](int64_t e) { return k.at(((b * tokens + t) * heads + h) * dim + e); };
    if (!rotate || d >= rotaryDim)
      return at(d);
    const int64_t half = rotaryDim / 2, position = lengths[b] + t;
    for (int64_t n = 0; n < half; ++n) {
      const int64_t x = interleaved ? 2 * n : n, y = interleaved ? 2 * n + 1 : n + half;
      const double c = cosines[position * half + n], s = sines[position * half + n];
      if (d == x)
        return at(x) * c - at(y) * s;
      if (d == y)
        return at(y) * c + at(x) * s;
    }
    return 0;
  }
};

TEST(KVAppendTemplate, WritesTokensWhereTheyBelongAndNowhereElse) {
  for (const bool paged : {false, true})
    for (const bool rotate : {false, true})
      for (const bool interleaved : {false, true}) {
        Append test;
        // 32 positions of a sequence, or 4 pages of 8: the last three tokens of sequence 2 do not fit.
        constexpr int64_t pages = 13, pageSize = 8;
        const int64_t outer = paged ? pages : test.batch, inner = paged ? pageSize : 32;
        std::vector<int> table = {4, 9, 2, 7, 1, 3, 11, 0, 6, 8, 10, 5};
        HostArray keys = HostArray::zeros(DType::F32, {outer, inner, test.heads, test.dim});
        HostArray values = HostArray::zeros(DType::F32, {outer, inner, test.heads, test.valueDim});
        u64 dropped = 0;
        KVAppend a = {};
        a.k = viewOf4(test.k), a.v = viewOf4(test.v);
        a.keys = viewOf4(keys), a.values = viewOf4(values);
        a.lengths = test.lengths.data();
        a.pageTable = paged ? table.data() : nullptr;
        a.pageTableStride = a.pagesPerSequence = 4;
        a.pages = pages, a.pageSize = inner;
        a.batch = test.batch, a.tokens = test.tokens, a.heads = test.heads;
        a.dim = test.dim, a.valueDim = test.valueDim;
        if (rotate)
          a.rotation = test.rotation(interleaved);
        a.dropped = &dropped;
        launchOnHost(kvAppendGrid(a), appendThreads, [&] { flashc_kv_append_f32(a); });
        EXPECT_EQ(dropped, 3u);
        std::vector<double> wantedKeys(keys.numElements()), wantedValues(values.numElements());
        for (int64_t b = 0; b < test.batch; ++b)
          for (int64_t t = 0; t < test.tokens; ++t) {
            const int64_t p = test.lengths[b] + t;
            if (p >= 32)
              continue;
            const int64_t row =
                paged ? table[b * 4 + p / pageSize] * pageSize + p % pageSize : b * inner + p;
            for (int64_t h = 0; h < test.heads; ++h) {
              for (int64_t d = 0; d < test.dim; ++d)
                wantedKeys[(row * test.heads + h) * test.dim + d] =
                    test.wantedKey(b, t, h, d, rotate, interleaved);
              for (int64_t d = 0; d < test.valueDim; ++d)
                wantedValues[(row * test.heads + h) * test.valueDim + d] =
                    test.v.at(((b * test.tokens + t) * test.heads + h) * test.valueDim + d);
            }
          }
        for (int64_t n = 0; n < keys.numElements(); ++n)
          ASSERT_NEAR(keys.at(n), wantedKeys[n], 1e-6) << n;
        for (int64_t n = 0; n < values.numElements(); ++n)
          ASSERT_EQ(values.at(n), wantedValues[n]) << n;
      }
}

TEST(KVAppendTemplate, HostilePositionsAndPagesAreDropped) {
  Append test;
  HostArray keys = HostArray::zeros(DType::F32, {2, 8, test.heads, test.dim});
  HostArray values = HostArray::zeros(DType::F32, {2, 8, test.heads, test.valueDim});
  std::vector<int> lengths = {-100, 2147483647, 0}, table = {0, 1, 0, 1, 2, -1};
  u64 dropped = 0;
  KVAppend a = {};
  a.k = viewOf4(test.k), a.v = viewOf4(test.v), a.keys = viewOf4(keys), a.values = viewOf4(values);
  a.lengths = lengths.data();
  a.pageTable = table.data();
  a.pageTableStride = a.pagesPerSequence = 2;
  a.pages = 2, a.pageSize = 8;
  a.batch = test.batch, a.tokens = test.tokens, a.heads = test.heads;
  a.dim = test.dim, a.valueDim = test.valueDim;
  a.dropped = &dropped;
  launchOnHost(kvAppendGrid(a), appendThreads, [&] { flashc_kv_append_f32(a); });
  EXPECT_EQ(dropped, 15u);
  for (int64_t n = 0; n < keys.numElements(); ++n)
    ASSERT_EQ(keys.at(n), 0) << n;
}

TEST(KVAppendTemplate, RotatesQueries) {
  Append test;
  test.lengths = {0, 13, 61}; // the last two of sequence 2 have no rotation
  for (const bool interleaved : {false, true}) {
    HostArray out = HostArray::zeros(DType::F32, {test.batch, test.tokens, test.heads, test.dim});
    const Rotate a = {
        viewOf4(test.k), viewOf4(out), test.lengths.data(),       test.batch, test.tokens,
        test.heads,      test.dim,     test.rotation(interleaved)};
    launchOnHost(rotateGrid(a), appendThreads, [&] { flashc_rotate_f32(a); });
    for (int64_t b = 0, n = 0; b < test.batch; ++b)
      for (int64_t t = 0; t < test.tokens; ++t)
        for (int64_t h = 0; h < test.heads; ++h)
          for (int64_t d = 0; d < test.dim; ++d, ++n) {
            if (test.lengths[b] + t >= test.positions)
              ASSERT_TRUE(std::isnan(out.at(n)));
            else
              ASSERT_NEAR(out.at(n), test.wantedKey(b, t, h, d, true, interleaved), 1e-6);
          }
  }
}

} // namespace
