//===- CompilerABI.h - the compiler behind a C interface -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// CompilerABI.cpp defines the functions of runtime/API/flashc_compiler.h. As
// libflashc they are all that it exports; a program that links the compiler in
// (the flashc tool) registers them with the runtime instead.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_DRIVER_COMPILERABI_H
#define FLASHC_COMPILER_DRIVER_COMPILERABI_H

#include "runtime/API/Provider.h"
#include "runtime/Support/BuildId.h"

namespace flashc {

/// Makes the compiler in this program the one that the runtime uses, so that it opens no libflashc.
inline void registerLinkedCompiler() {
  registerCompilerProvider({flashc_compiler_version, flashc_compiler_compile, flashc_compiler_free,
                            buildIdAt(reinterpret_cast<const void *>(&flashc_compiler_compile))});
}

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_COMPILERABI_H
