//===- ObjectLoader.h - an ELF relocatable made callable -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Loads the object that the compiler's CPU back end writes, from memory and
// without a linker. What it loads is closed and stateless: an undefined symbol
// or a writable section is an error, so a loaded kernel provably calls nothing
// outside itself and may run on any number of threads. No page is ever
// writable and executable. Every field of the file is checked before use:
// hostile bytes give an Error, never a wild access (running code from an
// untrusted object is another matter).
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CPU_OBJECTLOADER_H
#define FLASHC_RUNTIME_CPU_OBJECTLOADER_H

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace flashc {

/// A loaded object: immutable, shareable between threads; the code is unmapped with it.
class LoadedObject {
public:
  /// Loads the ELF64 little-endian x86-64 relocatable `bytes` (copied; need not outlive the call).
  /// Throws Error if it is malformed, not of that kind, refers to undefined symbols, has writable
  /// data, or the system refuses executable memory.
  static std::shared_ptr<const LoadedObject> load(std::span<const std::byte> bytes);

  LoadedObject(const LoadedObject &) = delete;
  LoadedObject &operator=(const LoadedObject &) = delete;
  ~LoadedObject();

  /// The address of the global symbol `name` (function or data), or nullptr.
  const void *lookup(std::string_view name) const;

  /// The global function `name` as a pointer of type `Function *`; throws Error if there is none.
  template <typename Function> Function *function(std::string_view name) const {
    return reinterpret_cast<Function *>(const_cast<void *>(requireFunction(name)));
  }

  /// The text of the NUL-terminated global character array `name`, without the NUL; throws Error
  /// if there is no such array.
  std::string_view text(std::string_view name) const;

private:
  struct Symbol {
    const std::byte *address;
    size_t size;
    bool isFunction;
  };
  friend class ObjectReader;

  LoadedObject() = default;
  const void *requireFunction(std::string_view name) const;

  std::byte *base = nullptr;
  size_t mappedBytes = 0;
  std::map<std::string, Symbol, std::less<>> symbols;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_CPU_OBJECTLOADER_H
