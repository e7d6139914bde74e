//===- Printer.cpp - expressions as text ----------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Prints a typed tree so that it parses back to an equal one: conversions are spelled out,
// parentheses appear only where C's precedence needs them.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/AST.h"

#include <charconv>

namespace flashc {
namespace {

/// How an operation is spelled: a binary or unary operator with its precedence, or a function.
struct Spelling {
  const char *text;
  int precedence;
};
constexpr int kUnary = 11, kPrimary = 12;

Spelling spellingOf(Op op) {
  switch (op) {
  case Op::LogicalOr:
    return {"||", 1};
  case Op::LogicalAnd:
    return {"&&", 2};
  case Op::BitOr:
    return {"|", 3};
  case Op::BitXor:
    return {"^", 4};
  case Op::BitAnd:
    return {"&", 5};
  case Op::Eq:
    return {"==", 6};
  case Op::Ne:
    return {"!=", 6};
  case Op::Lt:
    return {"<", 7};
  case Op::Le:
    return {"<=", 7};
  case Op::Gt:
    return {">", 7};
  case Op::Ge:
    return {">=", 7};
  case Op::Shl:
    return {"<<", 8};
  case Op::Shr:
    return {">>", 8};
  case Op::Add:
    return {"+", 9};
  case Op::Sub:
    return {"-", 9};
  case Op::Mul:
    return {"*", 10};
  case Op::Div:
    return {"/", 10};
  case Op::Rem:
    return {"%", 10};
  case Op::Neg:
    return {"-", kUnary};
  case Op::LogicalNot:
    return {"!", kUnary};
  case Op::BitNot:
    return {"~", kUnary};
  case Op::BoolToInt:
  case Op::FloatToInt:
    return {"int", kPrimary};
  case Op::IntToFloat:
    return {"float", kPrimary};
  case Op::Min:
    return {"min", kPrimary};
  case Op::Max:
    return {"max", kPrimary};
  case Op::Abs:
    return {"abs", kPrimary};
  case Op::Exp:
    return {"exp", kPrimary};
  case Op::Log:
    return {"log", kPrimary};
  case Op::Tanh:
    return {"tanh", kPrimary};
  case Op::Sqrt:
    return {"sqrt", kPrimary};
  case Op::Floor:
    return {"floor", kPrimary};
  case Op::Select:
    return {"select", kPrimary};
  case Op::IntLiteral:
  case Op::FloatLiteral:
  case Op::Variable:
  case Op::Capture:
    break;
  }
  return {"", kPrimary};
}

class Printer {
public:
  explicit Printer(std::span<const CaptureInfo> captures) : captures(captures) {}

  /// Appends the node, in parentheses where it binds looser than `lowest`.
  void print(const Node &node, int lowest) {
    Spelling spelling = spellingOf(node.op);
    bool parenthesise = spelling.precedence < lowest;
    if (parenthesise)
      out += '(';
    switch (node.op) {
    case Op::IntLiteral:
      out += std::to_string(node.intValue);
      break;
    case Op::FloatLiteral:
      printFloat(static_cast<float>(node.floatValue));
      break;
    case Op::Variable:
      out += nameOf(node.variable);
      break;
    case Op::Capture: {
      size_t index = static_cast<size_t>(node.captureIndex);
      out += index < captures.size() ? captures[index].name
                                     : "capture" + std::to_string(node.captureIndex);
      printList(node, '[', ']');
      break;
    }
    default:
      if (spelling.precedence == kPrimary) {
        out += spelling.text;
        printList(node, '(', ')');
      } else if (spelling.precedence == kUnary) {
        out += spelling.text;
        print(*node.operands[0], kUnary);
      } else {
        print(*node.operands[0], spelling.precedence);
        out += std::string(" ") + spelling.text + " ";
        print(*node.operands[1], spelling.precedence + 1);
      }
    }
    if (parenthesise)
      out += ')';
  }

  std::string out;

private:
  void printFloat(float value) {
    char buffer[64];
    char *end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    std::string_view text(buffer, end - buffer);
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos)
      out += ".0";
  }

  void printList(const Node &node, char open, char close) {
    out += open;
    for (size_t n = 0; n < node.operands.size(); ++n) {
      if (n)
        out += ", ";
      print(*node.operands[n], 0);
    }
    out += close;
  }

  std::span<const CaptureInfo> captures;
};

} // namespace

std::string toString(const Node &node, std::span<const CaptureInfo> captures) {
  Printer printer(captures);
  printer.print(node, 0);
  return std::move(printer.out);
}

std::string toString(const TypedExpr &expr) { return toString(*expr.root, expr.captures); }

} // namespace flashc
