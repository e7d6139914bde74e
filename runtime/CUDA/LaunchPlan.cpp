//===- LaunchPlan.cpp - how a GPU kernel is launched -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/LaunchPlan.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/JsonInteger.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace flashc::cuda {
namespace {

using Json = nlohmann::json;

constexpr size_t maxLaunches = 64;
constexpr int64_t maxThreads = 1024;
constexpr int64_t maxSharedBytes = int64_t(1) << 20;
constexpr int64_t maxParameterBytes = 4096; // what every driver takes

unsigned parseBounded(const Json &json, const char *key, int64_t low, int64_t high) {
  const int64_t value = integerOf(json.at(key), concat("for ", key));
  if (value < low || value > high)
    fail("kernel object: expected ", key, " from ", low, " to ", high, ", got ", value);
  return static_cast<unsigned>(value);
}

/// PTX identifiers, so that messages can quote them: letters, digits, '_', '$' and '%'.
std::string parseEntry(const Json &json) {
  const std::string name = json.at("entry").get<std::string>();
  const bool isName =
      !name.empty() && name.size() <= 1024 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$' || c == '%';
      });
  if (!isName)
    fail("kernel object: expected the name of an entry in the device code, got '",
         name.substr(0, 100), "'");
  return name;
}

} // namespace

LaunchPlan LaunchPlan::parse(const Json &info, std::span<const int64_t> ranks) {
  LaunchPlan plan;
  // Of every argument and the workspace: an address, extents and strides.
  int64_t parameters = 3;
  for (const int64_t rank : ranks)
    parameters += 1 + 2 * rank;
  const Json &kernels = info.at("kernels");
  if (!kernels.is_array() || kernels.empty() || kernels.size() > maxLaunches)
    fail("kernel object: expected 1 to ", maxLaunches, " kernels, got ",
         kernels.is_array() ? kernels.size() : 0);
  for (const Json &kernel : kernels) {
    plan.launches.push_back({parseEntry(kernel), parseBounded(kernel, "threads", 1, maxThreads),
                             parseBounded(kernel, "shared_bytes", 0, maxSharedBytes),
                             HostExpr::parse(kernel.at("grid"), ranks),
                             HostExpr::parseAll(kernel.at("facts"), ranks),
                             kernel.at("dependent").get<bool>()});
    const int64_t facts = static_cast<int64_t>(plan.launches.back().facts.size());
    const int64_t bytes = (parameters + facts) * int64_t(sizeof(int64_t));
    if (bytes > maxParameterBytes)
      fail("kernel object: expected at most ", maxParameterBytes, " bytes of parameters, got ",
           bytes);
  }
  plan.workspace = HostExpr::parse(info.at("workspace"), ranks);
  return plan;
}

} // namespace flashc::cuda
