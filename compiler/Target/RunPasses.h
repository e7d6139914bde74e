//===- RunPasses.h - LLVM's passes with their analyses ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_TARGET_RUNPASSES_H
#define FLASHC_COMPILER_TARGET_RUNPASSES_H

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace flashc {

/// Runs `passes` on `module`. Functions are known by name as `library` says; without one, as LLVM knows them on
/// the machine.
inline void runPasses(llvm::Module &module, llvm::TargetMachine &machine,
                      llvm::ModulePassManager passes,
                      const llvm::TargetLibraryInfoImpl *library = nullptr) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine);
  if (library)
    fam.registerPass([&] { return llvm::TargetLibraryAnalysis(*library); });
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  passes.run(module, mam);
}

} // namespace flashc

#endif // FLASHC_COMPILER_TARGET_RUNPASSES_H
