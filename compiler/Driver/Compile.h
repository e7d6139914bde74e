//===- Compile.h - from a description or a stage to any stage ---*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The one way into the compiler, for the tool, the shared library and the tests. No MLIR in the interface.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_DRIVER_COMPILE_H
#define FLASHC_COMPILER_DRIVER_COMPILE_H

#include "compiler/Pipelines/Stages.h"
#include "compiler/Target/ScheduleTable.h"
#include "runtime/API/AttentionDesc.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

struct CompileOptions {
  Stage emit = Stage::Obj;
  /// Where not empty: a directory that gets one file per stage, named NN-STAGE.mlir (or .ll, .s).
  std::string dumpStages = {};
};

/// Compiles `desc` (validated; target resolved) up to a stage. Returns MLIR or assembly text, or the bytes
/// of an object. Throws Error.
std::string compileAttention(const AttentionDesc &desc, const CompileOptions &options);

/// Compiles MLIR text that is at stage `from`. `target` overrides the module's target where not empty and
/// the stage is `flash`; a module without a target needs it. `name` is the file's name in messages. Text
/// over 64 MiB or nested over 256 levels is refused before parsing. Throws Error.
std::string compileText(std::string_view text, std::string_view name, Stage from,
                        std::string_view target, const CompileOptions &options);

/// The type of the first argument of what MLIR text computes, q's: what resolveTarget asks for. The text is refused
/// as by compileText; f32 where it does not say, as from the stage llvm on.
DType inputTypeOf(std::string_view text, std::string_view name);

/// The object of `desc`, as `compile --emit obj` writes it. Throws Error.
std::vector<std::byte> compileToObject(const AttentionDesc &desc);

/// The fields that `text` names in the syntax of #flash.schedule; others have their defaults. Throws Error.
ScheduleSizes parseSchedule(std::string_view text);

/// What the schedule of `desc` must serve.
ScheduleProblem scheduleProblem(const AttentionDesc &desc);

/// What explain says of a mask: how many tiles of a shape are skipped, unmasked and masked.
struct MaskTileCounts {
  int64_t empty = 0, full = 0, partial = 0;
  bool exact = true;
  std::string why;
};

/// Counts the tiles of `desc`'s mask for batch x heads problems of sq by sk in tiles of br by bc.
MaskTileCounts countMaskTiles(const AttentionDesc &desc, int64_t batch, int64_t heads, int64_t sq,
                              int64_t sk, int64_t br, int64_t bc);

/// The name of the target that `target` means: its own, or for "" and "cpu" the host's best for inputs of
/// `type`, for "cuda" its first GPU's best. Throws Error for unknown targets.
std::string resolveTarget(std::string_view target, DType type);

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_COMPILE_H
