//===- HostCPU.cpp - what this machine's processor can run -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// cpuid bits: Intel SDM volume 2, CPUID; XCR0: volume 1, chapter 13. AMX needs
// arch_prctl (Linux 5.16) as well.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/HostCPU.h"

#include "runtime/Support/Error.h"

#include <algorithm>
#include <array>
#include <cpuid.h>
#include <cstring>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace flashc;

namespace {

/// Register state that the operating system must save for a feature (XCR0 bits).
enum State : uint64_t {
  noState = 0,
  ymmState = (1u << 1) | (1u << 2),
  zmmState = ymmState | (1u << 5) | (1u << 6) | (1u << 7),
  tileState = (1u << 17) | (1u << 18),
};

enum Register { eax, ebx, ecx, edx };

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

constexpr Feature knownFeatures[] = {
    {"sse4.2", 1, 0, ecx, 20, noState},      {"movbe", 1, 0, ecx, 22, noState},
    {"popcnt", 1, 0, ecx, 23, noState},      {"lzcnt", 0x80000001, 0, ecx, 5, noState},
    {"bmi", 7, 0, ebx, 3, noState},          {"bmi2", 7, 0, ebx, 8, noState},
    {"avx", 1, 0, ecx, 28, ymmState},        {"f16c", 1, 0, ecx, 29, ymmState},
    {"fma", 1, 0, ecx, 12, ymmState},        {"avx2", 7, 0, ebx, 5, ymmState},
    {"avxvnni", 7, 1, eax, 4, ymmState},     {"avx512f", 7, 0, ebx, 16, zmmState},
    {"avx512dq", 7, 0, ebx, 17, zmmState},   {"avx512cd", 7, 0, ebx, 28, zmmState},
    {"avx512bw", 7, 0, ebx, 30, zmmState},   {"avx512vl", 7, 0, ebx, 31, zmmState},
    {"avx512vnni", 7, 0, ecx, 11, zmmState}, {"avx512bf16", 7, 1, eax, 5, zmmState},
    {"avx512fp16", 7, 0, edx, 23, zmmState}, {"amx-bf16", 7, 0, edx, 22, tileState},
    {"amx-tile", 7, 0, edx, 24, tileState},  {"amx-int8", 7, 0, edx, 25, tileState},
    {"amx-fp16", 7, 1, eax, 21, tileState},
};

// asm/prctl.h; spelled out because older headers lack them.
constexpr int archGetXcompSupp = 0x1021;
constexpr int archReqXcompPerm = 0x1023;
constexpr int xfeatureTileData = 18;

std::array<uint32_t, 4> cpuid(uint32_t leaf, uint32_t subleaf) {
  std::array<uint32_t, 4> regs = {};
  if (!__get_cpuid_count(leaf, subleaf, &regs[eax], &regs[ebx], &regs[ecx], &regs[edx]))
    regs = {};
  return regs;
}

/// cpuid leaf 7 has subleaf 1 only where subleaf 0 says so in eax.
bool hasBit(const Feature &feature) {
  if (feature.leaf == 7 && feature.subleaf > cpuid(7, 0)[eax])
    return false;
  return cpuid(feature.leaf, feature.subleaf)[feature.reg] >> feature.bit & 1;
}

uint64_t readXCR0() {
  constexpr int osxsave = 27;
  if (!(cpuid(1, 0)[ecx] >> osxsave & 1))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool kernelKnowsTiles() {
  uint64_t supported = 0;
  return syscall(SYS_arch_prctl, archGetXcompSupp, &supported) == 0 &&
         (supported >> xfeatureTileData & 1);
}

/// Permission lasts for the process, so the kernel is asked once.
bool requestTilePermission() {
  static const bool granted = syscall(SYS_arch_prctl, archReqXcompPerm, xfeatureTileData) == 0;
  return granted;
}

bool isMadeByIntel() {
  const auto regs = cpuid(0, 0);
  return regs[ebx] == signature_INTEL_ebx && regs[edx] == signature_INTEL_edx &&
         regs[ecx] == signature_INTEL_ecx;
}

/// No bit of cpuid tells: Intel's cores issue vdpbf16ps once in the time of four multiply-adds
/// (measured on a Xeon with AMX; two products each, so half of them), AMD's from Zen 4
/// on as often as a multiply-add.
double measuredDotProductRate() { return isMadeByIntel() ? 0.5 : 2; }

/// Products per lane in the time of an f32 multiply-add, times the lanes.
double productRate(const TargetInfo &target, DType type, double dotProductRate) {
  constexpr double tileRate = 16;
  double rate = 1; // f16 is widened to f32 everywhere
  if (type == DType::BF16 && target.hasAMX)
    rate = tileRate;
  else if (type == DType::BF16 && target.hasBF16Dot)
    rate = dotProductRate;
  return rate * static_cast<double>(target.vectorLanesF32());
}

std::string readBrand() {
  if (cpuid(0x80000000, 0)[eax] < 0x80000004)
    return "unknown x86-64 CPU";
  std::string brand;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf)
    for (uint32_t word : cpuid(leaf, 0)) {
      char bytes[sizeof word];
      std::memcpy(bytes, &word, sizeof word);
      brand.append(bytes, sizeof bytes);
    }
  brand.resize(std::min(brand.size(), brand.find('\0')));
  size_t first = brand.find_first_not_of(' ');
  if (first == std::string::npos)
    return "unknown x86-64 CPU";
  return brand.substr(first, brand.find_last_not_of(' ') - first + 1);
}

} // namespace

HostCPU::HostCPU() : brandString(readBrand()), dotRate(measuredDotProductRate()) {
  uint64_t xcr0 = readXCR0();
  for (const Feature &feature : knownFeatures) {
    if ((xcr0 & feature.state) != feature.state || !hasBit(feature))
      continue;
    if (feature.state == tileState && !kernelKnowsTiles())
      continue;
    featureNames.emplace_back(feature.name);
  }
}

const HostCPU &HostCPU::get() {
  static const HostCPU host;
  return host;
}

bool HostCPU::hasFeature(std::string_view name) const {
  return std::find(featureNames.begin(), featureNames.end(), name) != featureNames.end();
}

std::vector<std::string>
HostCPU::missingFeatures(std::span<const std::string_view> required) const {
  std::vector<std::string> missing;
  for (std::string_view name : required) {
    bool usable = hasFeature(name) && (!name.starts_with("amx-") || requestTilePermission());
    if (!usable)
      missing.emplace_back(name);
  }
  return missing;
}

bool HostCPU::canRun(const TargetInfo &target) const {
  return target.kind == TargetKind::CPU &&
         std::all_of(target.requiredFeatures.begin(), target.requiredFeatures.end(),
                     [&](std::string_view name) { return hasFeature(name); });
}

std::vector<const TargetInfo *> HostCPU::targetsFor(DType type) const {
  std::vector<const TargetInfo *> targets = orderTargets(type, dotRate);
  std::erase_if(targets, [&](const TargetInfo *target) { return !canRun(*target); });
  return targets;
}

std::vector<const TargetInfo *> flashc::orderTargets(DType type, double dotProductRate) {
  std::vector<const TargetInfo *> targets;
  for (const TargetInfo &target : allTargets())
    if (target.kind == TargetKind::CPU)
      targets.push_back(&target);
  std::ranges::sort(targets, {}, [&](const TargetInfo *target) {
    return std::pair(productRate(*target, type, dotProductRate),
                     target); // equals in the table's order
  });
  return targets;
}

const TargetInfo &flashc::bestHostTarget(DType type) {
  const std::vector<const TargetInfo *> targets = HostCPU::get().targetsFor(type);
  if (!targets.empty())
    return *targets.back();
  std::string missing;
  for (const std::string &name :
       HostCPU::get().missingFeatures(lookupTarget("x86-64-v3")->requiredFeatures))
    missing += " " + name;
  fail("expected a processor with AVX2 and FMA (x86-64-v3), got ", HostCPU::get().brand(),
       " without", missing, "; name a target with --target to compile for another machine");
}

int flashc::hardwareConcurrency() {
  // The mask of a machine with more than 1024 processors needs a larger set.
  for (int capacity = 1024; capacity <= (1 << 20); capacity *= 4) {
    cpu_set_t *set = CPU_ALLOC(capacity);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(capacity);
    int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0)
      return count;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}
