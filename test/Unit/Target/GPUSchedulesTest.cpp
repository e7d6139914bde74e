//===- GPUSchedulesTest.cpp - the schedule table for NVIDIA GPUs ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/GPUSchedules.h"

#include <gtest/gtest.h>

using namespace flashc;

namespace {

enum class Input { F32, F16, BF16 };

ScheduleProblem problemOf(int64_t headDim, int64_t valueDim, Input input) {
  ScheduleProblem problem;
  problem.headDim = headDim;
  problem.valueDim = valueDim;
  problem.isF32 = input == Input::F32;
  problem.isBF16 = input == Input::BF16;
  return problem;
}

/// Calls `visit` with every GPU and every kind of problem that the table tells apart, at each head dim.
template <typename Visit> void forEachProblem(Visit visit) {
  for (const TargetInfo &target : allTargets()) {
    if (target.kind != TargetKind::GPU)
      continue;
    for (Input input : {Input::F32, Input::F16, Input::BF16})
      for (int64_t headDim = 1; headDim <= 576; ++headDim)
        for (int64_t valueDim : {headDim, int64_t(1), int64_t(128), int64_t(512), int64_t(576)})
          for (auto [queries, groupSize] : {std::pair(0, 0), {1, 0}, {1, 17}, {1, 128}}) {
            ScheduleProblem problem = problemOf(headDim, valueDim, input);
            problem.queries = queries;
            problem.groupSize = groupSize;
            visit(target, problem);
            problem.isStandard = true;
            visit(target, problem);
          }
  }
}

std::string describe(const TargetInfo &target, const ScheduleProblem &problem) {
  return std::string(target.name) + " D=" + std::to_string(problem.headDim) +
         " Dv=" + std::to_string(problem.valueDim) +
         (problem.isF32 ? " f32" : (problem.isBF16 ? " bf16" : " f16")) +
         (problem.queries ? " decoding for " + std::to_string(problem.groupSize) : "") +
         (problem.isStandard ? " standard" : "");
}

/// What is chosen fits.
template <typename Choose> void expectFits(Choose choose) {
  int failures = 0;
  forEachProblem([&](const TargetInfo &target, const ScheduleProblem &problem) {
    std::string rejection = rejectSchedule(choose(target, problem), target, problem);
    if (!rejection.empty() && ++failures <= 10)
      ADD_FAILURE() << describe(target, problem) << ": got '" << rejection << "'";
  });
  EXPECT_EQ(failures, 0);
}

} // namespace

TEST(GPUSchedules, EveryHeadDimFitsEveryGPU) { expectFits(chooseSchedule); }

TEST(GPUSchedules, PaperScheduleFitsToo) { expectFits(paperSchedule); }

// Tiles of the fewest keys, for each of which all threads meet, are the last resort: of large f32 heads on sm_75.
TEST(GPUSchedules, TheFewestKeysAreForWhatFitsInNoOtherWay) {
  int64_t count = 0;
  forEachProblem([&](const TargetInfo &target, const ScheduleProblem &problem) {
    // Few heads of a group make tiles of 8 rows.
    int64_t rows =
        problem.queries && problem.groupSize <= 8 && !usesTensorCores(target, problem) ? 8 : 16;
    ScheduleSizes least = {{rows, 16}, {rows, 16}};
    least.stages = 1;
    least.values = ScheduleSizes::ValueCopy::Instead;
    bool fits = false;
    for (least.across = 1; least.across <= 4; least.across *= 2)
      fits |= rejectSchedule(least, target, problem).empty();
    count += !fits;
    EXPECT_EQ(chooseSchedule(target, problem).tile[1] == kFewestKeys, !fits)
        << describe(target, problem);
    if (!fits)
      EXPECT_TRUE(problem.isF32 && target.name == "sm_75" && problem.headDim > 400)
          << describe(target, problem);
  });
  EXPECT_GT(count, 0);
}

TEST(GPUSchedules, ChoiceObeysWhatItsFieldsMean) {
  forEachProblem([&](const TargetInfo &target, const ScheduleProblem &problem) {
    ScheduleSizes sizes = chooseSchedule(target, problem);
    bool tensorCores = usesTensorCores(target, problem);
    bool isWrong = sizes.stages < 1 || sizes.across < 1 || sizes.blocks < 1 ||
                   // Overflow of P shows in bf16 alone, and decoding looks at few keys per part.
                   (sizes.isOptimistic && (!problem.isBF16 || !tensorCores || problem.queries)) ||
                   (sizes.queriesInRegisters && !tensorCores) ||
                   (sizes.split > 0) != sizes.rowsAreHeads ||
                   sizes.rowsAreHeads != (problem.queries > 0);
    // Two blocks on a multiprocessor must fit as the launch bounds promise.
    isWrong |= sizes.blocks * gpuSharedBytes(sizes, target, problem) > target.sharedMemoryPerSM;
    // As do the registers that a thread may have.
    if (sizes.registers)
      isWrong |= sizes.blocks * gpuThreads(sizes) * ((sizes.registers + 7) / 8 * 8) >
                     target.registersPerSM ||
                 !sizes.isOptimistic;
    if (isWrong)
      ADD_FAILURE() << describe(target, problem);
  });
}

TEST(GPUSchedules, TensorCoresMultiplyWhatTheTargetKnows) {
  const TargetInfo &turing = *lookupTarget("sm_75"), &ampere = *lookupTarget("sm_80");
  for (auto [input, onTuring, onAmpere] : {std::tuple(Input::F32, false, false),
                                           {Input::F16, true, true},
                                           {Input::BF16, false, true}}) {
    EXPECT_EQ(usesTensorCores(turing, problemOf(64, 64, input)), onTuring);
    EXPECT_EQ(usesTensorCores(ampere, problemOf(64, 64, input)), onAmpere);
  }
}

TEST(GPUSchedules, ThreadsAndSharedMemoryAreCounted) {
  const TargetInfo &target = *lookupTarget("sm_80");
  ScheduleProblem problem = problemOf(64, 64, Input::BF16);
  ScheduleSizes sizes = {{128, 64}, {32, 32}};
  sizes.stages = 2;
  EXPECT_EQ(gpuThreads(sizes), 128);
  // Q, and two stages of K and V, in rows of 128 bytes.
  EXPECT_EQ(gpuSharedBytes(sizes, target, problem), 128 * 128 + 2 * 64 * 2 * 128);
  // Rows that are no multiple of 128 bytes are skewed by a chunk.
  EXPECT_EQ(gpuSharedBytes(sizes, target, problemOf(40, 40, Input::BF16)),
            128 * 112 + 2 * 64 * 2 * 112);
  // On FMA units P takes its place too.
  EXPECT_EQ(gpuSharedBytes(sizes, target, problemOf(64, 64, Input::F32)),
            128 * 272 + 2 * 64 * 2 * 272 + 128 * (64 * 4 + 16));
  // Late values have one stage; instead of keys they take no more than what they are larger by.
  sizes.values = ScheduleSizes::ValueCopy::Late;
  EXPECT_EQ(gpuSharedBytes(sizes, target, problem), 128 * 128 + 3 * 64 * 128);
  sizes.stages = 1;
  sizes.values = ScheduleSizes::ValueCopy::Instead;
  EXPECT_EQ(gpuSharedBytes(sizes, target, problem), 128 * 128 + 64 * 128);
  EXPECT_EQ(gpuSharedBytes(sizes, target, problemOf(64, 128, Input::BF16)), 128 * 128 + 64 * 256);
}

// Each rejection says what was expected, what it got and what to do.
TEST(GPUSchedules, RejectionsNameTheRemedy) {
  const TargetInfo &target = *lookupTarget("sm_80");
  const ScheduleProblem problem = problemOf(128, 128, Input::BF16);
  auto reject = [&](auto change) {
    ScheduleSizes sizes = chooseSchedule(target, problem);
    change(sizes);
    return rejectSchedule(sizes, target, problem);
  };
  EXPECT_EQ(reject([](ScheduleSizes &) {}), "");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.micro[0] = 24; }),
            "expected rows of a warp (micro) that are a multiple of 16, got 24");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.micro[1] = 8; }),
            "expected keys at a time (micro) that are a multiple of 16, got 8");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.tile[1] = s.micro[1] = 8; }),
            "expected keys at a time (micro) that are a multiple of 16, got 8");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.tile[0] = 100, s.micro[0] = 16; }),
            "expected tile rows that are a multiple of 16, got 100");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.tile[1] = 40, s.micro[1] = 16; }),
            "expected tile columns that are a multiple of 16, got 40");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.tile[1] = 32, s.split = 48; }),
            "expected keys of a part (split) that are a multiple of 32, got 48");
  EXPECT_EQ(
      reject([](ScheduleSizes &s) { s.tile[0] = 1024, s.micro[0] = 16; }),
      "expected at most 1024 threads per block, got 2048; choose fewer rows, or more rows per "
      "warp");
  EXPECT_EQ(
      reject([](ScheduleSizes &s) { s.tile = {128, 256}, s.micro = {16, 16}, s.stages = 2; }),
      "expected at most 166912 bytes of shared memory per block, got 294912; choose a smaller "
      "tile or fewer stages");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.tile[0] = 128, s.micro[0] = 64; }).substr(0, 53),
            "expected at most 255 registers per thread, got about ");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.registers = 128; }).substr(0, 53),
            "expected at most 128 registers per thread, got about ");
  EXPECT_EQ(
      reject([](ScheduleSizes &s) { s.registers = 250, s.blocks = 3; }),
      "expected at most 65536 registers for the threads of all blocks on a multiprocessor, got "
      "98304; choose fewer registers or blocks");
  EXPECT_EQ(reject([](ScheduleSizes &s) { s.values = ScheduleSizes::ValueCopy::Instead; }),
            "expected one stage with values instead of keys, got 2");
  EXPECT_EQ(rejectSchedule(
                [] {
                  ScheduleSizes sizes = {{64, 32}, {16, 16}};
                  sizes.stages = 1;
                  sizes.queriesInRegisters = true;
                  return sizes;
                }(),
                target, problemOf(64, 64, Input::F32)),
            "expected queries in shared memory where products run on FMA units, got registers");
}

TEST(GPUSchedules, FieldsOfGPUsAreRefusedOnCPUs) {
  const TargetInfo &target = *lookupTarget("x86-64-v3");
  const ScheduleProblem problem = problemOf(64, 64, Input::F32);
  for (auto change :
       {+[](ScheduleSizes &s) { s.stages = 2; }, +[](ScheduleSizes &s) { s.across = 2; },
        +[](ScheduleSizes &s) { s.bands = 2; }, +[](ScheduleSizes &s) { s.blocks = 2; },
        +[](ScheduleSizes &s) { s.registers = 200; },
        +[](ScheduleSizes &s) { s.queriesInRegisters = true; },
        +[](ScheduleSizes &s) { s.values = ScheduleSizes::ValueCopy::Late; }}) {
    ScheduleSizes sizes = chooseSchedule(target, problem);
    change(sizes);
    EXPECT_EQ(
        rejectSchedule(sizes, target, problem),
        "expected stages, across, bands, blocks, registers, queries and values on GPU targets "
        "only");
  }
  // An optimistic reference pays where products leave the exponentials most of the time.
  ScheduleSizes sizes = chooseSchedule(target, problem);
  sizes.isOptimistic = true;
  EXPECT_TRUE(rejectSchedule(sizes, target, problem)
                  .starts_with("expected reference = optimistic for bf16 in AMX's tile registers"));
}

TEST(GPUSchedules, CandidatesBeginWithTheChosenOneAndSayWhyOthersDoNotFit) {
  const TargetInfo &target = *lookupTarget("sm_75");
  ScheduleProblem problem = problemOf(256, 256, Input::F16);
  std::vector<ScheduleCandidate> candidates = considerSchedules(target, problem);
  ASSERT_GT(candidates.size(), 3u);
  EXPECT_EQ(candidates[0].name, "table");
  EXPECT_EQ(candidates[0].sizes, chooseSchedule(target, problem));
  bool anyRejected = false;
  for (const ScheduleCandidate &candidate : candidates) {
    EXPECT_EQ(candidate.rejection, rejectSchedule(candidate.sizes, target, problem));
    anyRejected |= !candidate.rejection.empty();
  }
  EXPECT_TRUE(anyRejected); // 128 keys in 64 KiB
}
