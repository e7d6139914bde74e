//===- BuildId.h - which build a piece of code is from -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The linker hashes what it writes and leaves the hash in the program or library as a note. It stands for the
// file's whole contents, survives strip, and takes some hundred bytes to read, where the file has tens of
// millions.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_SUPPORT_BUILDID_H
#define FLASHC_RUNTIME_SUPPORT_BUILDID_H

#include <string>

namespace flashc {

/// The build id, in hexadecimal digits, of the program or library of this process that has `address`; ""
/// where it has none.
std::string buildIdAt(const void *address);

/// The build id of a program's or library's file, which is not loaded; "" where it has none or is neither.
std::string buildIdOfFile(const std::string &path);

} // namespace flashc

#endif // FLASHC_RUNTIME_SUPPORT_BUILDID_H
