//===- Assembler.h - what ptxas makes of PTX --------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Runs the toolkit's ptxas and, where it is there, cuobjdump, and reads what they say.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_TARGET_NVPTX_ASSEMBLER_H
#define FLASHC_TEST_TARGET_NVPTX_ASSEMBLER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashc::test {

/// The path of a program of the CUDA toolkit, on PATH or in /usr/local/cuda/bin; "" where it is absent.
std::string findToolkitProgram(std::string_view name);

/// A range of instructions that a backward branch closes, with what matters of them.
struct SassLoop {
  std::string function;
  int64_t begin = 0, end = 0; ///< addresses of the first and the last instruction
  int64_t instructions = 0;
  int64_t matrixProducts = 0, exponentials = 0, maxima = 0, spills = 0;
};

/// The loops of a listing by `cuobjdump -sass`.
std::vector<SassLoop> findSassLoops(std::string_view listing);

/// What came of assembling.
struct Assembly {
  bool succeeded = false;
  std::string log;        ///< of ptxas -v, and nvlink's
  int64_t spillBytes = 0; ///< stores and loads, of all functions
  bool hasListing = false;
  std::vector<SassLoop> loops; ///< with a listing
};

/// Assembles `ptx` as the runtime does, functions beside the kernels that call them; lists its code where `cuobjdump` is not "".
Assembly assemble(const std::string &ptxas, const std::string &cuobjdump, std::string_view ptx,
                  std::string_view arch);

/// The sum of the numbers of bytes that the log names as spills.
int64_t countSpillBytes(std::string_view log);

} // namespace flashc::test

#endif // FLASHC_TEST_TARGET_NVPTX_ASSEMBLER_H
