//===- Attention.cpp - the float64 reference of attention -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Threads take chunks of rows that share a key head; each converts that head's keys and values
// once, then treats a few rows at a time: all scores, then regions and softmax per row, then P.V.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Attention.h"

#include "runtime/Reference/ExprEvaluator.h"
#include "runtime/Reference/Geometry.h"
#include "runtime/Reference/RowKernels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

namespace flashc::reference {

namespace {

constexpr int64_t kChunkRows = 64; ///< Rows that a thread takes at once.
constexpr int64_t kTileRows = 8;   ///< Rows that share one pass over the keys.

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// `value` rounded to the type, without double rounding.
template <typename Real> Real roundTo(DType type, Real value) {
  switch (type) {
  case DType::BF16:
    return bfloatToFloat(doubleToBfloat(value));
  case DType::F16:
    return halfToFloat(doubleToHalf(value));
  default:
    return value;
  }
}

/// The pairwise sum that NumPy forms: eight partial sums up to 128 terms, halves beyond.
template <typename Real> Real pairwiseSum(const Real *values, int64_t count) {
  if (count < 8) {
    Real sum = 0;
    for (int64_t n = 0; n < count; ++n)
      sum += values[n];
    return sum;
  }
  if (count <= 128) {
    Real part[8];
    std::copy_n(values, 8, part);
    int64_t n = 8;
    for (; n + 8 <= count; n += 8)
      for (int64_t m = 0; m < 8; ++m)
        part[m] += values[n + m];
    Real sum =
        ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; n < count; ++n)
      sum += values[n];
    return sum;
  }
  const int64_t half = count / 2 / 8 * 8;
  return pairwiseSum(values, half) + pairwiseSum(values + half, count - half);
}

/// What all threads share.
template <typename Real> struct Context {
  const Problem &problem;
  const Geometry &geometry;
  DType type; ///< Of P in P.V and of o; F64 does not round.
  Result &result;
  std::optional<ExprEvaluator<Real>> score, mask;
};

/// Some rows of the heads that share key head `group`, of one sequence. Row r is query head
/// group * (hq / hkv) + r / sq, position r % sq.
struct Chunk {
  const Sequence *sequence;
  int64_t group, begin, end;
};

/// One thread's evaluation.
template <typename Real> class Worker {
public:
  explicit Worker(const Context<Real> &context)
      : context(context), problem(context.problem), geometry(context.geometry) {}

  void run(const Chunk &chunk) {
    convertKeysAndValues(chunk);
    for (int64_t row = chunk.begin; row < chunk.end; row += kTileRows)
      runTile(chunk, row, std::min(row + kTileRows, chunk.end));
  }

  double maxAbsScore = 0, maxScoreTerms = 0, maxAbsValue = 0;

private:
  /// Fills keys [block, d, kKeyBlock] and values [sk, width], unless they are this group's already.
  void convertKeysAndValues(const Chunk &chunk) {
    if (chunk.sequence == currentSequence && chunk.group == currentGroup)
      return;
    currentSequence = chunk.sequence;
    currentGroup = chunk.group;
    const Sequence &sequence = *chunk.sequence;
    blocks = roundUp(sequence.sk, kKeyBlock) / kKeyBlock;
    width = roundUp(geometry.dv, kPadding);
    keys.assign(blocks * geometry.d * kKeyBlock, 0);
    values.assign(sequence.sk * width, 0);
    maxKeyNorm = 0;
    for (int64_t j = 0; j < sequence.sk; ++j) {
      Real *key = keys.data() + j / kKeyBlock * geometry.d * kKeyBlock + j % kKeyBlock;
      const int64_t keyAt = geometry.keyOffset(geometry.k, sequence, sequence.kBase, j);
      const int64_t valueAt = geometry.keyOffset(geometry.v, sequence, sequence.vBase, j);
      double squares = 0;
      for (int64_t n = 0; n < geometry.d; ++n) {
        const double value = geometry.k.at(keyAt, chunk.group, n);
        squares += value * value;
        key[n * kKeyBlock] = static_cast<Real>(value);
      }
      if (std::isfinite(squares))
        maxKeyNorm = std::max(maxKeyNorm, std::sqrt(squares));
      for (int64_t n = 0; n < geometry.dv; ++n) {
        const double value = geometry.v.at(valueAt, chunk.group, n);
        values[j * width + n] = static_cast<Real>(value);
        if (std::isfinite(value))
          maxAbsValue = std::max(maxAbsValue, std::fabs(value));
      }
    }
  }

  void runTile(const Chunk &chunk, int64_t begin, int64_t end) {
    const Sequence &sequence = *chunk.sequence;
    const int64_t rows = end - begin, stride = blocks * kKeyBlock;
    RowCoordinates coordinates[kTileRows];
    queries.resize(kTileRows * geometry.d);
    scores.resize(kTileRows * stride);
    outputs.assign(kTileRows * width, 0);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t h = chunk.group * (geometry.hq / geometry.hkv) + (begin + r) / sequence.sq;
      coordinates[r] = {sequence.b, h, (begin + r) % sequence.sq, sequence.sq, sequence.sk};
      const int64_t queryAt = sequence.qBase + coordinates[r].i * geometry.q.rowStride;
      double squares = 0;
      for (int64_t n = 0; n < geometry.d; ++n) {
        const double value = geometry.q.at(queryAt, h, n);
        squares += value * value;
        queries[r * geometry.d + n] = static_cast<Real>(value);
      }
      const double terms = std::fabs(geometry.scale) * std::sqrt(squares) * maxKeyNorm;
      if (std::isfinite(terms))
        maxScoreTerms = std::max(maxScoreTerms, terms);
    }
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t r = 0; r < rows; ++r)
        multiplyKeys(queries.data() + r * geometry.d, keys.data() + block * geometry.d * kKeyBlock,
                     geometry.d, scores.data() + r * stride + block * kKeyBlock);
    for (int64_t r = 0; r < rows; ++r)
      finishRow(coordinates[r], scores.data() + r * stride, outputs.data() + r * width);
  }

  /// From the dot products s[0 .. sk) to the row's results.
  void finishRow(const RowCoordinates &row, Real *s, Real *acc) {
    const Sequence &sequence = *currentSequence;
    transformScores(row, s);
    selectKeys(row);

    const Real infinity = std::numeric_limits<Real>::infinity();
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    Real max = -infinity;
    for (int32_t j : kept) {
      if (!std::isnan(max))
        max = std::isnan(s[j]) ? s[j] : std::max(max, s[j]);
      if (std::isfinite(s[j]))
        maxAbsScore = std::max(maxAbsScore, static_cast<double>(std::fabs(s[j])));
    }
    const Real sink = problem.sinks
                          ? static_cast<Real>(problem.sinks->at(row.h * problem.sinks->strides[0]))
                          : -infinity;

    double *o = context.result.o.data() + sequence.oBase + row.i * geometry.oRowStride +
                row.h * geometry.oHeadStride;
    const int64_t flat = sequence.rowBase + row.h * geometry.rowHeadStride + row.i;
    context.result.rowMax[flat] = max;
    if (max == -infinity) { // An empty row; o is 0 already.
      context.result.lse[flat] = sink;
      return;
    }
    if (std::isnan(max) || max == infinity || std::isnan(sink) || sink == infinity) {
      std::fill_n(o, geometry.dv, nan);
      context.result.lse[flat] = nan;
      return;
    }
    const Real reference = std::max(max, sink);
    exponentials.clear();
    for (int32_t j : kept) {
      const Real p = std::exp(s[j] - reference);
      exponentials.push_back(p);
      s[j] = roundTo(context.type, p);
    }
    Real sum = pairwiseSum(exponentials.data(), static_cast<int64_t>(exponentials.size()));
    if (problem.sinks)
      sum += std::exp(sink - reference);
    for (size_t n = 0; n < kept.size(); n += kKeyBlock)
      accumulateValues(s, kept.data() + n, std::min<int64_t>(kKeyBlock, kept.size() - n),
                       values.data(), width, acc);
    for (int64_t n = 0; n < geometry.dv; ++n)
      o[n] = roundTo(context.type, acc[n] / sum);
    context.result.lse[flat] = reference + std::log(sum);
  }

  /// Scale, softcap, ALiBi, bias and score expression.
  void transformScores(const RowCoordinates &row, Real *s) {
    const int64_t sk = row.sk;
    const Real scale = static_cast<Real>(geometry.scale);
    for (int64_t j = 0; j < sk; ++j)
      s[j] *= scale;
    if (problem.softcap != 0) {
      const Real cap = static_cast<Real>(problem.softcap);
      for (int64_t j = 0; j < sk; ++j)
        s[j] = cap * std::tanh(s[j] / cap);
    }
    if (problem.alibi) {
      const Real slope = static_cast<Real>(problem.alibi->at(row.h * problem.alibi->strides[0]));
      for (int64_t j = 0; j < sk; ++j)
        s[j] -= slope * static_cast<Real>(std::abs(row.i + sk - row.sq - j));
    }
    if (problem.bias) {
      const int64_t offset = geometry.biasOffset(row.b, row.h, row.i);
      for (int64_t j = 0; j < sk; ++j)
        s[j] += static_cast<Real>(problem.bias->at(offset + j * geometry.biasStrides[3]));
    }
    if (context.score)
      context.score->evaluateScores(row, 0, sk, s, scratch);
  }

  /// Fills `kept` with the keys that causal, window and mask expression keep, ascending.
  void selectKeys(const RowCoordinates &row) {
    const int64_t alignment = problem.causal == Causal::TopLeft ? 0 : row.sk - row.sq;
    keep.resize(row.sk);
    for (int64_t j = 0; j < row.sk; ++j) {
      const int64_t diagonal = row.i + alignment;
      bool kept = problem.causal == Causal::None || j <= diagonal;
      if (problem.windowLeft >= 0)
        kept = kept && j >= saturatedAdd(diagonal, -problem.windowLeft);
      if (problem.windowRight >= 0)
        kept = kept && j <= saturatedAdd(diagonal, problem.windowRight);
      keep[j] = kept;
    }
    if (context.mask)
      context.mask->evaluateMask(row, 0, row.sk, keep.data(), scratch);
    kept.clear();
    for (int64_t j = 0; j < row.sk; ++j)
      if (keep[j])
        kept.push_back(static_cast<int32_t>(j));
  }

  static int64_t saturatedAdd(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
      return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    return sum;
  }

  const Context<Real> &context;
  const Problem &problem;
  const Geometry &geometry;
  const Sequence *currentSequence = nullptr;
  int64_t currentGroup = -1;
  int64_t blocks = 0; ///< Of kKeyBlock keys.
  double maxKeyNorm = 0;
  int64_t width = 0; ///< Dv, padded.
  std::vector<Real> keys, values, queries, scores, outputs, exponentials;
  std::vector<uint8_t> keep;
  std::vector<int32_t> kept;
  typename ExprEvaluator<Real>::Scratch scratch;
};

template <typename Real> Result run(const Problem &problem, DType type, unsigned threads) {
  const Geometry geometry(problem);
  Result result;
  result.oShape = geometry.oShape;
  result.rowShape = geometry.rowShape;
  const int64_t rows = countElements(geometry.rowShape).value_or(0);
  const double empty = -std::numeric_limits<double>::infinity();
  result.o.assign(countElements(geometry.oShape).value_or(0), 0);
  result.lse.assign(rows, empty);
  result.rowMax.assign(rows, empty);

  Context<Real> context{problem, geometry, type, result, {}, {}};
  if (problem.score)
    context.score.emplace(*problem.score, problem.captures);
  if (problem.mask)
    context.mask.emplace(*problem.mask, problem.captures);

  std::vector<Chunk> chunks;
  for (const Sequence &sequence : geometry.sequences) {
    const int64_t groupRows = geometry.hkv ? geometry.hq / geometry.hkv * sequence.sq : 0;
    for (int64_t group = 0; group < geometry.hkv; ++group)
      for (int64_t begin = 0; begin < groupRows; begin += kChunkRows)
        chunks.push_back({&sequence, group, begin, std::min(begin + kChunkRows, groupRows)});
  }

  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  auto work = [&] {
    try {
      Worker<Real> worker(context);
      for (size_t n; (n = next++) < chunks.size();)
        worker.run(chunks[n]);
      std::lock_guard lock(mutex);
      result.maxAbsScore = std::max(result.maxAbsScore, worker.maxAbsScore);
      result.maxScoreTerms = std::max(result.maxScoreTerms, worker.maxScoreTerms);
      result.maxAbsValue = std::max(result.maxAbsValue, worker.maxAbsValue);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  };
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  // A thread costs more than a small problem.
  const size_t useful = chunks.size() > 1 && rows * geometry.d > 4096 ? chunks.size() : 1;
  std::vector<std::thread> pool;
  for (size_t n = 1; n < std::min<size_t>(threads, useful); ++n)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  if (error)
    std::rethrow_exception(error);
  return result;
}

} // namespace

Result evaluate(const Problem &problem, unsigned threads) {
  return run<double>(problem, DType::F64, threads);
}

Result evaluateUnfusedF32(const Problem &problem, DType type, unsigned threads) {
  if (type != DType::F32 && type != DType::BF16 && type != DType::F16)
    fail("expected f32, bf16 or f16 for the unfused evaluation, got ", nameOf(type));
  return run<float>(problem, type, threads);
}

} // namespace flashc::reference
