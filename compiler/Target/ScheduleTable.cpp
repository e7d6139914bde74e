//===- ScheduleTable.cpp - schedules per target ---------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/ScheduleTable.h"
#include "compiler/Target/GPUSchedules.h"

#include <algorithm>
#include <bit>

namespace flashc {

namespace {

/// Rows of queries that are tried, from the largest. More rows mean less traffic for K and V.
constexpr int64_t kQueryRows[] = {384, 192, 96, 48, 24, 12, 6};
constexpr int64_t kKeyColumns = 64, kMaskedRows = 192;
/// The same for products in tile registers, beside which packing K and V weighs more.
constexpr int64_t kTileQueryRows[] = {512, 384, 192, 96, 32};
constexpr int64_t kTileMaskedRows = 384;
/// Head dims above this pass over O less often, in wider tiles of keys. Below, wider ones are partial more often.
constexpr int64_t kNarrowHeadDim = 64, kWideKeyColumns = 128;
/// The columns of keys for head dims so large that no number of rows fits.
constexpr int64_t kFewKeyColumns[] = {48, 32, 16};

/// Rows and columns of f32 of an AMX tile register, and how many of them there are.
constexpr int64_t kTileRegisterSize = 16, kTileRegisters = 8;

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The micro-tile that fills the register file: 6 x 64 with 32 registers of 16 lanes, 6 x 16 with 16 of 8, and
/// 2 x 2 of AMX's eight tile registers of 16 x 16.
std::array<int64_t, 2> microTile(const TargetInfo &target, const ScheduleProblem &problem) {
  if (usesTileRegisters(target, problem))
    return {2 * kTileRegisterSize, 2 * kTileRegisterSize};
  int64_t vectors = target.numVectorRegisters >= 32 ? 4 : 2;
  return {6, vectors * target.vectorLanesF32()};
}

/// Rows of queries to try. Rows that a mask drops are passed over, but more and smaller tiles spread evenly over the
/// threads.
std::vector<int64_t> queryRows(const TargetInfo &target, const ScheduleProblem &problem) {
  bool inTiles = usesTileRegisters(target, problem);
  std::vector<int64_t> rows(std::begin(kQueryRows), std::end(kQueryRows));
  if (inTiles)
    rows.assign(std::begin(kTileQueryRows), std::end(kTileQueryRows));
  int64_t most = inTiles ? kTileMaskedRows : kMaskedRows;
  if (problem.isMasked)
    std::erase_if(rows, [&](int64_t count) { return count > most; });
  return rows;
}

int64_t keyColumns(const TargetInfo &target, const ScheduleProblem &problem) {
  bool isWide = std::max(problem.headDim, problem.valueDim) > kNarrowHeadDim;
  return usesTileRegisters(target, problem) && isWide ? kWideKeyColumns : kKeyColumns;
}

/// Heads of a group in a tile at most; bytes of keys in a tile, four pages that are read side by side; and bytes of keys
/// and values in a part, so many that what begins and ends one is little beside them.
constexpr int64_t kMostGroupRows = 64, kTileKeyBytes = 1 << 14, kPartBytes = 1 << 21;
/// The most keys of a tile, and the least and the most of a part.
constexpr int64_t kMostTileKeys = 128, kLeastPartKeys = 256, kMostPartKeys = 8192;

/// Takes the largest number of key columns with which the schedule fits, if there is one.
void shrinkColumns(ScheduleSizes &sizes, const TargetInfo &target, const ScheduleProblem &problem) {
  for (int64_t columns : kFewKeyColumns) {
    if (rejectSchedule(sizes, target, problem).empty())
      return;
    sizes.tile[1] = roundUp(columns, sizes.micro[1]);
  }
}

/// The largest power of two up to `value`, within limits that are such powers.
int64_t powerOfTwo(int64_t value, int64_t least, int64_t most) {
  auto floor = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
  return std::clamp(floor, least, most);
}

ScheduleSizes decodeSchedule(const TargetInfo &target, const ScheduleProblem &problem) {
  ScheduleSizes sizes;
  int64_t elementBytes = problem.isF32 ? 4 : 2;
  // Where the registers suffice, all rows go through the products at once: each key is loaded but once.
  bool hasMany = target.numVectorRegisters >= 32;
  sizes.tile[0] = kFewGroupRows;
  sizes.micro = {hasMany ? kFewGroupRows : 4, 2 * target.vectorLanesF32()};
  if (usesTileRegisters(target, problem)) {
    sizes.tile[0] = kTileRegisterSize;
    sizes.micro = {kTileRegisterSize, 2 * kTileRegisterSize};
  }
  // Each tile of a group reads the keys again.
  if (problem.groupSize > sizes.tile[0])
    sizes.tile[0] = roundUp(std::min(problem.groupSize, kMostGroupRows), sizes.micro[0]);
  sizes.tile[1] =
      powerOfTwo(kTileKeyBytes / (problem.headDim * elementBytes), sizes.micro[1], kMostTileKeys);
  sizes.rowsAreHeads = true;
  sizes.split = powerOfTwo(kPartBytes / ((problem.headDim + problem.valueDim) * elementBytes),
                           kLeastPartKeys, kMostPartKeys);
  shrinkColumns(sizes, target, problem);
  return sizes;
}

std::string number(int64_t value) { return std::to_string(value); }

} // namespace

int64_t workingSetBytes(const ScheduleSizes &sizes, const ScheduleProblem &problem) {
  auto [br, bc] = sizes.tile;
  int64_t queries = br * (problem.headDim + problem.valueDim);
  int64_t keys = bc * (problem.headDim + problem.valueDim);
  return 4 * (queries + keys + 2 * br * bc);
}

bool usesTileRegisters(const TargetInfo &target, const ScheduleProblem &problem) {
  return target.hasAMX && problem.isBF16;
}

int64_t microRegisters(const ScheduleSizes &sizes, const TargetInfo &target,
                       const ScheduleProblem &problem) {
  if (usesTileRegisters(target, problem)) {
    int64_t rows = sizes.micro[0] / kTileRegisterSize, columns = sizes.micro[1] / kTileRegisterSize;
    return rows * columns + rows + columns;
  }
  int64_t vectors = sizes.micro[1] / target.vectorLanesF32();
  return sizes.micro[0] * vectors + vectors + 1;
}

std::string rejectSchedule(const ScheduleSizes &sizes, const TargetInfo &target,
                           const ScheduleProblem &problem) {
  if (target.kind == TargetKind::GPU)
    return rejectGPUSchedule(sizes, target, problem);
  int64_t lanes = target.vectorLanesF32();
  if (sizes.micro[1] % lanes != 0)
    return "expected micro columns that are a multiple of the " + number(lanes) + " f32 lanes of " +
           std::string(target.name) + ", got " + number(sizes.micro[1]);
  if (sizes.tile[0] % sizes.micro[0] != 0)
    return "expected tile rows that are a multiple of the " + number(sizes.micro[0]) +
           " micro rows, got " + number(sizes.tile[0]);
  if (sizes.tile[1] % sizes.micro[1] != 0)
    return "expected tile columns that are a multiple of the " + number(sizes.micro[1]) +
           " micro columns, got " + number(sizes.tile[1]);
  if (sizes.stages || sizes.across != 1 || sizes.bands != 1 || sizes.blocks || sizes.registers ||
      sizes.queriesInRegisters || sizes.values != ScheduleSizes::ValueCopy::Ahead)
    return "expected stages, across, bands, blocks, registers, queries and values on GPU targets "
           "only";
  bool inTiles = usesTileRegisters(target, problem);
  if (sizes.isOptimistic && !inTiles)
    return "expected reference = optimistic for bf16 in AMX's tile registers or on GPU targets "
           "only";
  if (inTiles && sizes.micro[0] % kTileRegisterSize != 0)
    return "expected micro rows that are a multiple of the " + number(kTileRegisterSize) +
           " rows of a tile register, got " + number(sizes.micro[0]);
  if (inTiles && sizes.tile[1] % (2 * kTileRegisterSize) != 0)
    return "expected tile columns that are a multiple of the " + number(2 * kTileRegisterSize) +
           " bf16 columns of a tile register, got " + number(sizes.tile[1]);
  int64_t registers = microRegisters(sizes, target, problem);
  int64_t available = inTiles ? kTileRegisters : target.numVectorRegisters;
  if (registers > available)
    return "expected a micro-tile of at most " + number(available) +
           (inTiles ? " tile" : " vector") + " registers, got " + number(registers) +
           "; choose a smaller micro";
  if (sizes.split % sizes.tile[1] != 0)
    return "expected a split that is a multiple of the " + number(sizes.tile[1]) +
           " tile columns, got " + number(sizes.split);
  int64_t bytes = workingSetBytes(sizes, problem);
  if (bytes > target.l2Bytes)
    return "expected a working set of at most " + number(target.l2Bytes) +
           " bytes of second-level cache, got " + number(bytes) + "; choose a smaller tile";
  return "";
}

ScheduleSizes chooseSchedule(const TargetInfo &target, const ScheduleProblem &problem) {
  if (target.kind == TargetKind::GPU)
    return chooseGPUSchedule(target, problem);
  ScheduleSizes sizes;
  if (isDecoding(problem.queries))
    return decodeSchedule(target, problem);
  sizes.micro = microTile(target, problem);
  // Where the products cost little, the row maxima and the rescaling of O cost as much as they.
  sizes.isOptimistic = usesTileRegisters(target, problem);
  for (int64_t rows : queryRows(target, problem)) {
    sizes.tile = {rows, keyColumns(target, problem)};
    if (rejectSchedule(sizes, target, problem).empty())
      return sizes;
  }
  shrinkColumns(sizes, target, problem);
  return sizes;
}

ScheduleSizes paperSchedule(const TargetInfo &target, const ScheduleProblem &problem) {
  if (target.kind == TargetKind::GPU)
    return paperGPUSchedule(target, problem);
  int64_t elements = target.l1Bytes / 4, d = std::max(problem.headDim, problem.valueDim);
  int64_t bc = (elements + 4 * d - 1) / (4 * d);
  ScheduleSizes sizes;
  sizes.micro = microTile(target, problem);
  sizes.tile = {roundUp(std::min(bc, d), sizes.micro[0]), roundUp(bc, sizes.micro[1])};
  return sizes;
}

std::vector<ScheduleCandidate> considerSchedules(const TargetInfo &target,
                                                 const ScheduleProblem &problem) {
  if (target.kind == TargetKind::GPU)
    return considerGPUSchedules(target, problem);
  std::vector<ScheduleCandidate> result;
  ScheduleSizes chosen = chooseSchedule(target, problem);
  auto add = [&](std::string name, const ScheduleSizes &sizes) {
    result.push_back({std::move(name), sizes, rejectSchedule(sizes, target, problem)});
  };
  add("table", chosen);
  for (int64_t rows : queryRows(target, problem)) {
    ScheduleSizes sizes = {{rows, keyColumns(target, problem)}, microTile(target, problem)};
    sizes.isOptimistic = usesTileRegisters(target, problem);
    if (sizes != chosen)
      add("rows " + number(rows), sizes);
  }
  ScheduleSizes decode = decodeSchedule(target, problem);
  if (decode != chosen)
    add("decode", decode);
  add("paper", paperSchedule(target, problem));
  return result;
}

} // namespace flashc
