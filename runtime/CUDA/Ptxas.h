//===- Ptxas.h - PTX compiled by the toolkit's assembler -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The program ptxas compiles PTX as a whole, as the driver does, or function by
// function. nvJitLink compiles it to be linked: kernels keep to a calling
// convention then, which costs registers and forbids setmaxnreg.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_PTXAS_H
#define FLASHC_RUNTIME_CUDA_PTXAS_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// The release in what ptxas says of its version, "12.4"; "" where there is none.
std::string readRelease(std::string_view version);

/// The process's ptxas: of the folder FLASHC_CUDA_PATH where that is set, else of /usr/local/cuda,
/// else on PATH. Safe from any thread.
class Ptxas {
public:
  static const Ptxas &get();

  bool isAvailable() const { return why.empty(); }

  /// Why there is no ptxas, for a message; "" where there is.
  const std::string &reason() const { return why; }

  /// What it says of itself; "" where there is none.
  const std::string &version() const { return versionText; }

  /// Whether the toolkit has nvlink beside it.
  bool canLink() const;

  /// The cubin of `ptx` for `arch` ("sm_90a"). Functions that kernels call are assembled beside them, where that
  /// costs the kernels nothing and canLink(). Throws Error with its log when the PTX is not
  /// acceptable, and with reason() where there is no ptxas.
  std::vector<std::byte> compile(std::string_view ptx, const std::string &arch) const;

private:
  Ptxas();

  std::string path, linker, why, versionText;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_PTXAS_H
