//===- CubinLoader.cpp - from the compiler's PTX to a cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/CUDA/NVJitLink.h"
#include "runtime/CUDA/PTXParts.h"
#include "runtime/CUDA/Ptxas.h"
#include "runtime/Cache/ContentHash.h"
#include "runtime/Cache/DiskCache.h"
#include "runtime/Support/Error.h"

#include <functional>

namespace flashc {
namespace {

/// Grows when the same inputs begin to give another result, as with other options.
constexpr const char *recipe = "2";

void addSource(ContentHash &hash, const CudaSource &source) {
  hash.add("source", source.name).add("text", source.text);
  for (const std::string &option : source.options)
    hash.add("option", option);
  for (const auto &[name, text] : source.headers)
    hash.add("header", name).add("text", text);
}

/// The first kernel of PTX text, for people.
std::string kernelName(std::string_view ptx) {
  constexpr std::string_view mark = ".entry ";
  const size_t at = ptx.find(mark);
  if (at == std::string_view::npos)
    return "";
  const std::string_view rest = ptx.substr(at + mark.size(), 200);
  return ' ' + std::string(rest.substr(0, rest.find_first_of(" (\n\r\t")));
}

/// What makes a cubin, by name and version.
struct Maker {
  std::string version;
  std::function<std::vector<std::byte>()> make;
};

Maker makerFor(std::string_view ptx, const std::string &arch, std::span<const CudaSource> sources,
               const DiskCache &cache) {
  // The libraries are large: none is opened, to ask for its version, that this cubin does not need.
  if (sources.empty())
    if (const Ptxas &ptxas = Ptxas::get(); ptxas.isAvailable())
      return {concat("ptxas ", ptxas.version(), ptxas.canLink() ? " and nvlink" : ""),
              [&, ptx] { return ptxas.compile(ptx, arch); }};
  if (ptx.empty() && sources.size() == 1)
    if (const NVRTC &nvrtc = NVRTC::get(); nvrtc.isAvailable())
      return {"nvrtc " + nvrtc.version(),
              [&, sources] { return nvrtc.compileToCubin(sources[0], arch); }};
  const NVJitLink &linker = NVJitLink::get();
  std::string reason = linker.reason(), version = "nvjitlink " + linker.version();
  if (!sources.empty()) {
    const NVRTC &nvrtc = NVRTC::get();
    if (reason.empty())
      reason = nvrtc.reason();
    version += " nvrtc " + nvrtc.version();
  }
  if (!reason.empty())
    throw Error(reason);
  return {version, [&, ptx, sources] {
            std::vector<std::string> compiled;
            std::vector<LinkInput> inputs;
            if (!ptx.empty())
              inputs.push_back({"kernel.ptx", std::as_bytes(std::span(ptx))});
            for (const CudaSource &source : sources)
              compiled.push_back(ptxFor(source, arch, cache));
            for (size_t n = 0; n < sources.size(); ++n)
              inputs.push_back({sources[n].name + ".ptx", std::as_bytes(std::span(compiled[n]))});
            // A kernel's registers bound those of what it calls, which is compiled without knowing it.
            std::vector<std::string> options;
            if (const int most = registersForFunctions(ptx))
              options.push_back(concat("-maxrregcount=", most));
            return linker.link(inputs, arch, options);
          }};
}

} // namespace

bool canMakeCubins(std::string &reason) {
  reason = Ptxas::get().reason();
  return reason.empty();
}

std::string ptxFor(const CudaSource &source, const std::string &arch) {
  return ptxFor(source, arch, DiskCache::ofUser());
}

// Kept by itself: many kernels are linked with the same sources.
std::string ptxFor(const CudaSource &source, const std::string &arch, const DiskCache &cache) {
  const NVRTC &nvrtc = NVRTC::get();
  if (!nvrtc.isAvailable())
    throw Error(nvrtc.reason());
  ContentHash hash;
  hash.add("kind", "nvrtc").add("recipe", recipe).add("flashc", FLASHC_VERSION);
  hash.add("nvrtc", nvrtc.version()).add("arch", arch);
  addSource(hash, source);
  const std::vector<std::byte> ptx =
      cache.get(hash.key(), concat("ptx ", arch, ' ', source.name), [&] {
        const std::string text = nvrtc.compileToPTX(source, arch);
        const auto *begin = reinterpret_cast<const std::byte *>(text.data());
        return std::vector<std::byte>(begin, begin + text.size());
      });
  return {reinterpret_cast<const char *>(ptx.data()), ptx.size()};
}

std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources) {
  return cubinFor(ptx, arch, driverVersion, sources, DiskCache::ofUser());
}

std::vector<std::byte> cubinFor(std::string_view ptx, const std::string &arch, int driverVersion,
                                std::span<const CudaSource> sources, const DiskCache &cache) {
  return makeCubin(ptx, arch, driverVersion, sources, cache).bytes;
}

MadeCubin makeCubin(std::string_view ptx, const std::string &arch, int driverVersion,
                    std::span<const CudaSource> sources, const DiskCache &cache) {
  if (ptx.empty() && sources.empty())
    fail("expected PTX or CUDA C++ to make a cubin of, got neither");
  const Maker maker = makerFor(ptx, arch, sources, cache);
  ContentHash hash;
  hash.add("kind", "cubin").add("recipe", recipe).add("flashc", FLASHC_VERSION);
  hash.add("maker", maker.version).add("driver", std::to_string(driverVersion));
  hash.add("arch", arch).add("ptx", ptx);
  std::string description = concat("cubin ", arch, kernelName(ptx));
  for (const CudaSource &source : sources) {
    addSource(hash, source);
    description += ' ' + source.name;
  }
  MadeCubin cubin = {{}, true};
  cubin.bytes = cache.get(hash.key(), description, [&] {
    cubin.isFromCache = false;
    return maker.make();
  });
  return cubin;
}

} // namespace flashc
