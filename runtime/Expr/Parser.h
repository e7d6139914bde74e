//===- Parser.h - score and mask expressions from text -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The entry to the expression front end: text in, typed tree or one clear error out. The language
// is C's expressions on `s b h i j sq sk`, numbers, captured arrays and a few functions; see AST.h
// for what each operation means.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_EXPR_PARSER_H
#define FLASHC_RUNTIME_EXPR_PARSER_H

#include "runtime/Expr/AST.h"

namespace flashc {

/// Parses and checks an expression.
///
/// \param text      the expression, e.g. "s + slope[h] * (j - i)"; at most 64 KiB, nested at most
/// 256 deep. \param kind      Score: the result is converted to f32. Mask: to Bool by `!= 0`; `s`
/// is not available. \param captures  the arrays that `name[index, ...]` may read; the result keeps
/// a copy. \throws flashc::Error "score expression, column 12: expected ')', got end of text" and,
/// on two
///         further lines, the text with the column marked.
TypedExpr parseExpression(std::string_view text, ExprKind kind,
                          std::span<const CaptureInfo> captures = {});

} // namespace flashc

#endif // FLASHC_RUNTIME_EXPR_PARSER_H
