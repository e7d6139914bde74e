//===- Provider.h - where the runtime gets a compiler from -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The runtime carries no compiler. A program that links one in registers it;
// any other gets libflashc opened the first time something must be compiled.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_PROVIDER_H
#define FLASHC_RUNTIME_API_PROVIDER_H

#include "runtime/API/flashc_compiler.h"

#include <string>

namespace flashc {

/// The functions of flashc_compiler.h, from wherever they come.
struct CompilerProvider {
  decltype(&flashc_compiler_version) version = nullptr;
  decltype(&flashc_compiler_compile) compile = nullptr;
  decltype(&flashc_compiler_free) free = nullptr;
  /// Its build id, see BuildId.h: stands for everything that decides what is made of a description; "": unknown,
  /// and nothing that it makes is kept on disk.
  std::string identity = {};
};

/// Makes `provider` the compiler of this process, in place of any other. Safe from any thread.
void registerCompilerProvider(const CompilerProvider &provider);

/// The compiler of this process: the registered one, or libflashc, opened once and for good from
/// the file that the environment's FLASHC_LIBRARY names, else from this library's (or program's)
/// folder, else by the dynamic linker's search. Throws StatusError (FLASHC_ERROR_NO_COMPILER)
/// saying what was tried; a later call tries again.
CompilerProvider compilerProvider();

/// The identity of the compiler that compilerProvider() gives, without opening a library, which takes longer
/// than to read a kept kernel; "" where that cannot be told.
std::string compilerIdentity();

} // namespace flashc

#endif // FLASHC_RUNTIME_API_PROVIDER_H
