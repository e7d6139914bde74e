//===- LaunchPlan.h - how a GPU kernel is launched -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The part of a kernel's description that only GPUs have: per phase an entry of
// the device code with its block, grid and further parameters, and the workspace.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_LAUNCHPLAN_H
#define FLASHC_RUNTIME_CUDA_LAUNCHPLAN_H

#include "runtime/CUDA/HostExpr.h"

#include <string>

namespace flashc::cuda {

/// One launch. Blocks are counted in x alone.
struct Launch {
  std::string entry;        ///< name in the device code
  unsigned threads = 0;     ///< of a block
  unsigned sharedBytes = 0; ///< dynamic shared memory of a block
  HostExpr grid;            ///< blocks
  HostExpr facts;           ///< parameters after those of the arguments and the workspace
  bool isDependent = false; ///< waits itself for the launch before, and may begin before that ends
};

/// All launches of a run, one after another on the stream, and what they need.
struct LaunchPlan {
  std::vector<Launch> launches;
  HostExpr workspace; ///< bytes

  /// Reads "kernels" and "workspace" of a kernel's description; `ranks` are those of its arguments.
  /// Throws Error or a JSON exception where they are malformed.
  static LaunchPlan parse(const nlohmann::json &info, std::span<const int64_t> ranks);
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_LAUNCHPLAN_H
