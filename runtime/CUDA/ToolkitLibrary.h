//===- ToolkitLibrary.h - libraries of the CUDA toolkit, opened late -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// flashc is built without the CUDA toolkit; a library of it is looked for when
// it is first needed. Where there is none, the reason is kept for the message.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_TOOLKITLIBRARY_H
#define FLASHC_RUNTIME_CUDA_TOOLKITLIBRARY_H

#include <initializer_list>
#include <string>

namespace flashc {

/// One shared library. Once opened it stays open: its functions may be in use anywhere.
class ToolkitLibrary {
public:
  /// Opens the first of `names` ("libnvrtc.so.13", then older ones) that is there: in the folder
  /// FLASHC_CUDA_PATH (or its lib64 and lib) where that is set; else as the dynamic linker finds
  /// it, and in /usr/local/cuda/lib64.
  explicit ToolkitLibrary(std::initializer_list<const char *> names);

  bool isOpen() const { return handle != nullptr; }

  /// Why the library cannot be used, for a message; "" where it can.
  const std::string &reason() const { return why; }

  /// The file that was opened, as it was asked for.
  const std::string &path() const { return opened; }

  /// Sets `function` to the symbol `name`. Where it is missing, the library counts as not there.
  template <typename Function> void bind(const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(address(name));
  }

private:
  void *address(const char *name);

  void *handle = nullptr;
  std::string opened, why;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_TOOLKITLIBRARY_H
