//===- ScheduleTable.h - schedules per target -------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Which schedule a target takes for given head dims, what a schedule needs of the machine, and why one
// does not fit. Plain C++: explain shows the same facts that the compiler uses.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_SCHEDULETABLE_H
#define FLASHC_COMPILER_TARGET_SCHEDULETABLE_H

#include "compiler/Target/TargetInfo.h"

#include <array>
#include <string>
#include <vector>

namespace flashc {

/// Up to so many queries read K and V for too few rows to fill a tile of queries: the table decodes.
constexpr int64_t kFewQueries = 4;
constexpr bool isDecoding(int64_t queries) { return queries > 0 && queries <= kFewQueries; }

/// So many heads of a group fit into a decoding tile on any target.
constexpr int64_t kFewGroupRows = 8;

/// What a schedule must serve: head dims D and Dv, in elements, whether q, k and v are bf16, the number of
/// queries that is expected (0: many, or not known), whether a mask drops pairs, whether inputs
/// are f32, whether the row max is asked for, the query heads per key head that are expected (0: few), and whether the
/// strategy is the standard one, whose phases take other tiles to shared memory.
struct ScheduleProblem {
  int64_t headDim = 0, valueDim = 0;
  bool isBF16 = false;
  int64_t queries = 0;
  bool isMasked = false;
  bool isF32 = false;
  bool hasRowMax = false;
  int64_t groupSize = 0;
  bool isStandard = false;
};

/// The fields of #flash.schedule, but for the strategy.
struct ScheduleSizes {
  std::array<int64_t, 2> tile = {}, micro = {};
  bool rowsAreHeads = false;
  int64_t split = 0; ///< keys of a part; 0: all in one
  // GPUs only; see the attribute.
  int64_t stages = 0, across = 1, bands = 1, blocks = 0, registers = 0;
  bool queriesInRegisters = false;
  enum class ValueCopy { Ahead, Late, Instead };
  ValueCopy values = ValueCopy::Ahead;
  bool isOptimistic = false;
  bool operator==(const ScheduleSizes &) const = default;
};

/// A schedule with its name and, where it does not fit, the reason.
struct ScheduleCandidate {
  std::string name;
  ScheduleSizes sizes;
  std::string rejection; ///< "" if it fits
};

/// Bytes of tile buffers that one thread works on: Q, K, V, S, P and the accumulator, as f32.
int64_t workingSetBytes(const ScheduleSizes &sizes, const ScheduleProblem &problem);

/// Whether the micro-kernel works in AMX's tile registers rather than in vector registers.
bool usesTileRegisters(const TargetInfo &target, const ScheduleProblem &problem);

/// Registers of the micro-kernel: accumulators, a row of b, a broadcast of a; or tiles of all three.
int64_t microRegisters(const ScheduleSizes &sizes, const TargetInfo &target,
                       const ScheduleProblem &problem);

/// Why `sizes` cannot run on `target`, with the numbers and the remedy; "" if it can.
std::string rejectSchedule(const ScheduleSizes &sizes, const TargetInfo &target,
                           const ScheduleProblem &problem);

/// The table's schedule for a CPU target: the largest tile whose working set fits; for a few queries, tiles of
/// heads with the keys split.
ScheduleSizes chooseSchedule(const TargetInfo &target, const ScheduleProblem &problem);

/// The paper's block sizes, Bc = ceil(M / 4d) and Br = min(Bc, d) with M the first-level cache in f32
/// elements (FlashAttention, Algorithm 1, line 1), rounded up to whole micro-tiles.
ScheduleSizes paperSchedule(const TargetInfo &target, const ScheduleProblem &problem);

/// All schedules that are considered for a problem, the chosen one first.
std::vector<ScheduleCandidate> considerSchedules(const TargetInfo &target,
                                                 const ScheduleProblem &problem);

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_SCHEDULETABLE_H
