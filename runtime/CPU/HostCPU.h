//===- HostCPU.h - what this machine's processor can run -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Features come from cpuid and count only where the operating system saves
// the registers they need (XCR0; for AMX also the kernel's permission), so
// that a kernel that passes the check cannot fault on its first instruction.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CPU_HOSTCPU_H
#define FLASHC_RUNTIME_CPU_HOSTCPU_H

#include "compiler/Target/TargetInfo.h"
#include "runtime/Support/DType.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// The processor this process runs on. Detected once; safe to use from any thread.
class HostCPU {
public:
  static const HostCPU &get();

  /// The brand string, such as "AMD EPYC 9654 96-Core Processor"; "unknown x86-64 CPU" if none.
  const std::string &brand() const { return brandString; }

  /// Names (LLVM's spelling: "avx2", "avx512f", "amx-tile", ...) of all usable features known to
  /// this table.
  const std::vector<std::string> &features() const { return featureNames; }

  bool hasFeature(std::string_view name) const;

  /// Those of `required` that this machine cannot use, unknown names included; empty if code that
  /// needs them may run. Asks the kernel for AMX tiles (once per process) where `required` has an
  /// AMX feature, so call it before running such code.
  std::vector<std::string> missingFeatures(std::span<const std::string_view> required) const;

  /// True if `target` is a CPU target whose features this machine has.
  bool canRun(const TargetInfo &target) const;

  /// Bf16 products that `vdpbf16ps` does in the time of an f32 multiply-add, per lane.
  double dotProductRate() const { return dotRate; }

  /// The targets that this machine runs, from the slowest to the fastest for inputs of `type`;
  /// empty on a machine below x86-64-v3.
  std::vector<const TargetInfo *> targetsFor(DType type) const;

private:
  HostCPU();

  std::string brandString;
  std::vector<std::string> featureNames;
  double dotRate;
};

/// All CPU targets, from the slowest to the fastest for inputs of `type` on a processor with this
/// rate of dot products; of equals, the more capable one is later.
std::vector<const TargetInfo *> orderTargets(DType type, double dotProductRate);

/// The last of HostCPU::get().targetsFor(type): what the target `cpu` means. Throws Error on a
/// machine below x86-64-v3.
const TargetInfo &bestHostTarget(DType type);

/// Number of processors that this thread may run on (its affinity mask), at least 1.
int hardwareConcurrency();

} // namespace flashc

#endif // FLASHC_RUNTIME_CPU_HOSTCPU_H
