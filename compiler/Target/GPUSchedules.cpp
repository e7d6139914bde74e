//===- GPUSchedules.cpp - schedules for NVIDIA GPUs -----------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/GPUSchedules.h"
#include "compiler/Target/SharedLayout.h"

#include <algorithm>

namespace flashc {

namespace {

/// Rows of an mma.sync instruction, and the granularity of its other dimensions in a tile.
constexpr int64_t kFragment = 16;
/// Columns of O that one warp can hold with 32 rows, and with 16.
constexpr int64_t kColumnsOf32Rows = 128, kColumnsOf16Rows = 256;
/// Registers that addresses, row state and temporaries take beside tiles.
constexpr int64_t kOtherRegisters = 56;
/// Keys of a part when decoding: small enough to fill a GPU from a few thousand keys on. Where heads are large fewer
/// would spend more time on a part's beginning and end than they save.
constexpr int64_t kPartKeys = 256, kPartKeysOfLargeHeads = 512;

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::string number(int64_t value) { return std::to_string(value); }

/// A shape of blocks: rows of a block and of a warp, warps along the columns, bands of keys.
struct BlockShape {
  int64_t rows, warpRows, across, bands = 1;
};

BlockShape blockShape(const TargetInfo &target, const ScheduleProblem &problem) {
  int64_t dv = roundUp(problem.valueDim, kFragment);
  if (!usesTensorCores(target, problem))
    return {dv <= 128 ? 64 : 32, 16, dv <= 128 ? 1 : (dv <= 256 ? 2 : 4)};
  // Without cp.async threads hold a part of the next tile, and 32 rows leave no registers for it. Shared memory
  // there is for one block on a multiprocessor, which gets twice the warps instead.
  if (target.hasAsyncCopy && dv <= kColumnsOf32Rows && problem.headDim <= 192)
    return {128, 32, 1};
  if (dv <= kColumnsOf16Rows)
    return {128, 16, 1};
  return {64, 16, 2};
}

using ValueCopy = ScheduleSizes::ValueCopy;

/// Keys of a tile, stages and when values are copied, best first.
struct KeyShape {
  int64_t keys, stages;
  ValueCopy values = ValueCopy::Ahead;
};

std::vector<KeyShape> keyShapes(const ScheduleProblem &problem) {
  // Small tiles at D = 128 leave room for two blocks on a multiprocessor.
  if (problem.headDim > 64 && problem.valueDim <= 128)
    return {{32, 2}, {32, 1}, {16, 2}, {16, 1}, {16, 1, ValueCopy::Instead}};
  return {{64, 2},
          {64, 2, ValueCopy::Late},
          {48, 2},
          {32, 2},
          {32, 2, ValueCopy::Late},
          {16, 2},
          {32, 1},
          {16, 1},
          {16, 1, ValueCopy::Instead}};
}

/// Where no other shape of keys fits, whatever the block: large f32 heads in 64 KiB.
std::vector<KeyShape> lastKeyShapes() { return {{kFewestKeys, 1, ValueCopy::Instead}}; }

/// When decoding, what counts is how many bytes are on their way; where heads are large, how many blocks. FMA units have
/// more to do than memory, and work on scores while values are on their way.
std::vector<KeyShape> decodeKeyShapes(const TargetInfo &target, const ScheduleProblem &problem) {
  bool isLarge = std::max(problem.headDim, problem.valueDim) > kColumnsOf32Rows;
  std::vector<KeyShape> shapes = {{64, 3}, {32, 4}};
  if (!usesTensorCores(target, problem))
    shapes = {{64, 1, ValueCopy::Late}, {32, 1, ValueCopy::Late}, {16, 1, ValueCopy::Late}};
  // The best for large heads has half of the keys.
  if (isLarge && usesTensorCores(target, problem))
    shapes.insert(shapes.begin(), {32, 3});
  else if (isLarge)
    shapes.erase(shapes.begin());
  std::vector<KeyShape> others = keyShapes(problem);
  shapes.insert(shapes.end(), others.begin(), others.end());
  return shapes;
}

/// Rows are the heads of a group, as many as share keys. Where they make few warps, others work on other keys; warps
/// across, each of which computes all scores of its rows, only as registers for their columns take them.
BlockShape decodeBlock(const TargetInfo &target, const ScheduleProblem &problem) {
  int64_t dv = problem.valueDim;
  if (!usesTensorCores(target, problem)) {
    int64_t rows = problem.groupSize <= kLeastRows ? kLeastRows : kFragment;
    return {rows, rows, dv <= kColumnsOf16Rows ? 1 : 2, 4};
  }
  if (problem.groupSize > 2 * kFragment)
    return {4 * kFragment, kFragment, dv <= 256 ? 1 : 2};
  int64_t rows = problem.groupSize <= kFragment ? kFragment : 2 * kFragment;
  if (dv > kColumnsOf16Rows)
    return {rows, kFragment, 4};
  return {rows, kFragment, dv <= kColumnsOf32Rows ? 1 : 2, 2};
}

/// Keys whose scores a warp has at once. On tensor cores, and of a band, all of a tile's: ptxas overlaps their
/// exponentials with products by itself. Else, the exponentials of half a tile are taken beside the products of the
/// other half.
int64_t keysAtATime(int64_t keys, int64_t bands, const TargetInfo &target,
                    const ScheduleProblem &problem) {
  if (bands > 1 || (usesTensorCores(target, problem) && !isDecoding(problem.queries)))
    return std::max<int64_t>(keys / bands, 1);
  return keys % (2 * kFragment) == 0 ? keys / 2 : std::min(keys, kFragment);
}

ScheduleSizes withShape(const BlockShape &block, const KeyShape &keys, const TargetInfo &target,
                        const ScheduleProblem &problem) {
  ScheduleSizes sizes;
  sizes.tile = {block.rows, keys.keys};
  sizes.micro = {block.warpRows, keysAtATime(keys.keys, block.bands, target, problem)};
  sizes.across = block.across;
  sizes.bands = block.bands;
  sizes.stages = keys.stages;
  sizes.values = keys.values;
  sizes.queriesInRegisters =
      usesTensorCores(target, problem) && problem.headDim <= 64 && problem.valueDim <= 64;
  return sizes;
}

/// Two blocks on a multiprocessor hide each other's latencies, where registers and memory allow.
void chooseBlocks(ScheduleSizes &sizes, const TargetInfo &target, const ScheduleProblem &problem) {
  int64_t threads = gpuThreads(sizes);
  int64_t bytes = gpuSharedBytes(sizes, target, problem) + 1024; // what the driver keeps for itself
  int64_t byMemory = target.sharedMemoryPerSM / bytes;
  int64_t byRegisters =
      target.registersPerSM / (threads * roundUp(gpuRegisters(sizes, target, problem), 8));
  sizes.blocks = std::clamp<int64_t>(std::min(byMemory, byRegisters), 1, 2);
}

/// Shared memory in which the states of bands are merged, beside the `largest` of the buffers, over which what is
/// merged of O lies where there is room.
int64_t foldBytes(const ScheduleSizes &sizes, const ScheduleProblem &problem, int64_t largest) {
  constexpr int64_t kFloat = 4;
  auto held = [&](int64_t warps) {
    return paddedColumns((problem.valueDim + warps - 1) / warps) * warps;
  };
  int64_t columns = std::max(held(sizes.across), held(sizes.across * sizes.bands));
  int64_t ofO = sizes.bands * sizes.tile[0] * rowBytes(columns, kFloat);
  int64_t rows = sizes.tile[0] * rowBytes(sizes.bands, kFloat);
  return (problem.hasRowMax ? 3 : 2) * rows + (ofO > largest ? ofO : 0);
}

/// About how many scores of a tile a thread has: in the layout of products eight threads of a warp share its rows and four
/// their keys; with the standard strategy, where a phase has no products, all threads share the keys of a row.
int64_t scoresOfThread(const ScheduleSizes &sizes, const ScheduleProblem &problem) {
  int64_t scores = sizes.micro[0] / 8 * (sizes.tile[1] / sizes.bands / 4 + 4);
  if (problem.isStandard)
    scores = std::max(scores, std::max<int64_t>(sizes.micro[0] / sizes.across, 1) *
                                  (sizes.tile[1] / kWarpSize + 4));
  return scores;
}

/// What measuring found better than the rules above for an optimistic reference (tools/bench/gpu on an H200, which runs
/// the code of both targets; ptxas 13.0): fewer registers than there are have ptxas overlap more, and where the longest
/// tiles of queries are few turns long, two small blocks fill each other's pauses.
struct Finding {
  int64_t computeCapability, headDim;
  bool isMasked;
  int64_t registers;
  bool hasSmallBlocks = false;
};
constexpr Finding kFindings[] = {
    {80, 64, false, 253},  {80, 64, true, 253},      {90, 64, false, 253},  {90, 64, true, 253},
    {80, 256, false, 234}, {80, 256, true, 0, true}, {90, 256, false, 232}, {90, 256, true, 244},
};

void applyFindings(ScheduleSizes &sizes, const TargetInfo &target, const ScheduleProblem &problem) {
  for (const Finding &finding : kFindings) {
    if (finding.computeCapability != target.computeCapability || !sizes.isOptimistic ||
        problem.hasRowMax || finding.headDim != problem.headDim ||
        finding.headDim != problem.valueDim || finding.isMasked != problem.isMasked)
      continue;
    sizes.registers = finding.registers;
    if (finding.hasSmallBlocks) {
      sizes.tile = {64, 48};
      sizes.micro = {kFragment, kFragment};
      sizes.stages = 1;
      sizes.values = ValueCopy::Late;
      sizes.blocks = 2;
    }
  }
}

} // namespace

int64_t gpuThreads(const ScheduleSizes &sizes) {
  return sizes.tile[0] / sizes.micro[0] * sizes.across * sizes.bands * kWarpSize;
}

bool usesTensorCores(const TargetInfo &target, const ScheduleProblem &problem) {
  return !problem.isF32 && (!problem.isBF16 || target.hasBF16MMA);
}

int64_t gpuSharedBytes(const ScheduleSizes &sizes, const TargetInfo &target,
                       const ScheduleProblem &problem) {
  int64_t element = problem.isF32 ? 4 : 2;
  int64_t k = rowBytes(problem.headDim, element), v = rowBytes(problem.valueDim, element);
  int64_t stages = std::max<int64_t>(sizes.stages, 1);
  if (problem.isStandard)
    return std::max(sizes.tile[0] * k + sizes.tile[1] * stages * k,
                    stages *
                        (sizes.tile[0] * rowBytes(sizes.tile[1], element) + sizes.tile[1] * v));
  int64_t staged = stages * k; // of a key and its value
  if (sizes.values == ValueCopy::Instead)
    staged = std::max(k, v);
  else
    staged += sizes.values == ValueCopy::Late ? v : stages * v;
  int64_t bytes = sizes.tile[0] * k + sizes.tile[1] * staged;
  // The largest of the buffers: what is folded at the end lies over it.
  int64_t largest =
      std::max(sizes.tile[0] * k, sizes.tile[1] * std::max(stages * k, staged - stages * k));
  if (!usesTensorCores(target, problem))
    bytes += sizes.across * sizes.tile[0] * (sizes.tile[1] * 4 + 16 * sizes.bands);
  if (sizes.bands > 1)
    bytes += foldBytes(sizes, problem, largest);
  return bytes;
}

int64_t gpuRegisters(const ScheduleSizes &sizes, const TargetInfo &target,
                     const ScheduleProblem &problem) {
  int64_t rows = sizes.micro[0];
  int64_t columns = roundUp(roundUp(problem.valueDim, kFragment) / kFragment, sizes.across) /
                    sizes.across * kFragment;
  int64_t registers = rows * (columns + sizes.micro[1]) / kWarpSize;
  if (sizes.queriesInRegisters)
    registers += rows * roundUp(problem.headDim, kFragment) / 2 / kWarpSize;
  // Without cp.async the next tile is on its way in registers.
  if (!target.hasAsyncCopy && sizes.stages > 1) {
    int64_t element = problem.isF32 ? 4 : 2;
    int64_t row = rowBytes(problem.headDim, element) + rowBytes(problem.valueDim, element);
    registers += roundUp(sizes.tile[1] * row / 4, gpuThreads(sizes)) / gpuThreads(sizes);
  }
  return registers + kOtherRegisters;
}

std::string rejectGPUSchedule(const ScheduleSizes &sizes, const TargetInfo &target,
                              const ScheduleProblem &problem) {
  auto multiple = [](std::string_view what, int64_t of, int64_t got) {
    return "expected " + std::string(what) + " that are a multiple of " + number(of) + ", got " +
           number(got);
  };
  int64_t rows = usesTensorCores(target, problem) ? kFragment : kLeastRows;
  if (sizes.micro[0] % rows != 0)
    return multiple("rows of a warp (micro)", rows, sizes.micro[0]);
  bool hasFewestKeys = !usesTensorCores(target, problem) &&
                       sizes.tile[1] == sizes.bands * kFewestKeys && sizes.micro[1] == kFewestKeys;
  if (sizes.micro[1] % kFragment != 0 && !hasFewestKeys)
    return multiple("keys at a time (micro)", kFragment, sizes.micro[1]);
  if (sizes.tile[0] % sizes.micro[0] != 0)
    return multiple("tile rows", sizes.micro[0], sizes.tile[0]);
  if (sizes.tile[1] % (sizes.micro[1] * sizes.bands) != 0)
    return multiple("tile columns", sizes.micro[1] * sizes.bands, sizes.tile[1]);
  if (sizes.bands > 1 && (sizes.isOptimistic || problem.isStandard))
    return "expected the online strategy and reference = exact with bands, got " +
           number(sizes.bands) + " bands; choose one";
  if (sizes.split % sizes.tile[1] != 0)
    return multiple("keys of a part (split)", sizes.tile[1], sizes.split);
  if (int64_t scores = scoresOfThread(sizes, problem); scores > kMostTileElements)
    return "expected a tile of at most about " + number(kMostTileElements) +
           " scores for a thread, got " + number(scores) +
           "; choose fewer keys, or fewer rows per warp";
  if (int64_t threads = gpuThreads(sizes); threads > target.maxThreadsPerBlock)
    return "expected at most " + number(target.maxThreadsPerBlock) + " threads per block, got " +
           number(threads) + "; choose fewer rows, or more rows per warp";
  if (sizes.queriesInRegisters && !usesTensorCores(target, problem))
    return "expected queries in shared memory where products run on FMA units, got registers";
  if (sizes.values == ValueCopy::Instead && sizes.stages > 1)
    return "expected one stage with values instead of keys, got " + number(sizes.stages);
  if (int64_t bytes = gpuSharedBytes(sizes, target, problem); bytes > target.sharedMemoryPerBlock)
    return "expected at most " + number(target.sharedMemoryPerBlock) +
           " bytes of shared memory per block, got " + number(bytes) +
           "; choose a smaller tile or fewer stages";
  int64_t ofBlocks =
      std::max<int64_t>(sizes.blocks, 1) * gpuThreads(sizes) * roundUp(sizes.registers, 8);
  if (sizes.registers && ofBlocks > target.registersPerSM)
    return "expected at most " + number(target.registersPerSM) +
           " registers for the threads of all blocks on a multiprocessor, got " + number(ofBlocks) +
           "; choose fewer registers or blocks";
  int64_t perThread =
      std::min(target.maxRegistersPerThread, target.registersPerSM / gpuThreads(sizes) / 8 * 8);
  if (sizes.registers)
    perThread = std::min(perThread, sizes.registers);
  if (int64_t registers = gpuRegisters(sizes, target, problem); registers > perThread)
    return "expected at most " + number(perThread) + " registers per thread, got about " +
           number(registers) + "; choose fewer rows per warp, or more warps across";
  return "";
}

ScheduleSizes chooseGPUSchedule(const TargetInfo &target, const ScheduleProblem &problem) {
  BlockShape block = blockShape(target, problem);
  bool decodes = isDecoding(problem.queries);
  if (decodes)
    block = decodeBlock(target, problem);
  // P in f16 overflows where it exceeds its row's first tile by 2^16, which real rows do; products on FMA
  // units gain nothing.
  bool isOptimistic = problem.isBF16 && usesTensorCores(target, problem) && !decodes;
  // Warps across cost a copy of P each on FMA units: what does not fit with them may without. Rows go to fewer warps
  // before keys get too few to be worth a tile.
  ScheduleSizes sizes;
  auto fits = [&](const BlockShape &shape, const KeyShape &keys) {
    sizes = withShape(shape, keys, target, problem);
    sizes.isOptimistic = isOptimistic;
    if (decodes) {
      sizes.queriesInRegisters = false;
      sizes.rowsAreHeads = true;
      bool isLarge = std::max(problem.headDim, problem.valueDim) > 128;
      sizes.split = isLarge ? kPartKeysOfLargeHeads : kPartKeys;
    }
    return rejectGPUSchedule(sizes, target, problem).empty();
  };
  // As many bands as have room for whole blocks of keys.
  for (int64_t across = block.across; block.bands > 1 && across <= 2 * block.across; across *= 2)
    for (int64_t bands = block.bands; bands > 1; bands /= 2)
      for (const KeyShape &keys : decodeKeyShapes(target, problem))
        if (fits({block.rows, block.warpRows, across, bands}, keys)) {
          chooseBlocks(sizes, target, problem);
          return sizes;
        }
  block = {block.rows, block.warpRows, block.across * block.bands};
  for (const std::vector<KeyShape> &shapes :
       {decodes ? decodeKeyShapes(target, problem) : keyShapes(problem), lastKeyShapes()})
    for (BlockShape start = block; start.across >= 1; start.across /= 2)
      for (BlockShape shape = start; shape.rows >= shape.warpRows; shape.rows /= 2)
        for (const KeyShape &keys : shapes)
          if (fits(shape, keys)) {
            chooseBlocks(sizes, target, problem);
            applyFindings(sizes, target, problem);
            return sizes;
          }
  return sizes; // of the least memory; its rejection is the one to tell
}

ScheduleSizes paperGPUSchedule(const TargetInfo &target, const ScheduleProblem &problem) {
  int64_t d = std::max(problem.headDim, problem.valueDim);
  int64_t elements = target.sharedMemoryPerBlock / (problem.isF32 ? 4 : 2);
  ScheduleSizes sizes = chooseGPUSchedule(target, problem);
  int64_t bc = roundUp((elements + 4 * d - 1) / (4 * d), kFragment);
  int64_t br = std::min(bc, roundUp(d, kFragment));
  sizes.rowsAreHeads = false;
  sizes.split = 0;
  sizes.stages = 1;
  sizes.values = ValueCopy::Ahead;
  sizes.isOptimistic = false;
  sizes.bands = 1;
  sizes.registers = 0;
  sizes.tile = {roundUp(br, sizes.micro[0]), bc};
  sizes.micro[1] = kFragment;
  while (gpuThreads(sizes) > 256 && sizes.tile[0] > sizes.micro[0])
    sizes.tile[0] -= sizes.micro[0];
  // Fewer keys until it fits, then fewer rows.
  while (!rejectGPUSchedule(sizes, target, problem).empty()) {
    if (sizes.tile[1] > kFragment)
      sizes.tile[1] -= kFragment;
    else if (sizes.tile[0] > sizes.micro[0])
      sizes.tile[0] -= sizes.micro[0];
    else if (sizes.values == ValueCopy::Ahead)
      sizes.values = ValueCopy::Instead;
    else if (sizes.tile[1] != kFewestKeys && !usesTensorCores(target, problem))
      sizes.tile[1] = sizes.micro[1] = kFewestKeys;
    else
      break;
  }
  return sizes;
}

std::vector<ScheduleCandidate> considerGPUSchedules(const TargetInfo &target,
                                                    const ScheduleProblem &problem) {
  std::vector<ScheduleCandidate> result;
  ScheduleSizes chosen = chooseGPUSchedule(target, problem);
  auto add = [&](std::string name, const ScheduleSizes &sizes) {
    result.push_back({std::move(name), sizes, rejectGPUSchedule(sizes, target, problem)});
  };
  add("table", chosen);
  for (int64_t keys : {128, 64, 32})
    for (int64_t stages : {3, 2, 1}) {
      ScheduleSizes sizes = chosen;
      sizes.tile[1] = keys;
      sizes.stages = stages;
      sizes.values = ValueCopy::Ahead;
      sizes.registers = 0;
      sizes.micro[1] = keysAtATime(keys, sizes.bands, target, problem);
      if (sizes.tile[1] != chosen.tile[1] || sizes.stages != chosen.stages)
        add(number(keys) + " keys, " + number(stages) + " stages", sizes);
    }
  ScheduleProblem few = problem;
  few.queries = 1;
  if (ScheduleSizes decode = chooseGPUSchedule(target, few); decode != chosen)
    add("decode", decode);
  add("paper", paperGPUSchedule(target, problem));
  return result;
}

} // namespace flashc
