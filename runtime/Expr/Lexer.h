//===- Lexer.h - tokens of score and mask expressions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Splits an expression's text into tokens and reports errors at a column of it. Used by the parser
// and the type checker alone.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_EXPR_LEXER_H
#define FLASHC_RUNTIME_EXPR_LEXER_H

#include "runtime/Expr/AST.h"

#include <string>
#include <string_view>

namespace flashc::expr {

/// The text of an expression, and how errors in it read.
struct Source {
  std::string_view text;
  ExprKind kind;

  /// Throws "score expression, column N: MESSAGE" with the place marked below it. `column` is
  /// 1-based.
  [[noreturn]] void fail(size_t column, const std::string &message) const;
};

enum class TokenKind { End, Int, Float, Name, Punctuator };

/// A token: a number, a name, an operator or bracket (`text` spells it), or the end of the text.
struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  size_t column = 1;
  int64_t intValue = 0;
  float floatValue = 0;

  bool is(std::string_view punctuator) const {
    return kind == TokenKind::Punctuator && text == punctuator;
  }
  /// The token in an error message: its text in quotes, or "end of text".
  std::string describe() const;
};

/// Produces the tokens one by one; throws flashc::Error on text that is none.
class Lexer {
public:
  explicit Lexer(const Source &source) : source(source) {}
  Token next();

private:
  Token number();

  const Source &source;
  size_t position = 0;
};

/// A name or operator within a message: quoted, unprintable bytes replaced, shortened.
std::string quoted(std::string_view text);

} // namespace flashc::expr

#endif // FLASHC_RUNTIME_EXPR_LEXER_H
