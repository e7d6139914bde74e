//===- KernelCache.cpp - kernels, one per description and process -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelCache.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/API/ObjectCache.h"
#include "runtime/API/Provider.h"
#include "runtime/API/Status.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CUDA/Device.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <unordered_map>

namespace flashc {
namespace {

constexpr size_t maxKernels = 256;

using KernelPtr = std::shared_ptr<const Kernel>;

/// Frees a compiler's buffer however the scope ends.
struct ScopedBuffer : flashc_buffer {
  explicit ScopedBuffer(decltype(CompilerProvider::free) free)
      : flashc_buffer{nullptr, 0}, free(free) {}
  ScopedBuffer(const ScopedBuffer &) = delete;
  ScopedBuffer &operator=(const ScopedBuffer &) = delete;
  ~ScopedBuffer() { free(this); }
  decltype(CompilerProvider::free) free;
};

ObjectBytes compileBy(const CompilerProvider &provider, const std::string &json) {
  ScopedBuffer object(provider.free), error(provider.free);
  if (provider.compile(json.data(), json.size(), &object, &error) != 0)
    throw StatusError(FLASHC_ERROR_COMPILE,
                      error.size ? std::string(static_cast<const char *>(error.data), error.size)
                                 : "the compiler failed without a message");
  const auto *begin = static_cast<const std::byte *>(object.data);
  return {begin, begin + object.size};
}

/// From the disk, else by the compiler, which is opened only then.
KernelPtr makeKernel(const AttentionDesc &desc, const std::string &json) {
  if (const std::optional<MadeObject> kept = findObject(desc, compilerIdentity()))
    return std::make_shared<const Kernel>(kept->bytes);
  const CompilerProvider provider = compilerProvider();
  return std::make_shared<const Kernel>(
      objectFor(desc, provider.identity, [&] { return compileBy(provider, json); }).bytes);
}

class Cache {
public:
  KernelPtr get(const AttentionDesc &desc) {
    const std::string json = desc.toJson();
    std::promise<KernelPtr> promise;
    {
      std::unique_lock lock(mutex);
      if (const auto found = entries.find(json); found != entries.end()) {
        found->second.lastUse = ++clock;
        const std::shared_future<KernelPtr> kernel = found->second.kernel;
        lock.unlock();
        return kernel.get();
      }
      evict();
      entries.emplace(json, Entry{promise.get_future().share(), ++clock});
    }
    try {
      const KernelPtr kernel = makeKernel(desc, json);
      promise.set_value(kernel);
      return kernel;
    } catch (...) {
      // Those who wait get the error too; later calls try again.
      promise.set_exception(std::current_exception());
      const std::lock_guard lock(mutex);
      entries.erase(json);
      throw;
    }
  }

private:
  struct Entry {
    std::shared_future<KernelPtr> kernel;
    uint64_t lastUse;
  };

  /// Makes room for one more. Whoever holds or awaits a dropped kernel keeps it.
  void evict() {
    while (entries.size() >= maxKernels)
      entries.erase(std::min_element(entries.begin(), entries.end(), [](auto &a, auto &b) {
        return a.second.lastUse < b.second.lastUse;
      }));
  }

  std::mutex mutex;
  std::unordered_map<std::string, Entry> entries;
  uint64_t clock = 0;
};

/// `desc` with its target named, after a check that this host can run it.
AttentionDesc resolveTarget(AttentionDesc desc) {
  if (desc.target.empty() || desc.target == "cpu") {
    desc.target = bestHostTarget(desc.dtype).name;
    return desc;
  }
  if (desc.target == "cuda") {
    desc.target = cuda::bestDeviceTarget();
    return desc;
  }
  const TargetInfo *target = lookupTarget(desc.target);
  if (!target)
    fail("target: expected cpu, cuda or one of ", listTargetNames(), ", got '",
         desc.target.substr(0, 100), "'");
  if (target->kind == TargetKind::GPU)
    cuda::checkRunsHere(target->name);
  else if (!HostCPU::get().canRun(*target))
    throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                      concat("target: expected one that this machine runs, got ", target->name,
                             "; leave it out for the best one"));
  return desc;
}

} // namespace

KernelPtr compileKernel(const AttentionDesc &desc) {
  desc.validate();
  // Never destroyed: threads may still compile while the process ends.
  static Cache &cache = *new Cache;
  return cache.get(resolveTarget(desc));
}

} // namespace flashc
