//===- ModuleCache.cpp - device code loaded once per device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/ModuleCache.h"
#include "runtime/API/Status.h"
#include "runtime/Support/Stopwatch.h"

#include <future>
#include <map>
#include <mutex>

namespace flashc::cuda {
namespace {

constexpr int sharedBytesWithoutAsking = 48 * 1024;

/// Lets this thread load code while other threads capture graphs, which would otherwise forbid it
/// or be broken by it.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver) {
    driver.check(driver.cuThreadExchangeStreamCaptureMode(&mode),
                 "cuThreadExchangeStreamCaptureMode");
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;
  ~RelaxedCapture() { driver.cuThreadExchangeStreamCaptureMode(&mode); }

private:
  const Driver &driver;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; ///< afterwards the former one
};

void checkDevice(const DeviceFacts &facts, const DeviceCode &code) {
  checkRunsHere(code.target, facts.ordinal);
  for (const Launch &launch : code.launches)
    if (launch.sharedBytes > static_cast<unsigned>(facts.sharedBytesPerBlock))
      throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                        concat("expected a GPU with ", launch.sharedBytes,
                               " bytes of shared memory per block for ", launch.entry, ", got ",
                               facts.name, " with ", facts.sharedBytesPerBlock,
                               "; compile for target cuda, the device's best"));
}

Entries load(const Driver &driver, int ordinal, const DeviceCode &code) {
  const Stopwatch watch;
  const DeviceFacts facts = readFacts(driver, ordinal);
  checkDevice(facts, code);
  const ContextScope context(driver, ordinal);
  const RelaxedCapture relaxed(driver);
  const LoadedModule loaded =
      loadModule(driver, facts, code.ptx, code.name, code.target, code.cubin);
  try {
    Entries entries;
    for (const Launch &launch : code.launches) {
      CUfunction &function = entries.functions.emplace_back();
      driver.check(driver.cuModuleGetFunction(&function, loaded.module, launch.entry.c_str()),
                   "cuModuleGetFunction", " for ", launch.entry);
      if (launch.sharedBytes > sharedBytesWithoutAsking)
        driver.check(driver.cuFuncSetAttribute(function,
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(launch.sharedBytes)),
                     "cuFuncSetAttribute", " for ", launch.entry, " with ", launch.sharedBytes,
                     " bytes of shared memory");
    }
    entries.facts = {loaded.maker, loaded.assembleSeconds,
                     watch.seconds() - loaded.assembleSeconds};
    return entries;
  } catch (...) {
    driver.cuModuleUnload(loaded.module);
    throw;
  }
}

/// Everything that tells codes apart: equal text may come with other launches.
std::string keyOf(const DeviceCode &code) {
  std::string key = concat(code.target, ' ', code.cubin.size());
  for (const Launch &launch : code.launches)
    key += concat(' ', launch.entry, ' ', launch.sharedBytes);
  return key + '\n' + code.ptx;
}

} // namespace

const Entries &loadEntries(const Driver &driver, int ordinal, const DeviceCode &code) {
  // Never destroyed: see the header.
  using Loading = std::shared_future<const Entries *>;
  static std::mutex &mutex = *new std::mutex;
  static auto &loaded = *new std::map<std::pair<int, std::string>, Loading>;
  const std::pair key(ordinal, keyOf(code));
  std::promise<const Entries *> promise;
  {
    std::unique_lock lock(mutex);
    if (const auto found = loaded.find(key); found != loaded.end()) {
      const Loading loading = found->second;
      lock.unlock();
      return *loading.get();
    }
    loaded.emplace(key, promise.get_future().share());
  }
  try {
    const Entries *entries = new Entries(load(driver, ordinal, code));
    promise.set_value(entries);
    return *entries;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex);
    loaded.erase(key);
    throw;
  }
}

} // namespace flashc::cuda
