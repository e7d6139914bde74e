//===- KernelInfo.cpp - what a kernel object says of itself -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelInfo.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/JsonInteger.h"

#include <nlohmann/json.hpp>

namespace flashc {
namespace {

using Json = nlohmann::json;

constexpr int abiVersion = 2;
constexpr int64_t maxScratch = int64_t(1) << 30;
constexpr int64_t maxPhases = 64;
constexpr int64_t maxRank = 8;

KernelArgument parseArgument(const Json &json) {
  KernelArgument argument;
  argument.name = json.at("name").get<std::string>();
  const std::string typeName = json.at("dtype").get<std::string>();
  const std::optional<DType> type = parseDType(typeName);
  if (!type)
    fail("kernel object: expected an element type for ", argument.name, ", got '", typeName, "'");
  argument.dtype = *type;
  for (const Json &extent : json.at("static_shape"))
    argument.shape.push_back(integerOf(extent, concat("for each extent of ", argument.name)));
  const int64_t rank = integerOf(json.at("rank"), concat("for the rank of ", argument.name));
  if (static_cast<int64_t>(argument.shape.size()) != rank || rank > maxRank)
    fail("kernel object: expected as many extents as the rank of ", argument.name, ", at most ",
         maxRank, ", got ", argument.shape.size());
  const std::string role = json.at("role").get<std::string>();
  if (role != "input" && role != "output")
    fail("kernel object: expected the role input or output for ", argument.name, ", got '", role,
         "'");
  argument.isOutput = role == "output";
  return argument;
}

int64_t parseBounded(const Json &json, const char *key, int64_t low, int64_t high) {
  const int64_t value = integerOf(json.at(key), concat("for ", key));
  if (value < low || value > high)
    fail("kernel object: expected ", key, " from ", low, " to ", high, ", got ", value);
  return value;
}

cuda::LaunchPlan parseLaunchPlan(const Json &json, const KernelInfo &info) {
  std::vector<int64_t> ranks;
  for (const KernelArgument &argument : info.arguments)
    ranks.push_back(static_cast<int64_t>(argument.shape.size()));
  cuda::LaunchPlan plan = cuda::LaunchPlan::parse(json, ranks);
  if (plan.launches.size() != static_cast<size_t>(info.phases))
    fail("kernel object: expected a kernel for each of ", info.phases, " phases, got ",
         plan.launches.size());
  return plan;
}

/// The rank of every argument that the runtime knows by name.
int rankOf(std::string_view name) {
  if (name == "q" || name == "k" || name == "v" || name == "o" || name == "bias")
    return 4;
  if (name == "lse" || name == "row_max")
    return 3;
  if (name == "sinks" || name == "alibi" || name == "cu_seqlens_q" || name == "cu_seqlens_k" ||
      name == "seqused_k")
    return 1;
  if (name == "page_table")
    return 2;
  return -1;
}

void checkArguments(const KernelInfo &info) {
  for (const char *name : {"q", "k", "v", "o"})
    if (info.find(name) < 0)
      fail("kernel object: expected an argument ", name, ", got none");
  if ((info.find("cu_seqlens_q") < 0) != (info.find("cu_seqlens_k") < 0))
    fail("kernel object: expected cu_seqlens_q and cu_seqlens_k together, got one of them");
  for (size_t n = 0; n < info.arguments.size(); ++n) {
    const KernelArgument &argument = info.arguments[n];
    const int rank = rankOf(argument.name);
    if (rank >= 0 && argument.shape.size() != static_cast<size_t>(rank))
      fail("kernel object: expected rank ", rank, " for ", argument.name, ", got ",
           argument.shape.size());
    if (info.find(argument.name) != static_cast<int>(n))
      fail("kernel object: expected every argument once, got ", argument.name, " twice");
  }
  if (info.find("page_table") >= 0 &&
      (info.find("seqused_k") < 0 || info.find("cu_seqlens_q") >= 0))
    fail("kernel object: expected page_table with seqused_k and without cu_seqlens_q, got ",
         info.find("seqused_k") < 0 ? "no seqused_k" : "cu_seqlens_q");
  for (const char *name : {"cu_seqlens_q", "cu_seqlens_k", "seqused_k", "page_table"}) {
    const int index = info.find(name);
    if (index >= 0 && info.arguments[index].dtype != DType::I32 &&
        info.arguments[index].dtype != DType::I64)
      fail("kernel object: expected i32 or i64 for ", name, ", got ",
           nameOf(info.arguments[index].dtype));
  }
}

} // namespace

int KernelInfo::find(std::string_view name) const {
  for (size_t n = 0; n < arguments.size(); ++n)
    if (arguments[n].name == name)
      return static_cast<int>(n);
  return -1;
}

KernelInfo KernelInfo::parse(std::string_view text) {
  KernelInfo info;
  try {
    const Json json = Json::parse(text);
    const int64_t abi = integerOf(json.at("abi"), "for abi");
    if (abi != abiVersion)
      fail("kernel object: expected version ", abiVersion, " of the kernel interface, got ", abi,
           "; compile the kernel with this version of flashc");
    info.name = json.at("name").get<std::string>();
    info.target = json.at("target").get<std::string>();
    info.features = json.at("features").get<std::vector<std::string>>();
    info.schedule = json.at("schedule").get<std::string>();
    info.strategy = json.at("strategy").get<std::string>();
    info.scratchBytes = parseBounded(json, "scratch_bytes", 0, maxScratch);
    info.phases = static_cast<int>(parseBounded(json, "phases", 1, maxPhases));
    if (json.contains("split")) {
      info.split = parseBounded(json, "split", 0, int64_t(1) << 40);
      info.tileRows = parseBounded(json, "tile_rows", 1, int64_t(1) << 40);
    }
    for (const Json &argument : json.at("arguments"))
      info.arguments.push_back(parseArgument(argument));
    if (json.contains("kernels"))
      info.launchPlan = parseLaunchPlan(json, info);
  } catch (const Json::exception &error) {
    fail("kernel object: expected a description in flashc_kernel_info, got ", error.what(),
         "; was the object written by flashc?");
  }
  checkArguments(info);
  return info;
}

} // namespace flashc
