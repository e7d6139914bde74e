//===- GPUSchedules.h - schedules for NVIDIA GPUs ---------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The part of the schedule table that is for GPUs; ScheduleTable.h is what others ask.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_GPUSCHEDULES_H
#define FLASHC_COMPILER_TARGET_GPUSCHEDULES_H

#include "compiler/Target/ScheduleTable.h"

namespace flashc {

/// Keys of the smallest tile: products on FMA units take scores in blocks of so many columns, tensor cores two blocks
/// at a time.
constexpr int64_t kFewestKeys = 8;
/// What the rows of a warp are a multiple of where products run on FMA units.
constexpr int64_t kLeastRows = 8;

/// Elements of a tile that a thread has at most: more are no tile in registers, and take long to compile.
constexpr int64_t kMostTileElements = 2048;

/// Threads of a block.
int64_t gpuThreads(const ScheduleSizes &sizes);

/// Bytes of shared memory of a block: Q, the stages of K and V, and P where products run on FMA units; with the standard
/// strategy, those of the phase that has the most, Q and K or P and V.
int64_t gpuSharedBytes(const ScheduleSizes &sizes, const TargetInfo &target,
                       const ScheduleProblem &problem);

/// Registers that a thread needs for its part of O, of the scores at hand, of Q where that lies there, and of the
/// tiles that come through them.
int64_t gpuRegisters(const ScheduleSizes &sizes, const TargetInfo &target,
                     const ScheduleProblem &problem);

/// Whether the tensor cores of `target` multiply the inputs' type; otherwise FMA units do.
bool usesTensorCores(const TargetInfo &target, const ScheduleProblem &problem);

std::string rejectGPUSchedule(const ScheduleSizes &sizes, const TargetInfo &target,
                              const ScheduleProblem &problem);
ScheduleSizes chooseGPUSchedule(const TargetInfo &target, const ScheduleProblem &problem);

/// Bc = ceil(M / 4d), Br = min(Bc, d) with M the block's shared memory in elements (Algorithm 1, line 1),
/// rounded to the shape of the instructions and shrunk until it fits.
ScheduleSizes paperGPUSchedule(const TargetInfo &target, const ScheduleProblem &problem);

/// What the table considers, the chosen one first.
std::vector<ScheduleCandidate> considerGPUSchedules(const TargetInfo &target,
                                                    const ScheduleProblem &problem);

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_GPUSCHEDULES_H
