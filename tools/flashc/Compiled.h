//===- Compiled.h - what the subcommands ask of the compiler ----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The few questions to the compiler that more than one subcommand has, over compiler/Driver/Compile.h.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_COMPILED_H
#define FLASHC_TOOLS_FLASHC_COMPILED_H

#include "compiler/Target/ScheduleTable.h"
#include "runtime/API/ObjectCache.h"
#include "tools/flashc/Cost.h"

namespace flashc::tool {

/// The object that `flashc compile --emit obj` writes for `desc`, whose target is named: compiled, or from the
/// user's cache. With `dumpStages` it is compiled, and the stages go to that folder.
MadeObject makeObject(const AttentionDesc &desc, const std::string &dumpStages = "");

/// countPairs with the compiler's analysis for mask expressions.
PairCount countPairsByCompiler(const Inputs &inputs);

/// How the tiles of all sequences fare under the mask.
struct TileCounts {
  double empty = 0, full = 0, partial = 0;
  bool exact = true;
  std::string why; ///< where not exact: the reason

  double all() const { return empty + full + partial; }
  /// The part of all tiles that is visited, 1 where there is no tile.
  double visited() const { return all() > 0 ? (full + partial) / all() : 1; }
};
TileCounts countTilesByCompiler(const Inputs &inputs, const ScheduleSizes &sizes);

/// What the compiler makes of a description before any pass has run.
struct Front {
  ScheduleSizes schedule;
  std::string scheduleText; ///< the body of #flash.schedule
  std::string score, mask;  ///< the regions' text, "" where there is none
};
Front readFront(const AttentionDesc &desc);

/// The text of the region `name` ("score", "mask") of the first attention op in `text`, indented anew; ""
/// where there is none.
std::string extractRegion(const std::string &text, const std::string &name);

/// The body of the first #flash.schedule<...> in `text`, or `text` where there is none.
std::string extractSchedule(const std::string &text);

/// The fields of such a body. Throws Error where tile is not among them.
ScheduleSizes parseScheduleBody(const std::string &body);

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_COMPILED_H
