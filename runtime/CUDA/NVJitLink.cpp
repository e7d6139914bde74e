//===- NVJitLink.cpp - PTX and cubins linked into one cubin -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/NVJitLink.h"
#include "runtime/CUDA/ToolkitLibrary.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>

namespace flashc {
namespace {

// The part of nvJitLink's interface that is used; the same in CUDA 12 and 13.
using Result = int; // 0 is success
struct OpaqueLink;
using Link = OpaqueLink *;
enum InputType : int { Cubin = 1, PTX = 2 };

struct Functions {
  Result (*version)(unsigned *major, unsigned *minor) = nullptr;
  Result (*create)(Link *, uint32_t numOptions, const char **options) = nullptr;
  Result (*destroy)(Link *) = nullptr;
  Result (*addData)(Link, InputType, const void *data, size_t size, const char *name) = nullptr;
  Result (*complete)(Link) = nullptr;
  Result (*cubinSize)(Link, size_t *) = nullptr;
  Result (*cubin)(Link, void *) = nullptr;
  Result (*errorLogSize)(Link, size_t *) = nullptr;
  Result (*errorLog)(Link, char *) = nullptr;
};

Functions functions;

std::string load() {
  ToolkitLibrary library({"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"});
  library.bind("nvJitLinkVersion", functions.version);
  library.bind("nvJitLinkCreate", functions.create);
  library.bind("nvJitLinkDestroy", functions.destroy);
  library.bind("nvJitLinkAddData", functions.addData);
  library.bind("nvJitLinkComplete", functions.complete);
  library.bind("nvJitLinkGetLinkedCubinSize", functions.cubinSize);
  library.bind("nvJitLinkGetLinkedCubin", functions.cubin);
  library.bind("nvJitLinkGetErrorLogSize", functions.errorLogSize);
  library.bind("nvJitLinkGetErrorLog", functions.errorLog);
  return library.reason();
}

/// A link, freed however the scope ends.
class ScopedLink {
public:
  ScopedLink() = default;
  ScopedLink(const ScopedLink &) = delete;
  ScopedLink &operator=(const ScopedLink &) = delete;
  ~ScopedLink() {
    if (link)
      functions.destroy(&link);
  }

  /// Throws Error with what `action` was doing and the log, unless `result` is success.
  void check(Result result, const std::string &action) const {
    if (result == 0)
      return;
    const std::string text = log();
    fail("expected nvJitLink to ", action, ", got error ", result, text.empty() ? "" : ":\n", text);
  }

  Link link = nullptr;

private:
  std::string log() const {
    size_t size = 0;
    if (!link || functions.errorLogSize(link, &size) != 0 || size <= 1)
      return "";
    std::string text(size, '\0');
    if (functions.errorLog(link, text.data()) != 0)
      return "";
    text.resize(text.find_last_not_of(std::string("\0\n ", 3)) + 1);
    return text;
  }
};

/// nvJitLink ends the process for some names that are none ("sm_1").
void checkArch(const std::string &arch) {
  if (!isArchitecture(arch))
    fail("expected an architecture such as sm_90 or sm_90a, got '", arch.substr(0, 100),
         "'; 'flashc targets' lists them");
}

/// The names of the kernels in PTX text.
std::vector<std::string> kernelsOf(std::string_view ptx) {
  constexpr std::string_view mark = ".entry";
  std::vector<std::string> names;
  for (size_t at = ptx.find(mark); at != std::string_view::npos; at = ptx.find(mark, at)) {
    at += mark.size();
    const size_t begin = ptx.find_first_not_of(" \t\r\n", at);
    if (begin == at || begin == std::string_view::npos)
      continue; // a longer word
    names.emplace_back(ptx.substr(begin, ptx.find_first_of(" \t\r\n(", begin) - begin));
  }
  return names;
}

bool isCubin(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(),
                                          "\x7f"
                                          "ELF",
                                          4) == 0;
}

} // namespace

bool isArchitecture(std::string_view arch) {
  const std::string_view digits = arch.substr(std::min<size_t>(arch.size(), 3));
  const size_t count = std::min(digits.find_first_not_of("0123456789"), digits.size());
  const std::string_view suffix = digits.substr(count);
  return arch.starts_with("sm_") && count >= 2 && count <= 3 &&
         (suffix.empty() || suffix == "a" || suffix == "f");
}

NVJitLink::NVJitLink() : why(load()) {
  unsigned major = 0, minor = 0;
  if (why.empty() && functions.version(&major, &minor) == 0)
    versionText = concat(major, '.', minor);
}

const NVJitLink &NVJitLink::get() {
  // Never destroyed: threads may still link while the process ends.
  static const NVJitLink &linker = *new NVJitLink;
  return linker;
}

std::vector<std::byte> NVJitLink::link(std::span<const LinkInput> inputs, const std::string &arch,
                                       std::span<const std::string> options) const {
  if (!isAvailable())
    throw Error(why);
  checkArch(arch);
  if (inputs.empty())
    fail("expected PTX or cubins to link, got nothing");
  const std::string archOption = "-arch=" + arch;
  std::vector<const char *> arguments = {archOption.c_str()};
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  std::map<std::string, std::string> kernels; // and where each is
  ScopedLink scope;
  scope.check(
      functions.create(&scope.link, static_cast<uint32_t>(arguments.size()), arguments.data()),
      "link for " + arch);
  for (const LinkInput &input : inputs) {
    // PTX is read as text up to its end, so it gets a terminator whatever the caller's has.
    std::string text(reinterpret_cast<const char *>(input.bytes.data()), input.bytes.size());
    const InputType type = isCubin(input.bytes) ? Cubin : PTX;
    if (type == PTX) {
      text.resize(text.find_last_not_of('\0') + 1);
      if (text.find('\0') != std::string::npos)
        fail(input.name, ": expected PTX text or a cubin, got text with a zero byte in it");
      // nvJitLink prints that a name is there twice, takes one of them and reports success.
      for (const std::string &kernel : kernelsOf(text))
        if (const auto [other, isNew] = kernels.emplace(kernel, input.name); !isNew)
          fail(input.name, ": expected kernels of different names, got ", kernel, " in ",
               other->second, " too; rename one of them");
    }
    scope.check(functions.addData(scope.link, type, text.c_str(), text.size() + (type == PTX),
                                  input.name.c_str()),
                "take " + input.name);
  }
  scope.check(functions.complete(scope.link), "link for " + arch);
  size_t size = 0;
  scope.check(functions.cubinSize(scope.link, &size), "give the cubin");
  std::vector<std::byte> cubin(size);
  scope.check(functions.cubin(scope.link, cubin.data()), "give the cubin");
  return cubin;
}

} // namespace flashc
