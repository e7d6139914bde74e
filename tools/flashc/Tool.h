//===- Tool.h - the flashc command line -------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_TOOL_H
#define FLASHC_TOOLS_FLASHC_TOOL_H

#include <span>
#include <string>

namespace flashc::tool {

/// Runs `flashc ARGS...`; `version` is what --version prints. Returns the exit code, 0 or 1. An error is one
/// message on standard error, "flashc: error: ...", and, once a run has begun, the command that repeats it.
int runTool(std::span<const std::string> args, const std::string &version);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_TOOL_H
