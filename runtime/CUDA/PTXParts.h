//===- PTXParts.h - PTX divided for assembling side by side -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The time that ptxas takes grows faster than what it is given, and it arranges all of a kernel by its most crowded
// place. A function that a kernel calls can be assembled beside it, and linked.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_PTXPARTS_H
#define FLASHC_RUNTIME_CUDA_PTXPARTS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// PTX to be assembled by itself.
struct PTXPart {
  std::string text;
  /// Registers of a thread at most, as the launch bounds of the kernels ask that may call it; 0: no matter.
  int mostRegisters = 0;
};

/// Divides `ptx`, in the form in which LLVM prints it, into a part for each kernel and each function that is called, each
/// with declarations of what it calls. Nothing where no function is defined beside the kernels, where something else
/// than functions would be defined twice, or where kernels that are linked spill on `arch` ("sm_80"; "" is none).
std::vector<PTXPart> divideAtFunctions(std::string_view ptx, std::string_view arch);

/// Registers that a thread may have in functions of `ptx` that its kernels call; 0 where it has none.
int registersForFunctions(std::string_view ptx);

/// The module of which `parts` have a function each: the reverse.
std::string joinPTX(std::span<const std::string> parts);

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_PTXPARTS_H
