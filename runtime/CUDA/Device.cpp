//===- Device.cpp - the GPUs of this machine and what they run -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Device.h"
#include "runtime/API/Status.h"

#include <charconv>

namespace flashc::cuda {
namespace {

int readAttribute(const Driver &driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  driver.check(driver.cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute",
               " for attribute ", int(attribute));
  return value;
}

std::string describe(const DeviceFacts &facts) {
  return concat(facts.name, " (device ", facts.ordinal, ", compute capability ",
                toString(facts.capability), ")");
}

std::string describeNeed(std::string_view target) {
  const TargetCapability needed = parseTarget(target).value_or(TargetCapability{});
  const char *range = needed.suffix == 'a'   ? ""
                      : needed.suffix == 'f' ? " or a later one of the same major version"
                                             : " or later";
  return concat("compute capability ", toString(needed.least), range);
}

} // namespace

std::string toString(Capability capability) {
  return concat(capability.major, '.', capability.minor);
}

std::optional<TargetCapability> parseTarget(std::string_view target) {
  constexpr std::string_view prefix = "sm_";
  if (!target.starts_with(prefix))
    return std::nullopt;
  const char *begin = target.data() + prefix.size(), *end = target.data() + target.size();
  int number = 0;
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || number < 10 || number > 9999)
    return std::nullopt;
  TargetCapability result{{number / 10, number % 10}, 0};
  if (end - rest == 1 && (*rest == 'a' || *rest == 'f'))
    result.suffix = *rest;
  else if (rest != end)
    return std::nullopt;
  return result;
}

bool canRun(Capability capability, std::string_view target) {
  const std::optional<TargetCapability> needed = parseTarget(target);
  if (!needed)
    return false;
  switch (needed->suffix) {
  case 'a':
    return capability == needed->least;
  case 'f':
    return capability >= needed->least && capability.major == needed->least.major;
  default:
    return capability >= needed->least;
  }
}

DeviceFacts readFacts(const Driver &driver, int ordinal) {
  const CUdevice device = driver.device(ordinal);
  const auto read = [&](CUdevice_attribute attribute) {
    return readAttribute(driver, device, attribute);
  };
  DeviceFacts facts;
  facts.ordinal = ordinal;
  char name[256] = {};
  driver.check(driver.cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  facts.name = name;
  facts.capability = {read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  facts.multiprocessors = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  driver.check(driver.cuDeviceTotalMem(&facts.memoryBytes, device), "cuDeviceTotalMem");
  facts.sharedBytesPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.l2Bytes = read(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.clockGHz = read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e-6;
  // Two transfers a clock, on every memory that GPUs of capability 7.5 and later have.
  facts.memoryGBPerSecond = 2e-6 * read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                            (read(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0);
  return facts;
}

std::vector<DeviceFacts> listDevices(const Driver &driver) {
  std::vector<DeviceFacts> devices;
  for (int ordinal = 0; ordinal < driver.deviceCount(); ++ordinal)
    devices.push_back(readFacts(driver, ordinal));
  return devices;
}

const TargetInfo *bestTarget(Capability capability, std::span<const TargetInfo> targets) {
  const TargetInfo *best = nullptr;
  for (const TargetInfo &target : targets)
    if (target.kind == TargetKind::GPU && canRun(capability, target.name))
      best = &target;
  return best;
}

std::string bestDeviceTarget(int ordinal) {
  const DeviceFacts facts = readFacts(Driver::get("target cuda"), ordinal);
  if (const TargetInfo *best = bestTarget(facts.capability))
    return std::string(best->name);
  throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                    concat("expected a GPU that code can be generated for, got ", describe(facts),
                           "; use a CPU target"));
}

void checkRunsHere(std::string_view target, int ordinal) {
  const Driver &driver = Driver::get(concat("target ", target));
  std::string others;
  for (int device = 0; device < driver.deviceCount(); ++device) {
    if (ordinal >= 0 && device != ordinal)
      continue;
    const DeviceFacts facts = readFacts(driver, device);
    if (canRun(facts.capability, target))
      return;
    others += (others.empty() ? "" : ", ") + describe(facts);
  }
  if (others.empty())
    driver.device(ordinal); // says which devices there are
  throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                    concat("expected a GPU of ", describeNeed(target), " for target ", target,
                           ", got ", others, "; compile for target cuda, the device's best"));
}

} // namespace flashc::cuda
