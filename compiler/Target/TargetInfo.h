//===- TargetInfo.h - the one table of machine facts -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every fact about a machine that a pass, a schedule or a report uses stands
// here, by target name. Plain C++: the runtime shows the same table without
// LLVM. A CPU target promises only what its name says; what the host has is
// asked of runtime/CPU/HostCPU.h.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_TARGET_TARGETINFO_H
#define FLASHC_COMPILER_TARGET_TARGETINFO_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flashc {

enum class TargetKind { CPU, GPU };

/// Threads of a warp, on all NVIDIA GPUs.
constexpr int64_t kWarpSize = 32;

/// The facts of one target. Sizes are bytes unless the name says otherwise; a
/// fact that does not apply to the kind of machine is 0, false or empty.
struct TargetInfo {
  std::string_view name;
  TargetKind kind = TargetKind::CPU;

  //===--- CPU ---===//

  /// LLVM's CPU name and the feature string beside it.
  std::string_view llvmCPU = {};
  std::string_view llvmFeatures = {};
  /// What a host must have to run the code, by the names of HostCPU.h.
  std::span<const std::string_view> requiredFeatures = {};
  /// Width and number of the architectural vector registers.
  int64_t vectorBits = 0;
  int64_t numVectorRegisters = 0;
  /// Cache sizes that schedules may assume per core (lower bounds of the machines sold).
  int64_t l1Bytes = 0;
  int64_t l2Bytes = 0;
  /// AVX-512 BF16: `vdpbf16ps` and native f32 -> bf16 conversion.
  bool hasBF16Dot = false;
  /// AMX tiles with bf16 products.
  bool hasAMX = false;

  //===--- GPU ---===//

  /// Shared memory that one block can have at most (opt-in size), and that one SM has.
  int64_t sharedMemoryPerBlock = 0;
  int64_t sharedMemoryPerSM = 0;
  /// 32-bit registers of one SM, and of one thread at most.
  int64_t registersPerSM = 0;
  int64_t maxRegistersPerThread = 0;
  int64_t maxThreadsPerBlock = 0;
  /// Compute capability times 10 (80 for sm_80), and the lowest PTX version that knows it, times 10.
  int64_t computeCapability = 0;
  int64_t ptxVersion = 0;
  /// cp.async, and mma.sync with bf16 and with k = 16.
  bool hasAsyncCopy = false;
  bool hasBF16MMA = false;
  /// griddepcontrol: a launch may begin before the one that it depends on ends.
  bool hasDependentLaunch = false;

  /// f32 lanes of one vector register.
  int64_t vectorLanesF32() const { return vectorBits / 32; }
};

/// All targets, CPUs first, each kind from the least to the most capable.
std::span<const TargetInfo> allTargets();

/// The target called `name`, or nullptr. The names `cpu` and `cuda` are no targets: they mean the
/// host's best, which the caller asks of the runtime.
const TargetInfo *lookupTarget(std::string_view name);

/// The names of all targets, `separator` between them, for error messages.
std::string listTargetNames(std::string_view separator = ", ");

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_TARGETINFO_H
