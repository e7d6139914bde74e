//===- GPUTemplatesTest.cpp - what the templates compute on a GPU -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Where there are a GPU, its driver and the toolkit. What the same sources
// compute as host code is tested without (TemplateArithmeticTest).
//
//===----------------------------------------------------------------------===//
#include "runtime/Reference/ErrorStats.h"
#include "test/Unit/CUDA/GPUSupport.h"

#include <cmath>
#include <random>

using namespace flashc;
using namespace flashc::cuda;
using namespace flashc::templates;
using namespace flashc::test;

namespace {

using GPUTemplatesTest = GPUTest;

TEST_F(GPUTemplatesTest, StandardAttentionIsAttention) {
  FLASHC_NEED_GPU();
  constexpr int64_t batch = 2, queries = 130, keys = 201, heads = 4, keyHeads = 2, dim = 64,
                    valueDim = 72;
  for (const DType type : {DType::F16, DType::BF16, DType::F32}) {
    DeviceArray q(type, {batch, queries, heads, dim}), k(type, {batch, keys, keyHeads, dim}),
        v(type, {batch, keys, keyHeads, valueDim});
    fillNormal(q, 1);
    fillNormal(k, 2);
    fillNormal(v, 3);
    const std::vector<int32_t> used = {keys, 90};
    DeviceArray usedKeys = DeviceArray::from(DType::I32, {batch}, used);
    const HostArray hostQ = q.read(), hostK = k.read(), hostV = v.read(),
                    hostUsed = usedKeys.read();
    reference::Problem problem;
    problem.q = reference::viewOf(hostQ);
    problem.k = reference::viewOf(hostK);
    problem.v = reference::viewOf(hostV);
    problem.causal = reference::Causal::BottomRight;
    problem.windowLeft = 77;
    problem.seqUsedK = reference::viewOf(hostUsed);
    const reference::Result exact = evaluate(problem), unfused = evaluateUnfusedF32(problem, type);

    for (const bool oracle : {false, true}) {
      const DType result = oracle ? DType::F64 : type, compute = oracle ? DType::F64 : DType::F32;
      DeviceArray o(result, {batch, queries, heads, valueDim}),
          lse(compute, {batch, heads, queries, 1}), s(compute, {batch * heads, queries, keys, 1}),
          p(compute, {batch * heads, queries, keys, 1});
      StandardAttention a = {};
      a.q = q.view(), a.k = k.view(), a.v = v.view(), a.o = o.view();
      a.scores = s.buffer.data(), a.probabilities = p.buffer.data();
      a.lse = lse.buffer.data();
      a.lseStrides[0] = heads * queries, a.lseStrides[1] = queries, a.lseStrides[2] = 1;
      a.usedKeys = usedKeys.data<int>();
      a.queries = queries, a.keys = keys, a.heads = heads, a.keyHeads = keyHeads;
      a.dim = dim, a.valueDim = valueDim, a.problems = batch * heads;
      a.scale = 0.125;
      a.windowLeft = 77, a.windowRight = -1, a.causal = CausalBottomRight;
      a.roundProbabilities = !oracle;
      const std::vector<std::string> values = {elementOf(type), elementOf(result),
                                               oracle ? "double" : "float"};
      launch("StandardAttention", values, "standard_scores", standardScoresGrid(a), a);
      launch("StandardAttention", values, "standard_softmax", standardSoftmaxGrid(a), a);
      launch("StandardAttention", values, "standard_output", standardOutputGrid(a), a);
      const std::vector<double> actual = valuesOf(o.read()), actualLse = valuesOf(lse.read());
      const reference::ErrorStats errors = reference::compare(actual, exact.o),
                                  lseErrors = reference::compare(actualLse, exact.lse);
      if (oracle) {
        EXPECT_EQ(errors.mismatches + lseErrors.mismatches, 0);
        EXPECT_LT(errors.max, 1e-12);
        EXPECT_LT(lseErrors.max, 1e-12);
        continue;
      }
      const auto bar = reference::compare(unfused.o, exact.o),
                 lseBar = reference::compare(unfused.lse, exact.lse);
      const auto context = reference::BarContext::forOutput(exact, type),
                 lseContext = reference::BarContext::forScores(exact);
      EXPECT_TRUE(withinBar(errors, bar, context)) << describe(errors, errorBar(bar, context));
      EXPECT_TRUE(withinBar(lseErrors, lseBar, lseContext))
          << describe(lseErrors, errorBar(lseBar, lseContext));

      // Compare on the device finds what it finds on the host.
      DeviceArray wanted = DeviceArray::from(DType::F64, o.shape, exact.o);
      Compare c = {o.buffer.data(), wanted.buffer.data(), {}, {}, {}, nullptr, nullptr};
      for (int n = 0; n < 4; ++n)
        c.sizes[n] = o.shape[static_cast<size_t>(n)];
      o.strides(c.actualStrides);
      wanted.strides(c.oracleStrides);
      DeviceBuffer partial(*driverOrNull(), 0, size_t(compareGrid(c)) * sizeof(Comparison), "sums");
      DeviceBuffer total(*driverOrNull(), 0, sizeof(Comparison), "a sum");
      c.partial = static_cast<Comparison *>(partial.data());
      c.result = static_cast<Comparison *>(total.data());
      launch("Compare", {elementOf(type), "f64"}, "compare", compareGrid(c), c);
      launch("Compare", {elementOf(type), "f64"}, "compare_finish", 1, c);
      Comparison found;
      total.copyTo(std::as_writable_bytes(std::span(&found, 1)));
      EXPECT_EQ(found.compared, errors.count);
      EXPECT_EQ(found.mismatches, errors.mismatches);
      EXPECT_EQ(found.maxError, errors.max);
      EXPECT_NEAR(std::sqrt(found.sumSquares / static_cast<double>(found.compared)), errors.rms,
                  errors.rms * 1e-9);
    }
  }
}

TEST_F(GPUTemplatesTest, FillsAreTheSameAsOnTheHost) {
  FLASHC_NEED_GPU();
  DeviceArray array(DType::F32, {1, 1, 1, 12});
  const Fill fill = {array.buffer.data(), {1, 1, 1, 12}, {12, 12, 12, 1}, 0, 0, 0, 16777216};
  launch("Fill", {"f32"}, "fill_uniform", fillGrid(fill), fill);
  // Philox of the counter 0 and the key 0, as its authors publish it.
  const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (int n = 0; n < 4; ++n)
    EXPECT_EQ(array.read().at(n), words[n] >> 8);
  DeviceArray bytes(DType::F32, {1, 1, 1, 1000});
  bytes.buffer.fill(std::byte{1});
  const FillBytes poison = {bytes.buffer.data(), 4 * 999, 0x7f};
  launch("Fill", {"f32"}, "fill_bytes", fillBytesGrid(poison), poison);
  const HostArray written = bytes.read();
  for (int n = 0; n < 1000; ++n)
    EXPECT_EQ(written.at(n),
              n < 999 ? std::bit_cast<float>(0x7f7f7f7fu) : std::bit_cast<float>(0x01010101u));
}

TEST_F(GPUTemplatesTest, BlockListsAreOrdered) {
  FLASHC_NEED_GPU();
  constexpr int64_t rows = 50, columns = 301;
  std::minstd_rand engine(1);
  std::vector<signed char> classes(rows * columns);
  for (signed char &kind : classes)
    kind = static_cast<signed char>(engine() % 3);
  DeviceArray in = DeviceArray::from(DType::I8, {rows, columns}, classes);
  DeviceArray full(DType::I32, {rows, columns}), partial(DType::I32, {rows, columns}),
      fullCount(DType::I32, {rows}), partialCount(DType::I32, {rows});
  const BlockLists a = {in.data<signed char>(),
                        columns,
                        rows,
                        columns,
                        full.data<int>(),
                        partial.data<int>(),
                        columns,
                        fullCount.data<int>(),
                        partialCount.data<int>()};
  launch("BlockLists", {}, "block_lists", blockListsGrid(a), a);
  const HostArray lists[] = {partial.read(), full.read()};
  const HostArray counts[] = {partialCount.read(), fullCount.read()};
  for (int kind = PartialTile; kind <= FullTile; ++kind)
    for (int64_t row = 0; row < rows; ++row) {
      int64_t count = 0;
      for (int64_t column = 0; column < columns; ++column)
        if (classes[static_cast<size_t>(row * columns + column)] == kind)
          ASSERT_EQ(lists[kind - 1].at(row * columns + count++), column);
      ASSERT_EQ(counts[kind - 1].at(row), count);
    }
}

TEST_F(GPUTemplatesTest, SplitsAreCombined) {
  FLASHC_NEED_GPU();
  constexpr int64_t parts = 7, batch = 3, heads = 5, dim = 96, rows = batch * heads;
  DeviceArray m(DType::F32, {1, 1, parts, rows}), l(DType::F32, {1, 1, parts, rows}),
      acc(DType::F32, {1, parts, rows, dim}), o(DType::F32, {batch, 1, heads, dim}),
      lse(DType::F32, {1, 1, 1, rows});
  fillNormal(m, 1);
  fillNormal(acc, 2);
  std::vector<float> sums(parts * rows);
  for (size_t n = 0; n < sums.size(); ++n)
    sums[n] = 1 + static_cast<float>(n % 13);
  l.buffer.copyFrom(std::as_bytes(std::span(sums)));
  SplitCombine a = {};
  a.m = m.data<float>(), a.l = l.data<float>(), a.acc = acc.data<float>();
  a.partStride = rows, a.accPartStride = rows * dim, a.accDimStride = 1;
  const i64 strides[3] = {heads, 1, 0};
  for (int n = 0; n < 3; ++n) {
    a.rowStrides[n] = a.lseStrides[n] = strides[n];
    a.accRowStrides[n] = strides[n] * dim;
  }
  a.o = o.view(), a.lse = lse.data<float>();
  a.parts = parts, a.batch = batch, a.heads = heads, a.queries = 1, a.valueDim = dim;
  a.lnBase = static_cast<float>(std::log(2.0));
  launch("SplitCombine", {"f32"}, "split_combine", splitCombineGrid(a), a);
  const HostArray hostM = m.read(), hostAcc = acc.read(), hostO = o.read(), hostLse = lse.read();
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    std::vector<double> total(dim);
    for (int64_t part = 0; part < parts; ++part) {
      const double weight = std::exp2(hostM.at(part * rows + row));
      sum += weight * sums[static_cast<size_t>(part * rows + row)];
      for (int64_t d = 0; d < dim; ++d)
        total[static_cast<size_t>(d)] += weight * hostAcc.at((part * rows + row) * dim + d);
    }
    EXPECT_NEAR(hostLse.at(row), std::log(sum), 1e-5);
    for (int64_t d = 0; d < dim; ++d)
      EXPECT_NEAR(hostO.at(row * dim + d), total[static_cast<size_t>(d)] / sum, 1e-5);
  }
}

TEST_F(GPUTemplatesTest, TokensAreAppendedToPages) {
  FLASHC_NEED_GPU();
  constexpr int64_t batch = 2, tokens = 3, heads = 2, dim = 16, pages = 6, pageSize = 4;
  DeviceArray k(DType::BF16, {batch, tokens, heads, dim}),
      v(DType::BF16, {batch, tokens, heads, dim});
  fillNormal(k, 1);
  fillNormal(v, 2);
  DeviceArray keys(DType::BF16, {pages, pageSize, heads, dim}),
      values(DType::BF16, {pages, pageSize, heads, dim});
  const std::vector<int32_t> lengths = {2, 7}, table = {5, 0, 3, 1};
  DeviceArray deviceLengths = DeviceArray::from(DType::I32, {batch}, lengths),
              deviceTable = DeviceArray::from(DType::I32, {batch, 2}, table);
  std::vector<float> cosines, sines;
  for (int64_t p = 0; p < 8; ++p)
    for (int64_t n = 0; n < dim / 2; ++n) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -2.0 * double(n) / dim);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  DeviceArray deviceCosines = DeviceArray::from(DType::F32, {8, dim / 2}, cosines),
              deviceSines = DeviceArray::from(DType::F32, {8, dim / 2}, sines);
  DeviceArray dropped = DeviceArray::from(DType::I64, {1}, std::vector<int64_t>{0});
  KVAppend a = {};
  a.k = k.view(), a.v = v.view(), a.keys = keys.view(), a.values = values.view();
  a.lengths = deviceLengths.data<int>(), a.pageTable = deviceTable.data<int>();
  a.pageTableStride = a.pagesPerSequence = 2;
  a.pages = pages, a.pageSize = pageSize;
  a.batch = batch, a.tokens = tokens, a.heads = heads, a.dim = a.valueDim = dim;
  a.rotation = {deviceCosines.data<float>(), deviceSines.data<float>(), dim / 2, 8, dim, 0};
  a.dropped = dropped.data<u64>();
  launch("KVAppend", {"bf16"}, "kv_append", kvAppendGrid(a), a);
  EXPECT_EQ(dropped.read().at(0), 2); // positions 8 and 9 of sequence 1
  const HostArray hostK = k.read(), hostV = v.read(), cachedK = keys.read(),
                  cachedV = values.read();
  int64_t written = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t p = lengths[static_cast<size_t>(b)] + t;
      if (p >= 8)
        continue;
      const int64_t page = table[static_cast<size_t>(b * 2 + p / pageSize)];
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t from = ((b * tokens + t) * heads + h) * dim;
        const int64_t to = ((page * pageSize + p % pageSize) * heads + h) * dim;
        for (int64_t d = 0; d < dim; ++d, ++written) {
          EXPECT_EQ(cachedV.at(to + d), hostV.at(from + d));
          const int64_t n = d % (dim / 2);
          const double c = cosines[static_cast<size_t>(p * dim / 2 + n)],
                       s = sines[static_cast<size_t>(p * dim / 2 + n)];
          const double x = hostK.at(from + n), y = hostK.at(from + n + dim / 2);
          const double wanted = d == n ? x * c - y * s : y * c + x * s;
          EXPECT_NEAR(cachedK.at(to + d), wanted, 0.01 * (std::fabs(x) + std::fabs(y)));
        }
      }
    }
  // And nothing elsewhere.
  int64_t finite = 0;
  for (int64_t n = 0; n < cachedV.numElements(); ++n)
    finite += std::isfinite(cachedV.at(n));
  EXPECT_EQ(finite, written);
}

} // namespace
