//===- TypeCheck.h - types and conversions of expressions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Builds the typed tree bottom-up as the parser recognises operations: picks each operation's type,
// inserts the conversions Bool -> Int -> Float that C would do implicitly, and rejects the rest.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_EXPR_TYPECHECK_H
#define FLASHC_RUNTIME_EXPR_TYPECHECK_H

#include "runtime/Expr/Lexer.h"

namespace flashc::expr {

/// Makes nodes. `token` is the place that errors point at. All functions throw flashc::Error.
class TypeCheck {
public:
  /// Rejects captures whose names are reserved, repeated or no names.
  TypeCheck(const Source &source, std::span<const CaptureInfo> captures);

  NodePtr literal(const Token &token) const;
  /// A variable, or a capture of rank 0.
  NodePtr name(const Token &token) const;
  NodePtr read(const Token &token, std::vector<NodePtr> indices) const;
  NodePtr call(const Token &token, std::vector<NodePtr> arguments) const;
  NodePtr unary(const Token &token, NodePtr operand) const;
  NodePtr binary(const Token &token, NodePtr lhs, NodePtr rhs) const;
  NodePtr select(const Token &token, NodePtr condition, NodePtr lhs, NodePtr rhs) const;
  /// Converts the whole expression to what its kind yields.
  NodePtr finish(NodePtr node) const;

private:
  NodePtr make(Op op, Type type, size_t column, std::vector<NodePtr> operands = {}) const;
  NodePtr convert(NodePtr node, Type type) const;
  int findCapture(std::string_view name) const;
  [[noreturn]] void unknownName(const Token &token) const;

  const Source &source;
  std::span<const CaptureInfo> captures;
};

} // namespace flashc::expr

#endif // FLASHC_RUNTIME_EXPR_TYPECHECK_H
