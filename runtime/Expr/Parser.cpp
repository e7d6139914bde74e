//===- Parser.cpp - score and mask expressions from text ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Precedence climbing with C's precedences. Every construct that makes the parser recurse is
// counted, so that hostile nesting ends in an error, not in a stack overflow.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/Parser.h"

#include "runtime/Expr/TypeCheck.h"
#include "runtime/Support/Error.h"

namespace flashc {
namespace expr {
namespace {

/// C's precedence of a binary operator, larger binds tighter; 0 for anything else.
int precedenceOf(const Token &token) {
  struct Level {
    std::string_view name;
    int precedence;
  };
  static constexpr Level levels[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},
                                     {"==", 6}, {"!=", 6}, {"<", 7},  {"<=", 7}, {">", 7},
                                     {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9},  {"-", 9},
                                     {"*", 10}, {"/", 10}, {"%", 10}};
  if (token.kind == TokenKind::Punctuator)
    for (const Level &level : levels)
      if (level.name == token.text)
        return level.precedence;
  return 0;
}

class Parser {
public:
  Parser(const Source &source, std::span<const CaptureInfo> captures)
      : source(source), check(source, captures), lexer(source), token(lexer.next()) {}

  NodePtr parse() {
    NodePtr node = conditional();
    if (token.kind != TokenKind::End)
      source.fail(token.column, "expected an operator or end of text, got " + token.describe());
    return check.finish(std::move(node));
  }

private:
  /// Counts one level of nesting while it lives.
  class Nesting {
  public:
    Nesting(Parser &parser, const Token &at) : parser(parser) {
      if (++parser.nesting > kMaxExprNesting)
        parser.source.fail(at.column, "expected a nesting of at most " +
                                          std::to_string(kMaxExprNesting) + ", got deeper");
    }
    ~Nesting() { --parser.nesting; }

  private:
    Parser &parser;
  };

  void advance() { token = lexer.next(); }

  void expect(std::string_view punctuator, const char *alternative = "") {
    if (!token.is(punctuator))
      source.fail(token.column,
                  "expected " + quoted(punctuator) + alternative + ", got " + token.describe());
    advance();
  }

  NodePtr conditional() {
    NodePtr condition = binary(1);
    if (!token.is("?"))
      return condition;
    Token question = token;
    Nesting nest(*this, question);
    advance();
    NodePtr lhs = conditional();
    expect(":");
    NodePtr rhs = conditional();
    return check.select(question, std::move(condition), std::move(lhs), std::move(rhs));
  }

  NodePtr binary(int lowest) {
    NodePtr lhs = unary();
    for (int precedence; (precedence = precedenceOf(token)) >= lowest && precedence > 0;) {
      Token op = token;
      advance();
      NodePtr rhs = binary(precedence + 1);
      lhs = check.binary(op, std::move(lhs), std::move(rhs));
    }
    return lhs;
  }

  NodePtr unary() {
    if (!token.is("-") && !token.is("!") && !token.is("~") && !token.is("+"))
      return primary();
    Token op = token;
    Nesting nest(*this, op);
    advance();
    NodePtr operand = unary();
    return check.unary(op, std::move(operand));
  }

  NodePtr primary() {
    Token first = token;
    switch (first.kind) {
    case TokenKind::Int:
    case TokenKind::Float:
      advance();
      return check.literal(first);
    case TokenKind::Name:
      advance();
      if (token.is("("))
        return check.call(first, arguments(")"));
      if (token.is("["))
        return check.read(first, arguments("]"));
      return check.name(first);
    default:
      break;
    }
    if (!first.is("("))
      source.fail(first.column, "expected a value, got " + first.describe());
    Nesting nest(*this, first);
    advance();
    NodePtr node = conditional();
    expect(")");
    return node;
  }

  /// `(a, b, ...)` or `[a, b, ...]`, possibly empty.
  std::vector<NodePtr> arguments(std::string_view close) {
    std::vector<NodePtr> result;
    Nesting nest(*this, token);
    advance();
    if (!token.is(close)) {
      result.push_back(conditional());
      while (token.is(",")) {
        advance();
        result.push_back(conditional());
      }
    }
    expect(close, " or ','");
    return result;
  }

  const Source &source;
  TypeCheck check;
  Lexer lexer;
  Token token;
  int nesting = 0;
};

} // namespace
} // namespace expr

TypedExpr parseExpression(std::string_view text, ExprKind kind,
                          std::span<const CaptureInfo> captures) {
  if (text.size() > kMaxExprLength)
    throw Error(std::string(nameOf(kind)) + " expression: expected at most " +
                std::to_string(kMaxExprLength) + " bytes, got " + std::to_string(text.size()));
  expr::Source source{text, kind};
  TypedExpr result;
  result.kind = kind;
  result.captures.assign(captures.begin(), captures.end());
  result.root = expr::Parser(source, result.captures).parse();
  return result;
}

} // namespace flashc
