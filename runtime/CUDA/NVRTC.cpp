//===- NVRTC.cpp - CUDA C++ compiled at run time -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/NVRTC.h"
#include "runtime/CUDA/ToolkitLibrary.h"
#include "runtime/Support/Error.h"

namespace flashc {
namespace {

// The part of NVRTC's interface that is used; the same in CUDA 12 and 13.
using Result = int; // 0 is success
struct OpaqueProgram;
using Program = OpaqueProgram *;

struct Functions {
  const char *(*errorString)(Result) = nullptr;
  Result (*version)(int *major, int *minor) = nullptr;
  Result (*createProgram)(Program *, const char *source, const char *name, int numHeaders,
                          const char *const *headers, const char *const *includeNames) = nullptr;
  Result (*destroyProgram)(Program *) = nullptr;
  Result (*compileProgram)(Program, int numOptions, const char *const *options) = nullptr;
  Result (*ptxSize)(Program, size_t *) = nullptr;
  Result (*ptx)(Program, char *) = nullptr;
  Result (*cubinSize)(Program, size_t *) = nullptr;
  Result (*cubin)(Program, char *) = nullptr;
  Result (*logSize)(Program, size_t *) = nullptr;
  Result (*log)(Program, char *) = nullptr;
};

Functions functions;

std::string load() {
  ToolkitLibrary library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  library.bind("nvrtcGetErrorString", functions.errorString);
  library.bind("nvrtcVersion", functions.version);
  library.bind("nvrtcCreateProgram", functions.createProgram);
  library.bind("nvrtcDestroyProgram", functions.destroyProgram);
  library.bind("nvrtcCompileProgram", functions.compileProgram);
  library.bind("nvrtcGetPTXSize", functions.ptxSize);
  library.bind("nvrtcGetPTX", functions.ptx);
  library.bind("nvrtcGetCUBINSize", functions.cubinSize);
  library.bind("nvrtcGetCUBIN", functions.cubin);
  library.bind("nvrtcGetProgramLogSize", functions.logSize);
  library.bind("nvrtcGetProgramLog", functions.log);
  return library.reason();
}

/// A program, freed however the scope ends.
class ScopedProgram {
public:
  ScopedProgram(const CudaSource &source, const std::string &arch) : name(source.name) {
    // NVRTC reads C strings: a zero byte would cut the source short.
    if (source.text.find('\0') != std::string::npos)
      fail(name, ": expected CUDA C++ text, got a zero byte in it");
    std::vector<const char *> texts, names, options;
    for (const auto &[headerName, text] : source.headers) {
      names.push_back(headerName.c_str());
      texts.push_back(text.c_str());
    }
    check(functions.createProgram(&program, source.text.c_str(), name.c_str(),
                                  static_cast<int>(texts.size()), texts.data(), names.data()));
    const std::string archOption = "-arch=" + arch;
    options = {archOption.c_str(), "-std=c++17", "-default-device"};
    for (const std::string &option : source.options)
      options.push_back(option.c_str());
    check(functions.compileProgram(program, static_cast<int>(options.size()), options.data()));
  }

  ScopedProgram(const ScopedProgram &) = delete;
  ScopedProgram &operator=(const ScopedProgram &) = delete;
  ~ScopedProgram() { release(); }

  template <typename Bytes>
  Bytes read(Result (*sizeOf)(Program, size_t *), Result (*bytesOf)(Program, char *)) {
    size_t size = 0;
    check(sizeOf(program, &size));
    Bytes bytes(size, {});
    check(bytesOf(program, reinterpret_cast<char *>(bytes.data())));
    return bytes;
  }

private:
  void release() {
    if (program)
      functions.destroyProgram(&program);
  }

  /// The constructor's failures free the program too.
  void check(Result result) {
    if (result == 0)
      return;
    const std::string text = log(), message = functions.errorString(result);
    release();
    fail(name, ": expected CUDA C++ that NVRTC compiles, got ", message, text.empty() ? "" : ":\n",
         text);
  }

  std::string log() const {
    size_t size = 0;
    if (!program || functions.logSize(program, &size) != 0 || size <= 1)
      return "";
    std::string text(size, '\0');
    if (functions.log(program, text.data()) != 0)
      return "";
    text.resize(text.find_last_not_of(std::string("\0\n ", 3)) + 1);
    return text;
  }

  std::string name;
  Program program = nullptr;
};

} // namespace

NVRTC::NVRTC() : why(load()) {
  int major = 0, minor = 0;
  if (why.empty() && functions.version(&major, &minor) == 0)
    versionText = concat(major, '.', minor);
}

const NVRTC &NVRTC::get() {
  // Never destroyed: threads may still compile while the process ends.
  static const NVRTC &nvrtc = *new NVRTC;
  return nvrtc;
}

std::string NVRTC::compileToPTX(const CudaSource &source, const std::string &arch) const {
  if (!isAvailable())
    throw Error(why);
  std::string ptx = ScopedProgram(source, arch).read<std::string>(functions.ptxSize, functions.ptx);
  ptx.resize(ptx.find_last_not_of('\0') + 1); // NVRTC counts the terminator
  return ptx;
}

std::vector<std::byte> NVRTC::compileToCubin(const CudaSource &source,
                                             const std::string &arch) const {
  if (!isAvailable())
    throw Error(why);
  return ScopedProgram(source, arch)
      .read<std::vector<std::byte>>(functions.cubinSize, functions.cubin);
}

} // namespace flashc
