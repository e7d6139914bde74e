//===- CheckText.h - MLIR text that is safe to parse ------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_DRIVER_CHECKTEXT_H
#define FLASHC_COMPILER_DRIVER_CHECKTEXT_H

#include <string_view>

namespace flashc {

/// Refuses MLIR text on which the parser or the printer would run out of stack, memory or time: they recurse
/// over brackets, over operators in affine expressions, and over aliases of aliases. `name` is the file's in
/// messages. Throws Error.
void checkText(std::string_view text, std::string_view name);

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_CHECKTEXT_H
