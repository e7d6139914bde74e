//===- Dot.h - tile.dot as a register micro-kernel --------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DOT_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DOT_H

#include "compiler/Conversion/TileToVector/Evaluator.h"

namespace flashc {

/// Lowers a dot into `result`. The result is computed in blocks of micro rows by micro columns that stay in
/// registers over the whole sum; `init` is evaluated as a block begins. Where terms are dropped and b
/// has an infinity or a NaN, a slower loop selects term by term.
void lowerDot(Context &c, tile::DotOp op, const Buffer &result);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_DOT_H
