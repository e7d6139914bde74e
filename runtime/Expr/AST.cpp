//===- AST.cpp - typed syntax tree of score and mask expressions ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Names, destruction and queries of the tree.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/AST.h"

#include <bit>

namespace flashc {

Node::~Node() {
  // Take the descendants apart level by level: no destructor ever has operands left to recurse
  // into.
  std::vector<NodePtr> pending = std::move(operands);
  while (!pending.empty()) {
    NodePtr node = std::move(pending.back());
    pending.pop_back();
    if (!node)
      continue;
    for (NodePtr &operand : node->operands)
      pending.push_back(std::move(operand));
    node->operands.clear();
  }
}

const char *nameOf(Type type) {
  switch (type) {
  case Type::Bool:
    return "bool";
  case Type::Int:
    return "i64";
  case Type::Float:
    return "f32";
  }
  return "?";
}

const char *nameOf(Variable variable) {
  switch (variable) {
  case Variable::S:
    return "s";
  case Variable::B:
    return "b";
  case Variable::H:
    return "h";
  case Variable::I:
    return "i";
  case Variable::J:
    return "j";
  case Variable::Sq:
    return "sq";
  case Variable::Sk:
    return "sk";
  }
  return "?";
}

const char *nameOf(ExprKind kind) { return kind == ExprKind::Score ? "score" : "mask"; }

Type typeOfCapture(DType dtype) {
  switch (dtype) {
  case DType::F16:
  case DType::BF16:
  case DType::F32:
  case DType::F64:
    return Type::Float;
  default:
    return Type::Int;
  }
}

bool structurallyEqual(const Node &a, const Node &b) {
  if (a.op != b.op || a.type != b.type || a.operands.size() != b.operands.size())
    return false;
  switch (a.op) {
  case Op::IntLiteral:
    return a.intValue == b.intValue;
  case Op::FloatLiteral:
    return std::bit_cast<uint64_t>(a.floatValue) == std::bit_cast<uint64_t>(b.floatValue);
  case Op::Variable:
    return a.variable == b.variable;
  case Op::Capture:
    if (a.captureIndex != b.captureIndex)
      return false;
    break;
  default:
    break;
  }
  for (size_t n = 0; n < a.operands.size(); ++n)
    if (!structurallyEqual(*a.operands[n], *b.operands[n]))
      return false;
  return true;
}

bool usesVariable(const Node &node, Variable variable) {
  if (node.op == Op::Variable && node.variable == variable)
    return true;
  for (const NodePtr &operand : node.operands)
    if (usesVariable(*operand, variable))
      return true;
  return false;
}

bool usesCapture(const Node &node, int captureIndex) {
  if (node.op == Op::Capture && node.captureIndex == captureIndex)
    return true;
  for (const NodePtr &operand : node.operands)
    if (usesCapture(*operand, captureIndex))
      return true;
  return false;
}

} // namespace flashc
