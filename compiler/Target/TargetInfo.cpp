//===- TargetInfo.cpp - the one table of machine facts -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// GPU figures: CUDA C++ Programming Guide, technical specifications per
// compute capability. CPU cache sizes: the smallest of the server and desktop
// cores that implement the level.
//
//===----------------------------------------------------------------------===//
#include "compiler/Target/TargetInfo.h"

#include <array>

using namespace flashc;

namespace {

constexpr std::string_view featuresV3[] = {"sse4.2", "popcnt", "avx", "avx2",  "bmi",
                                           "bmi2",   "f16c",   "fma", "lzcnt", "movbe"};
constexpr std::string_view featuresV4[] = {
    "sse4.2", "popcnt", "avx",     "avx2",     "bmi",      "bmi2",     "f16c",    "fma",
    "lzcnt",  "movbe",  "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
constexpr std::string_view featuresV4BF16[] = {
    "sse4.2", "popcnt", "avx",     "avx2",     "bmi",      "bmi2",     "f16c",     "fma",
    "lzcnt",  "movbe",  "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512bf16"};
constexpr std::string_view featuresAMX[] = {
    "sse4.2",   "popcnt",   "avx",      "avx2",       "bmi",      "bmi2",
    "f16c",     "fma",      "lzcnt",    "movbe",      "avx512f",  "avx512bw",
    "avx512cd", "avx512dq", "avx512vl", "avx512bf16", "amx-tile", "amx-bf16"};

// LLVM's x86-64-v4 prefers 256-bit vectors for the sake of early AVX-512 machines. Kernels choose
// their vector width themselves, so the preference is taken back.
constexpr TargetInfo cpu(std::string_view name, std::string_view llvmCPU,
                         std::string_view llvmFeatures,
                         std::span<const std::string_view> requiredFeatures, int64_t vectorBits) {
  TargetInfo info;
  info.name = name;
  info.kind = TargetKind::CPU;
  info.llvmCPU = llvmCPU;
  info.llvmFeatures = llvmFeatures;
  info.requiredFeatures = requiredFeatures;
  info.vectorBits = vectorBits;
  info.numVectorRegisters = vectorBits == 512 ? 32 : 16;
  info.l1Bytes = 32 * 1024;
  info.l2Bytes = vectorBits == 512 ? 1024 * 1024 : 256 * 1024;
  return info;
}

constexpr TargetInfo gpu(std::string_view name, int64_t computeCapability, int64_t ptxVersion,
                         int64_t sharedKiBPerBlock, int64_t sharedKiBPerSM) {
  TargetInfo info;
  info.name = name;
  info.kind = TargetKind::GPU;
  info.llvmCPU = name;
  info.computeCapability = computeCapability;
  info.ptxVersion = ptxVersion;
  info.sharedMemoryPerBlock = sharedKiBPerBlock * 1024;
  info.sharedMemoryPerSM = sharedKiBPerSM * 1024;
  info.registersPerSM = 64 * 1024;
  info.maxRegistersPerThread = 255;
  info.maxThreadsPerBlock = 1024;
  info.hasAsyncCopy = computeCapability >= 80;
  info.hasDependentLaunch = computeCapability >= 90;
  info.hasBF16MMA = computeCapability >= 80;
  return info;
}

constexpr auto makeTable() {
  std::array targets = {
      cpu("x86-64-v3", "x86-64-v3", "", featuresV3, 256),
      cpu("x86-64-v4", "x86-64-v4", "-prefer-256-bit", featuresV4, 512),
      cpu("x86-64-v4-bf16", "x86-64-v4", "-prefer-256-bit,+avx512bf16", featuresV4BF16, 512),
      cpu("x86-64-amx", "x86-64-v4", "-prefer-256-bit,+avx512bf16,+amx-tile,+amx-bf16", featuresAMX,
          512),
      gpu("sm_75", 75, 65, 64, 64),
      gpu("sm_80", 80, 75, 163, 164),
      gpu("sm_86", 86, 75, 99, 100),
      gpu("sm_89", 89, 78, 99, 100),
      gpu("sm_90", 90, 78, 227, 228),
      gpu("sm_90a", 90, 80, 227, 228),
      gpu("sm_100", 100, 86, 227, 228),
      gpu("sm_120", 120, 87, 99, 100),
  };
  targets[2].hasBF16Dot = true;
  targets[3].hasBF16Dot = true;
  targets[3].hasAMX = true;
  targets[3].l2Bytes = 2 * 1024 * 1024;
  return targets;
}

constexpr auto table = makeTable();

} // namespace

std::span<const TargetInfo> flashc::allTargets() { return table; }

const TargetInfo *flashc::lookupTarget(std::string_view name) {
  for (const TargetInfo &target : table)
    if (target.name == name)
      return &target;
  return nullptr;
}

std::string flashc::listTargetNames(std::string_view separator) {
  std::string names;
  for (const TargetInfo &target : table) {
    if (!names.empty())
      names += separator;
    names += target.name;
  }
  return names;
}
