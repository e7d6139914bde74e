//===- Stages.h - the stages of compilation ---------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A stage is IR that a person can read, test and resume from. Its name is the value of --emit and --from, the
// name of its dump, and of its pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_PIPELINES_STAGES_H
#define FLASHC_COMPILER_PIPELINES_STAGES_H

#include <optional>
#include <string>
#include <string_view>

namespace flashc {

/// In the order of compilation: `vector`, `asm` and `obj` are for CPUs, `scheduled` and `ptx` for GPUs. From LLVMIR on
/// they are text or bytes, not MLIR.
enum class Stage { Flash, Online, Tiled, Tile, Vector, Scheduled, LLVM, LLVMIR, Asm, Obj, PTX };

constexpr std::string_view kStageNames[] = {"flash",  "online",    "tiled", "tile",
                                            "vector", "scheduled", "llvm",  "llvm-ir",
                                            "asm",    "obj",       "ptx"};
constexpr int kNumStages = 11;

/// Whether compilation for a GPU, or for a CPU, passes through the stage.
inline bool isOnPath(Stage stage, bool isGPU) {
  bool isGPUOnly = stage == Stage::Scheduled || stage == Stage::PTX;
  bool isCPUOnly = stage == Stage::Vector || stage == Stage::Asm || stage == Stage::Obj;
  return isGPU ? !isCPUOnly : !isGPUOnly;
}

inline std::string_view nameOf(Stage stage) { return kStageNames[static_cast<int>(stage)]; }

inline std::optional<Stage> parseStage(std::string_view name) {
  for (int i = 0; i < kNumStages; ++i)
    if (kStageNames[i] == name)
      return static_cast<Stage>(i);
  return std::nullopt;
}

/// Whether the stage is MLIR, so that compilation can resume from it.
inline bool isMLIR(Stage stage) { return stage <= Stage::LLVM; }

inline std::string listStages(bool onlyMLIR = false) {
  std::string result;
  for (int i = 0; i < kNumStages; ++i)
    if (!onlyMLIR || isMLIR(static_cast<Stage>(i)))
      result += (i ? ", " : "") + std::string(kStageNames[i]);
  return result;
}

} // namespace flashc

#endif // FLASHC_COMPILER_PIPELINES_STAGES_H
