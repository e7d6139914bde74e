//===- ModuleLoader.cpp - PTX made into code of a device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/ModuleLoader.h"
#include "runtime/API/Status.h"
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/CUDA/PTXParts.h"
#include "runtime/CUDA/Ptxas.h"
#include "runtime/Cache/DiskCache.h"
#include "runtime/Support/Stopwatch.h"

#include <charconv>

namespace flashc::cuda {
namespace {

/// What the machine code is for: the device, or exactly the target where it asks for that.
std::string archOf(const DeviceFacts &facts, const std::string &target) {
  const std::optional<TargetCapability> needed = parseTarget(target);
  return needed && needed->suffix
             ? target
             : concat("sm_", 10 * facts.capability.major + facts.capability.minor);
}

/// The text with its last blanks gone.
std::string trimmed(std::string text) {
  text.resize(text.find_last_not_of(" \n\r\t") + 1);
  return text;
}

/// Where the driver writes why it refuses something.
class ErrorLog {
  std::string buffer = std::string(16384, '\0'); // first: the values point there

public:
  static constexpr unsigned count = 2;
  CUjit_option options[count] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // Sizes travel in the pointers themselves.
  void *values[count] = {buffer.data(), reinterpret_cast<void *>(buffer.size() - 1)};

  ErrorLog() = default;
  ErrorLog(const ErrorLog &) = delete;
  ErrorLog &operator=(const ErrorLog &) = delete;
  std::string text() const { return trimmed(buffer.c_str()); }
};

/// PTX text or a cubin into a module. Leaves why it was refused in `log`.
CUresult load(const Driver &driver, const void *image, CUmodule &module, std::string &log) {
  ErrorLog errors;
  const CUresult result =
      driver.cuModuleLoadDataEx(&module, image, errors.count, errors.options, errors.values);
  log = errors.text();
  return result;
}

/// A module of `parts` that the driver compiles and links; false where it cannot.
bool link(const Driver &driver, std::span<const PTXPart> parts, CUmodule &module) {
  ErrorLog errors;
  CUlinkState state = nullptr;
  if (driver.cuLinkCreate(errors.count, errors.options, errors.values, &state) != CUDA_SUCCESS)
    return false;
  CUresult result = CUDA_SUCCESS;
  for (const PTXPart &part : parts) {
    if (result != CUDA_SUCCESS)
      break;
    CUjit_option options[] = {CU_JIT_MAX_REGISTERS};
    void *values[] = {reinterpret_cast<void *>(static_cast<size_t>(part.mostRegisters))};
    result = driver.cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char *>(part.text.c_str()),
                                  part.text.size() + 1, "kernel.ptx", part.mostRegisters ? 1 : 0,
                                  options, values);
  }
  void *cubin = nullptr;
  size_t size = 0;
  if (result == CUDA_SUCCESS)
    result = driver.cuLinkComplete(state, &cubin, &size);
  std::string log;
  if (result == CUDA_SUCCESS)
    result = load(driver, cubin, module, log);
  driver.cuLinkDestroy(state); // and the cubin with it
  return result == CUDA_SUCCESS;
}

/// PTX by the driver, in parts where that makes better code (see PTXParts.h), else as a whole.
CUresult loadPTX(const Driver &driver, const std::string &ptx, const std::string &arch,
                 CUmodule &module, std::string &log) {
  const std::vector<PTXPart> parts = divideAtFunctions(ptx, arch);
  if (!parts.empty() && link(driver, parts, module))
    return CUDA_SUCCESS;
  return load(driver, ptx.c_str(), module, log);
}

/// By ptxas; no module and the reason where that is not possible.
LoadedModule loadCubin(const Driver &driver, const DeviceFacts &facts, const std::string &ptx,
                       const std::string &target, std::string &reason) {
  LoadedModule loaded;
  const Stopwatch watch; // finding ptxas and its version counts
  if (!canMakeCubins(reason))
    return loaded;
  const std::string release = readRelease(Ptxas::get().version());
  const int version = driver.versionNumber();
  if (!loadsCubinsOf(release, version)) {
    reason = concat("its CUDA ", release, " is newer than the driver's ", driver.version());
    return loaded;
  }
  try {
    const MadeCubin cubin = makeCubin(ptx, archOf(facts, target), version, {}, DiskCache::ofUser());
    loaded.assembleSeconds = watch.seconds();
    loaded.maker = cubin.isFromCache ? CodeMaker::Cache : CodeMaker::Ptxas;
    std::string log;
    const CUresult result = load(driver, cubin.bytes.data(), loaded.module, log);
    if (result == CUDA_SUCCESS)
      return loaded;
    reason = concat("its cubin gave ", driver.nameOf(result), log.empty() ? "" : ": ", log);
  } catch (const Error &error) {
    reason = error.what(); // an old ptxas: the driver may know more
  }
  return {nullptr, CodeMaker::Driver, watch.seconds()};
}

/// The cubin that came with the PTX; nullptr with the reason where it will not do.
CUmodule loadAhead(const Driver &driver, const DeviceFacts &facts, std::span<const std::byte> cubin,
                   const std::string &target, std::string &reason) {
  const std::optional<TargetCapability> made = parseTarget(target);
  // Unlike PTX, machine code is for one major version.
  if (!made || made->least.major != facts.capability.major || !canRun(facts.capability, target)) {
    reason = "it is for " + target;
    return nullptr;
  }
  CUmodule module = nullptr;
  std::string log;
  const CUresult result = load(driver, cubin.data(), module, log);
  if (result == CUDA_SUCCESS)
    return module;
  reason = concat(driver.nameOf(result), log.empty() ? "" : ": ", log);
  return nullptr;
}

} // namespace

bool loadsCubinsOf(std::string_view release, int driverVersion) {
  int major = 0;
  const auto [end, error] = std::from_chars(release.data(), release.data() + release.size(), major);
  return error == std::errc() && major <= driverVersion / 1000;
}

LoadedModule loadModule(const Driver &driver, const DeviceFacts &facts, const std::string &ptx,
                        const std::string &name, const std::string &target,
                        std::span<const std::byte> cubin) {
  std::string reason, log, whyNotAhead;
  if (!cubin.empty())
    if (const CUmodule module = loadAhead(driver, facts, cubin, target, whyNotAhead))
      return {module, CodeMaker::Ahead};
  LoadedModule loaded = loadCubin(driver, facts, ptx, target, reason);
  if (loaded.module)
    return loaded;
  const CUresult result = loadPTX(driver, ptx, archOf(facts, target), loaded.module, log);
  if (result == CUDA_SUCCESS)
    return loaded;
  const bool isOld = result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  driver.check(result, "cuModuleLoadDataEx", " for ", name, " (", target, ") on ", facts.name,
               log.empty() ? "" : ": ", log,
               isOld ? concat("; this driver takes the PTX of CUDA ", driver.version(),
                              " and before: install a newer one")
                     : "",
               "; ptxas was not used (", reason, ")",
               whyNotAhead.empty() ? ""
                                   : "; the cubin that came with it was not (" + whyNotAhead + ")");
  return loaded;
}

} // namespace flashc::cuda
