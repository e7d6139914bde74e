//===- TargetsCommand.cpp - flashc targets --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/HostCPU.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Json.h"
#include "tools/flashc/Report.h"

#include <iostream>

namespace flashc::tool {
namespace {

std::string join(const std::vector<std::string> &words, const char *separator) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

void printTable() {
  const HostCPU &host = HostCPU::get();
  const TargetInfo *best = host.bestTarget();
  Table machine;
  machine.add({"cpu", host.brand()});
  machine.add({"processors", std::to_string(hardwareConcurrency())});
  machine.add({"features", join(host.features(), " ")});
  machine.add({"best target", best ? std::string(best->name) : "none: x86-64-v3 is needed"});
  machine.print(std::cout);
  std::cout << '\n';
  Table table;
  table.add({"target", "kind", "compiles", "runs here", "remarks"});
  for (const TargetInfo &target : allTargets()) {
    const bool isCPU = target.kind == TargetKind::CPU;
    std::string remark(target.unsupportedReason);
    if (isCPU) {
      const std::vector<std::string> missing = host.missingFeatures(target.requiredFeatures);
      if (!missing.empty())
        remark = "this machine lacks " + join(missing, ", ");
      else if (&target == best)
        remark = "the default";
    }
    table.add({std::string(target.name), isCPU ? "cpu" : "gpu", target.isSupported ? "yes" : "no",
               host.canRun(target) ? "yes" : "no", remark});
  }
  table.print(std::cout);
}

void printJson() {
  const HostCPU &host = HostCPU::get();
  const TargetInfo *best = host.bestTarget();
  nlohmann::ordered_json machine;
  machine["kind"] = "machine";
  machine["cpu"] = host.brand();
  machine["processors"] = hardwareConcurrency();
  machine["features"] = host.features();
  machine["best_target"] = best ? nlohmann::json(best->name) : nlohmann::json(nullptr);
  printJsonLine(machine, std::cout);
  for (const TargetInfo &target : allTargets()) {
    const bool isCPU = target.kind == TargetKind::CPU;
    nlohmann::ordered_json line;
    line["kind"] = isCPU ? "cpu" : "gpu";
    line["target"] = target.name;
    line["compiles"] = target.isSupported;
    line["reason"] = target.unsupportedReason;
    line["runs_here"] = host.canRun(target);
    line["best"] = &target == best;
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
Lists every target that --target takes: whether code can be generated for it, whether this machine runs
that code, and why not. '--target cpu', the default, is the best target of this machine.

--json prints one object a line: the machine (kind "machine": cpu, processors, features, best_target),
then every target (kind "cpu" or "gpu": target, compiles, reason, runs_here, best, missing_features and
the facts that schedules use).
)";
  command.ownFlags = {{"Output", {{"json", "", "One JSON object a line instead of a table."}}}};
  command.takesAttention = false;
  command.run = targets;
  return command;
}

} // namespace flashc::tool
