//===- NVJitLink.h - PTX and cubins linked into one cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// nvJitLink holds ptxas and the device linker, as a library that needs no GPU.
// It is opened when first asked for.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_NVJITLINK_H
#define FLASHC_RUNTIME_CUDA_NVJITLINK_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// One input of a link; cubins are told from PTX by their first bytes. The bytes are not owned.
struct LinkInput {
  std::string name; ///< in messages
  std::span<const std::byte> bytes;
};

/// Whether `arch` is the name of an architecture, such as "sm_90" or "sm_90a", if not of one that there is.
bool isArchitecture(std::string_view arch);

/// The process's nvJitLink. Safe from any thread.
class NVJitLink {
public:
  static const NVJitLink &get();

  bool isAvailable() const { return why.empty(); }

  /// Why nvJitLink cannot be used, for a message; "" where it can.
  const std::string &reason() const { return why; }

  /// "13.0"; "" where there is none.
  const std::string &version() const { return versionText; }

  /// Links `inputs` for `arch` ("sm_90", "sm_90a"); `options` go to nvJitLink as they are. Throws
  /// Error, with the linker's log, when they do not go together, and with reason() where there is
  /// no nvJitLink.
  std::vector<std::byte> link(std::span<const LinkInput> inputs, const std::string &arch,
                              std::span<const std::string> options = {}) const;

private:
  NVJitLink();

  std::string why, versionText;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_NVJITLINK_H
