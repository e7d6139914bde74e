//===- TargetsCommand.cpp - flashc targets --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/HostCPU.h"
#include "runtime/CUDA/Device.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Json.h"
#include "tools/flashc/Report.h"

#include <algorithm>
#include <iostream>

namespace flashc::tool {
namespace {

/// The GPUs of this machine, or why there are none.
struct GPUs {
  std::string driver, reason; ///< one of them is ""
  std::vector<cuda::DeviceFacts> devices;

  GPUs() {
    const cuda::Driver *found = cuda::Driver::find(reason);
    if (!found)
      return;
    reason.clear();
    driver = found->version();
    devices = cuda::listDevices(*found);
  }

  bool canRun(const TargetInfo &target) const {
    return std::any_of(devices.begin(), devices.end(), [&](const cuda::DeviceFacts &device) {
      return cuda::canRun(device.capability, target.name);
    });
  }

  /// What --target cuda means.
  const TargetInfo *best() const {
    return devices.empty() ? nullptr : cuda::bestTarget(devices[0].capability);
  }
};

std::string join(const std::vector<std::string> &words, const char *separator) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string describe(const cuda::DeviceFacts &device) {
  const TargetInfo *best = cuda::bestTarget(device.capability);
  return concat(device.name, ", compute capability ", cuda::toString(device.capability), ", ",
                device.multiprocessors, " SMs at ", describeNumber(device.clockGHz), " GHz, ",
                describeBytes(static_cast<double>(device.memoryBytes)), " at ",
                describeNumber(device.memoryGBPerSecond), " GB/s, ",
                describeBytes(device.sharedBytesPerBlock), " of shared memory per block, ",
                describeBytes(device.l2Bytes), " of L2; best target ", best ? best->name : "none");
}

void addGPUs(const GPUs &gpus, Table &machine) {
  if (!gpus.reason.empty())
    machine.add({"gpu", "no NVIDIA driver (" + gpus.reason + ")"});
  else
    machine.add({"gpu driver", "CUDA " + gpus.driver});
  for (const cuda::DeviceFacts &device : gpus.devices)
    machine.add({concat("gpu ", device.ordinal), describe(device)});
}

/// Names of the targets that this machine runs, from the slowest to the fastest for inputs of `type`.
std::vector<std::string> namesFor(DType type) {
  std::vector<std::string> names;
  for (const TargetInfo *target : HostCPU::get().targetsFor(type))
    names.emplace_back(target->name);
  return names;
}

/// What the default is for inputs of `type`; "" on a machine below x86-64-v3.
std::string bestFor(DType type) {
  const std::vector<std::string> names = namesFor(type);
  return names.empty() ? "" : names.back();
}

/// The default: one target, or two where bf16 has its own.
std::string describeBest() {
  const std::string best = bestFor(DType::F32), forBF16 = bestFor(DType::BF16);
  if (best.empty())
    return "none: x86-64-v3 is needed";
  return best == forBF16 ? best : best + ", for bf16 " + forBF16;
}

void printTable() {
  const HostCPU &host = HostCPU::get();
  const GPUs gpus;
  const std::string best = bestFor(DType::F32), bestForBF16 = bestFor(DType::BF16);
  Table machine;
  machine.add({"cpu", host.brand()});
  machine.add({"processors", std::to_string(hardwareConcurrency())});
  machine.add({"features", join(host.features(), " ")});
  machine.add({"best target", describeBest()});
  addGPUs(gpus, machine);
  machine.print(std::cout);
  std::cout << '\n';
  Table table;
  table.add({"target", "kind", "runs here", "remarks"});
  for (const TargetInfo &target : allTargets()) {
    const bool isCPU = target.kind == TargetKind::CPU;
    std::string remark;
    if (isCPU) {
      const std::vector<std::string> missing = host.missingFeatures(target.requiredFeatures);
      if (!missing.empty())
        remark = "this machine lacks " + join(missing, ", ");
      else if (target.name == best)
        remark = best == bestForBF16 ? "the default" : "the default, except for bf16";
      else if (target.name == bestForBF16)
        remark = "the default for bf16";
    } else if (&target == gpus.best()) {
      remark = "what cuda means here";
    }
    table.add({std::string(target.name), isCPU ? "cpu" : "gpu",
               host.canRun(target) || gpus.canRun(target) ? "yes" : "no", remark});
  }
  table.print(std::cout);
}

void printDevicesJson(const GPUs &gpus) {
  for (const cuda::DeviceFacts &device : gpus.devices) {
    const TargetInfo *best = cuda::bestTarget(device.capability);
    nlohmann::ordered_json line;
    line["kind"] = "device";
    line["device"] = device.ordinal;
    line["name"] = device.name;
    line["compute_capability"] = cuda::toString(device.capability);
    line["multiprocessors"] = device.multiprocessors;
    line["clock_ghz"] = device.clockGHz;
    line["memory_bytes"] = device.memoryBytes;
    line["memory_gb_per_s"] = device.memoryGBPerSecond;
    line["shared_bytes_per_block"] = device.sharedBytesPerBlock;
    line["l2_bytes"] = device.l2Bytes;
    line["best_target"] = best ? nlohmann::json(best->name) : nlohmann::json(nullptr);
    printJsonLine(line, std::cout);
  }
}

void printJson() {
  const HostCPU &host = HostCPU::get();
  const GPUs gpus;
  const std::string best = bestFor(DType::F32);
  nlohmann::ordered_json machine;
  machine["kind"] = "machine";
  machine["cpu"] = host.brand();
  machine["processors"] = hardwareConcurrency();
  machine["features"] = host.features();
  machine["best_target"] = best.empty() ? nlohmann::json(nullptr) : nlohmann::json(best);
  for (const DType type : {DType::F32, DType::BF16})
    machine[concat(nameOf(type), "_targets")] = namesFor(type);
  machine["cuda_driver"] =
      gpus.driver.empty() ? nlohmann::json(nullptr) : nlohmann::json(gpus.driver);
  machine["no_cuda_driver"] = gpus.reason;
  printJsonLine(machine, std::cout);
  printDevicesJson(gpus);
  for (const TargetInfo &target : allTargets()) {
    const bool isCPU = target.kind == TargetKind::CPU;
    nlohmann::ordered_json line;
    line["kind"] = isCPU ? "cpu" : "gpu";
    line["target"] = target.name;
    line["runs_here"] = host.canRun(target) || gpus.canRun(target);
    line["best"] = target.name == best || &target == gpus.best();
    line["missing_features"] =
        isCPU ? host.missingFeatures(target.requiredFeatures) : std::vector<std::string>();
    if (isCPU) {
      line["vector_bits"] = target.vectorBits;
      line["vector_registers"] = target.numVectorRegisters;
      line["l1_bytes"] = target.l1Bytes;
      line["l2_bytes"] = target.l2Bytes;
    } else {
      line["shared_bytes_per_block"] = target.sharedMemoryPerBlock;
      line["registers_per_sm"] = target.registersPerSM;
    }
    printJsonLine(line, std::cout);
  }
}

void targets(Invocation &invocation) {
  if (invocation.arguments.has("json"))
    printJson();
  else
    printTable();
}

} // namespace

Command targetsCommand() {
  Command command;
  command.name = "targets";
  command.summary = "Show what this machine has and which targets there are.";
  command.usage = "[--json]";
  command.description = R"(
Lists the NVIDIA GPUs, and every target that --target takes: whether this machine runs its code, and why
not. '--target cpu', the default, is the best target of this machine's processor, '--target cuda' that of
its first GPU (of GPU n with --device n).

--json prints one object a line: the machine (kind "machine": cpu, processors, features, best_target,
f32_targets and bf16_targets, those that it runs from the slowest to the fastest for inputs of that type,
cuda_driver and, where that is null, the reason no_cuda_driver), every GPU (kind "device": device, name,
compute_capability, multiprocessors, clock_ghz, memory_bytes, memory_gb_per_s, shared_bytes_per_block,
l2_bytes, best_target), then every target (kind "cpu" or "gpu": target, runs_here, best, missing_features and
the facts that schedules use).
)";
  command.ownFlags = {{"Output", {{"json", "", "One JSON object a line instead of a table."}}}};
  command.takesAttention = false;
  command.run = targets;
  return command;
}

} // namespace flashc::tool
