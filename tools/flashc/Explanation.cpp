//===- Explanation.cpp - what explain knows of a problem ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Explanation.h"

#include "compiler/Driver/Compile.h"
#include "compiler/Target/GPUSchedules.h"
#include "tools/flashc/Json.h"
#include "tools/flashc/Report.h"

#include <algorithm>

namespace flashc::tool {
namespace {

/// What tiles are to fit into: the second-level cache, or a block's shared memory.
int64_t cacheBytes(const TargetInfo &target) {
  return target.kind == TargetKind::GPU ? target.sharedMemoryPerBlock : target.l2Bytes;
}

PaperBounds boundsOf(const Inputs &inputs, const TargetInfo &target) {
  double sq = 0, sk = 0;
  for (const Lengths &lengths : sequenceLengths(inputs)) { // the longest stand for all
    sq = std::max(sq, static_cast<double>(lengths.queries));
    sk = std::max(sk, static_cast<double>(lengths.keys));
  }
  const double d =
      static_cast<double>(std::max(inputs.desc.headDim, inputs.desc.resolvedValueDim()));
  PaperBounds bounds;
  bounds.cacheElements = static_cast<double>(cacheBytes(target)) / 4;
  bounds.standard = (sq + sk) * d + sq * sk;
  bounds.tiled = sq * sk * d * d / bounds.cacheElements;
  return bounds;
}

std::string describeSizes(const ScheduleSizes &sizes) {
  return concat("tile = [", sizes.tile[0], ", ", sizes.tile[1], "], micro = [", sizes.micro[0],
                ", ", sizes.micro[1], "]");
}

std::string ratio(double flops, double bytes) {
  return bytes > 0 ? describeNumber(flops / bytes) : "-";
}

} // namespace

Explanation makeExplanation(const Inputs &inputs) {
  const TargetInfo &target = *lookupTarget(inputs.desc.target);
  Explanation result = {inputs, target, readFront(inputs.desc), {}, 0, {}, {}, 0, 0, {}, 0, 0, {}};
  result.tiles = countTilesByCompiler(inputs, result.front.schedule);
  result.pairs = countPairsByCompiler(inputs);
  result.flops = countFlops(inputs, result.pairs);
  result.traffic =
      countTraffic(inputs, result.tiles.visited(),
                   {result.front.schedule.tile[0], result.front.schedule.rowsAreHeads});
  for (const Traffic &traffic : result.traffic) {
    result.standardBytes += traffic.standard;
    result.tiledBytes += traffic.tiled;
  }
  result.paper = boundsOf(inputs, target);
  const ScheduleProblem problem = scheduleProblem(inputs.desc);
  const ScheduleSizes &taken = result.front.schedule;
  if (target.kind == TargetKind::GPU) {
    result.workingSet = gpuSharedBytes(taken, target, problem);
    result.registers = gpuRegisters(taken, target, problem);
  } else {
    result.workingSet = workingSetBytes(taken, problem);
    result.registers = microRegisters(taken, target, problem);
  }
  result.candidates = considerSchedules(target, problem);
  const bool isListed = std::any_of(
      result.candidates.begin(), result.candidates.end(),
      [&](const ScheduleCandidate &candidate) { return candidate.sizes == result.front.schedule; });
  if (!isListed)
    result.candidates.insert(result.candidates.begin(), {"given", result.front.schedule, ""});
  return result;
}

void printExplanation(const Explanation &e, std::ostream &out) {
  Table head;
  head.add({"problem", describeProblem(e.inputs)});
  head.add({"target", std::string(e.target.name)});
  head.add({"schedule", e.front.scheduleText});
  head.add(
      {"operations", describeFlops(e.flops) + (e.pairs.exact ? "" : " at most: " + e.pairs.why)});
  head.add({"kept pairs", describeCount(e.pairs.kept) + " of " + describeCount(e.pairs.all)});
  head.print(out);

  out << "\nbytes through memory\n";
  Table bytes;
  bytes.add({"operand", "standard", "tiled"});
  for (const Traffic &traffic : e.traffic)
    bytes.add({traffic.operand, describeBytes(traffic.standard), describeBytes(traffic.tiled)});
  bytes.add({"all", describeBytes(e.standardBytes), describeBytes(e.tiledBytes)});
  bytes.add({"FLOP/byte", ratio(e.flops, e.standardBytes), ratio(e.flops, e.tiledBytes)});
  bytes.print(out, "  ");
  out << "  paper, elements per head, M = " << describeCount(e.paper.cacheElements)
      << ": standard Theta(N d + N^2) = " << describeCount(e.paper.standard)
      << ", tiled Theta(N^2 d^2 / M) = " << describeCount(e.paper.tiled) << '\n';

  out << "\ntiles of " << e.front.schedule.tile[0]
      << (e.front.schedule.rowsAreHeads ? " heads by " : " queries by ") << e.front.schedule.tile[1]
      << " keys\n";
  Table tiles;
  tiles.add({"empty", describeCount(e.tiles.empty), "never visited"});
  tiles.add({"full", describeCount(e.tiles.full), "never masked"});
  tiles.add({"partial", describeCount(e.tiles.partial), "masked per score"});
  tiles.print(out, "  ");
  out << "  " << (e.tiles.exact ? "exact" : "conservative: " + e.tiles.why) << '\n';

  out << "\nmachine\n";
  Table machine;
  const std::string workingSet = describeBytes(static_cast<double>(e.workingSet)),
                    most = "of " + describeBytes(static_cast<double>(cacheBytes(e.target)));
  if (e.target.kind == TargetKind::GPU) {
    machine.add({"shared memory", workingSet + " per block", most});
    machine.add({"registers", concat("about ", e.registers, " per thread"),
                 concat("of ", e.target.maxRegistersPerThread)});
  } else {
    machine.add({"working set", workingSet + " per thread", most + " second-level cache"});
    machine.add(
        {"vector registers", std::to_string(e.registers),
         concat("of ", e.target.numVectorRegisters, ", ", e.target.vectorBits, " bits each")});
  }
  machine.print(out, "  ");

  out << "\nschedules considered\n";
  Table schedules;
  for (const ScheduleCandidate &candidate : e.candidates) {
    const bool taken = candidate.sizes == e.front.schedule;
    schedules.add({candidate.name, describeSizes(candidate.sizes),
                   !candidate.rejection.empty() ? "rejected: " + candidate.rejection
                   : taken                      ? "taken"
                                                : "fits"});
  }
  schedules.print(out, "  ");

  if (!e.front.score.empty() || !e.front.mask.empty())
    out << "\nregions\n" << e.front.score << e.front.mask;
}

void printExplanationJson(const Explanation &e, std::ostream &out) {
  using Json = nlohmann::ordered_json;
  const Sizes &sizes = *e.inputs.sizes;
  const AttentionDesc &desc = e.inputs.desc;
  Json line;
  line["target"] = e.target.name;
  line["dtype"] = nameOf(desc.dtype);
  line["shape"] = {{"batch", sizes.batch},
                   {"sq", sizes.queries},
                   {"sk", sizes.keys},
                   {"hq", sizes.heads},
                   {"hkv", sizes.headsKv},
                   {"d", desc.headDim},
                   {"dv", desc.resolvedValueDim()},
                   {"packed", e.inputs.isPacked()}};
  line["schedule"] = e.front.scheduleText;
  line["flops"] = toJson(e.flops);
  line["pairs"] = {{"kept", toJson(e.pairs.kept)},
                   {"all", toJson(e.pairs.all)},
                   {"exact", e.pairs.exact},
                   {"why", e.pairs.why}};
  line["bytes"] = Json::array();
  for (const Traffic &traffic : e.traffic)
    line["bytes"].push_back({{"operand", traffic.operand},
                             {"standard", toJson(traffic.standard)},
                             {"tiled", toJson(traffic.tiled)}});
  line["bytes_standard"] = toJson(e.standardBytes);
  line["bytes_tiled"] = toJson(e.tiledBytes);
  line["flop_per_byte_standard"] = e.standardBytes > 0 ? e.flops / e.standardBytes : 0;
  line["flop_per_byte_tiled"] = e.tiledBytes > 0 ? e.flops / e.tiledBytes : 0;
  line["paper"] = {{"cache_elements", toJson(e.paper.cacheElements)},
                   {"standard", toJson(e.paper.standard)},
                   {"tiled", toJson(e.paper.tiled)}};
  line["tiles"] = {{"rows", e.front.schedule.tile[0]},
                   {"columns", e.front.schedule.tile[1]},
                   {"empty", toJson(e.tiles.empty)},
                   {"full", toJson(e.tiles.full)},
                   {"partial", toJson(e.tiles.partial)},
                   {"exact", e.tiles.exact},
                   {"why", e.tiles.why}};
  line["working_set_bytes"] = e.workingSet;
  line["cache_bytes"] = cacheBytes(e.target);
  line["micro_registers"] = e.registers;
  line["schedules"] = Json::array();
  for (const ScheduleCandidate &candidate : e.candidates)
    line["schedules"].push_back({{"name", candidate.name},
                                 {"tile", candidate.sizes.tile},
                                 {"micro", candidate.sizes.micro},
                                 {"taken", candidate.sizes == e.front.schedule},
                                 {"rejection", candidate.rejection}});
  line["score"] = e.front.score;
  line["mask"] = e.front.mask;
  printJsonLine(line, out);
}

} // namespace flashc::tool
