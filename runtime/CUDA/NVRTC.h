//===- NVRTC.h - CUDA C++ compiled at run time -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// NVRTC turns CUDA C++ into PTX or a cubin, without a GPU and without the rest
// of the toolkit. It is opened when first asked for.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_NVRTC_H
#define FLASHC_RUNTIME_CUDA_NVRTC_H

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace flashc {

/// CUDA C++ to compile.
struct CudaSource {
  std::string name; ///< the file's name in messages
  std::string text;
  std::vector<std::string> options; ///< "-DNAME=VALUE", ...
  /// What `#include` finds: name and text.
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The process's NVRTC. Safe from any thread.
class NVRTC {
public:
  static const NVRTC &get();

  bool isAvailable() const { return why.empty(); }

  /// Why NVRTC cannot be used, for a message; "" where it can.
  const std::string &reason() const { return why; }

  /// "13.0"; "" where there is none.
  const std::string &version() const { return versionText; }

  /// Compiles for `arch` ("sm_90", "sm_90a"). Throws Error, with the compiler's log, when the
  /// source or an option is not acceptable, and with reason() where there is no NVRTC.
  std::string compileToPTX(const CudaSource &source, const std::string &arch) const;
  std::vector<std::byte> compileToCubin(const CudaSource &source, const std::string &arch) const;

private:
  NVRTC();

  std::string why, versionText;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_NVRTC_H
