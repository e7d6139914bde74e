//===- TypeCheck.cpp - types and conversions of expressions ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One table of functions and one of binary operators; the rest is conversion.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/TypeCheck.h"

#include "runtime/Support/Error.h"

#include <algorithm>
#include <optional>

namespace flashc::expr {

namespace {

/// What an operation demands of its operands.
enum class Rule {
  Logical,    ///< Bools; gives Bool.
  Bits,       ///< Bools (gives Bool) or Ints.
  Ints,       ///< Ints.
  Numbers,    ///< Ints or Floats, brought to the same type.
  Comparison, ///< As Numbers; gives Bool.
  Floats,     ///< Floats, converting.
  Special,    ///< Not an operation of its own.
};

struct Operation {
  std::string_view name;
  Op op;
  Rule rule;
  size_t arity;
};

constexpr Operation functions[] = {
    {"min", Op::Min, Rule::Numbers, 2},          {"max", Op::Max, Rule::Numbers, 2},
    {"exp", Op::Exp, Rule::Floats, 1},           {"log", Op::Log, Rule::Floats, 1},
    {"tanh", Op::Tanh, Rule::Floats, 1},         {"abs", Op::Abs, Rule::Numbers, 1},
    {"select", Op::Select, Rule::Special, 3},    {"int", Op::FloatToInt, Rule::Special, 1},
    {"float", Op::IntToFloat, Rule::Special, 1}, {"floor", Op::Floor, Rule::Floats, 1},
    {"sqrt", Op::Sqrt, Rule::Floats, 1},
};

constexpr Operation binaries[] = {
    {"||", Op::LogicalOr, Rule::Logical, 2}, {"&&", Op::LogicalAnd, Rule::Logical, 2},
    {"|", Op::BitOr, Rule::Bits, 2},         {"^", Op::BitXor, Rule::Bits, 2},
    {"&", Op::BitAnd, Rule::Bits, 2},        {"==", Op::Eq, Rule::Comparison, 2},
    {"!=", Op::Ne, Rule::Comparison, 2},     {"<", Op::Lt, Rule::Comparison, 2},
    {"<=", Op::Le, Rule::Comparison, 2},     {">", Op::Gt, Rule::Comparison, 2},
    {">=", Op::Ge, Rule::Comparison, 2},     {"<<", Op::Shl, Rule::Ints, 2},
    {">>", Op::Shr, Rule::Ints, 2},          {"+", Op::Add, Rule::Numbers, 2},
    {"-", Op::Sub, Rule::Numbers, 2},        {"*", Op::Mul, Rule::Numbers, 2},
    {"/", Op::Div, Rule::Numbers, 2},        {"%", Op::Rem, Rule::Ints, 2},
};

constexpr Variable variables[] = {Variable::S, Variable::B,  Variable::H, Variable::I,
                                  Variable::J, Variable::Sq, Variable::Sk};

const Operation *findFunction(std::string_view name) {
  auto it = std::find_if(std::begin(functions), std::end(functions),
                         [&](const Operation &f) { return f.name == name; });
  return it == std::end(functions) ? nullptr : it;
}

std::optional<Variable> findVariable(std::string_view name) {
  for (Variable variable : variables)
    if (name == nameOf(variable))
      return variable;
  return std::nullopt;
}

std::vector<NodePtr> list(NodePtr a, NodePtr b = nullptr, NodePtr c = nullptr) {
  std::vector<NodePtr> result;
  result.push_back(std::move(a));
  if (b)
    result.push_back(std::move(b));
  if (c)
    result.push_back(std::move(c));
  return result;
}

std::string plural(size_t count, const char *noun) {
  const char *ending = count == 1 ? "" : std::string_view(noun) == "index" ? "es" : "s";
  return std::to_string(count) + " " + noun + ending;
}

bool isName(std::string_view text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && isLetter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9');
  });
}

} // namespace

TypeCheck::TypeCheck(const Source &source, std::span<const CaptureInfo> captures)
    : source(source), captures(captures) {
  for (size_t n = 0; n < captures.size(); ++n) {
    const std::string &name = captures[n].name;
    if (!isName(name))
      throw Error(
          "capture name: expected letters, digits and '_', not starting with a digit, got " +
          quoted(name));
    if (findVariable(name) || findFunction(name))
      throw Error(
          "capture name: expected one that is no variable or function of expressions, got " +
          quoted(name) + "; rename the capture");
    for (size_t m = 0; m < n; ++m)
      if (captures[m].name == name)
        throw Error("capture name: expected different names, got " + quoted(name) + " twice");
  }
}

int TypeCheck::findCapture(std::string_view name) const {
  for (size_t n = 0; n < captures.size(); ++n)
    if (captures[n].name == name)
      return static_cast<int>(n);
  return -1;
}

NodePtr TypeCheck::make(Op op, Type type, size_t column, std::vector<NodePtr> operands) const {
  auto node = std::make_unique<Node>(op, type);
  node->column = static_cast<uint32_t>(column);
  node->operands = std::move(operands);
  for (const NodePtr &operand : node->operands)
    node->depth = std::max(node->depth, operand->depth + 1);
  if (node->depth > kMaxTreeDepth)
    source.fail(column, "expected a nesting of at most " + std::to_string(kMaxTreeDepth) +
                            " operations, conversions included, got more; group long chains with "
                            "parentheses");
  return node;
}

/// Bool -> Int -> Float as needed; to Bool by comparison with 0. Never Float -> Int.
NodePtr TypeCheck::convert(NodePtr node, Type type) const {
  size_t column = node->column;
  if (node->type == type)
    return node;
  if (type == Type::Bool) {
    Type from = node->type;
    NodePtr zero = make(from == Type::Int ? Op::IntLiteral : Op::FloatLiteral, from, column);
    return make(Op::Ne, Type::Bool, column, list(std::move(node), std::move(zero)));
  }
  if (node->type == Type::Bool)
    node = make(Op::BoolToInt, Type::Int, column, list(std::move(node)));
  if (type == Type::Float)
    node = make(Op::IntToFloat, Type::Float, column, list(std::move(node)));
  return node;
}

NodePtr TypeCheck::literal(const Token &token) const {
  bool isInt = token.kind == TokenKind::Int;
  NodePtr node = make(isInt ? Op::IntLiteral : Op::FloatLiteral, isInt ? Type::Int : Type::Float,
                      token.column);
  node->intValue = token.intValue;
  node->floatValue = token.floatValue;
  return node;
}

void TypeCheck::unknownName(const Token &token) const {
  std::string remedy;
  if (token.text == "and" || token.text == "or" || token.text == "not")
    remedy = token.text == "and" ? "use &&" : token.text == "or" ? "use ||" : "use !";
  else if (token.text == "true" || token.text == "false")
    remedy = token.text == "true" ? "use 1" : "use 0";
  else if (findFunction(token.text))
    remedy = "call the function: " + std::string(token.text) + "(...)";
  else {
    remedy = "captures: ";
    for (size_t n = 0; n < captures.size() && n < 16; ++n)
      remedy += (n ? ", " : "") + captures[n].name;
    if (captures.empty())
      remedy += "none; add --capture name=FILE";
  }
  source.fail(token.column, std::string("expected a variable (") +
                                (source.kind == ExprKind::Score ? "s " : "") +
                                "b h i j sq sk), a function or a capture, got " +
                                quoted(token.text) + "; " + remedy);
}

NodePtr TypeCheck::name(const Token &token) const {
  if (std::optional<Variable> variable = findVariable(token.text)) {
    if (*variable == Variable::S && source.kind == ExprKind::Mask)
      source.fail(token.column, "expected no score in a mask expression, got 's'; a score "
                                "expression can drop keys by their score");
    NodePtr node =
        make(Op::Variable, *variable == Variable::S ? Type::Float : Type::Int, token.column);
    node->variable = *variable;
    return node;
  }
  if (findCapture(token.text) < 0)
    unknownName(token);
  return read(token, {});
}

NodePtr TypeCheck::read(const Token &token, std::vector<NodePtr> indices) const {
  int index = findCapture(token.text);
  if (index < 0) {
    if (findVariable(token.text) || findFunction(token.text))
      source.fail(token.column, "expected a captured array before '[', got " + quoted(token.text));
    unknownName(token);
  }
  const CaptureInfo &capture = captures[index];
  if (indices.size() != static_cast<size_t>(capture.rank))
    source.fail(token.column, "expected " + plural(capture.rank, "index") + " for capture " +
                                  quoted(capture.name) + " (one per dimension), got " +
                                  std::to_string(indices.size()));
  for (NodePtr &operand : indices) {
    if (operand->type == Type::Float)
      source.fail(operand->column, "expected an integer index for capture " + quoted(capture.name) +
                                       ", got f32; convert with int(...)");
    operand = convert(std::move(operand), Type::Int);
  }
  NodePtr node = make(Op::Capture, typeOfCapture(capture.dtype), token.column, std::move(indices));
  node->captureIndex = index;
  return node;
}

/// The common type of C's usual conversions, at least Int.
static Type promoted(const std::vector<NodePtr> &operands) {
  for (const NodePtr &operand : operands)
    if (operand->type == Type::Float)
      return Type::Float;
  return Type::Int;
}

NodePtr TypeCheck::call(const Token &token, std::vector<NodePtr> arguments) const {
  const Operation *function = findFunction(token.text);
  if (!function) {
    if (findVariable(token.text))
      source.fail(token.column,
                  "expected a function before '(', got variable " + quoted(token.text));
    if (findCapture(token.text) >= 0)
      source.fail(token.column, "expected a function before '(', got capture " +
                                    quoted(token.text) + "; read it with " +
                                    std::string(token.text) + "[...]");
    std::string known;
    for (const Operation &f : functions)
      known += (known.empty() ? "" : " ") + std::string(f.name);
    source.fail(token.column, "expected a function (" + known + "), got " + quoted(token.text));
  }
  if (arguments.size() != function->arity)
    source.fail(token.column, "expected " + plural(function->arity, "argument") + " for " +
                                  quoted(token.text) + ", got " + std::to_string(arguments.size()));
  size_t column = token.column;
  switch (function->op) {
  case Op::Select:
    return select(token, std::move(arguments[0]), std::move(arguments[1]), std::move(arguments[2]));
  case Op::IntToFloat:
    return convert(std::move(arguments[0]), Type::Float);
  case Op::FloatToInt:
    if (arguments[0]->type == Type::Float)
      return make(Op::FloatToInt, Type::Int, column, std::move(arguments));
    return convert(std::move(arguments[0]), Type::Int);
  default:
    break;
  }
  Type type = function->rule == Rule::Floats ? Type::Float : promoted(arguments);
  for (NodePtr &argument : arguments)
    argument = convert(std::move(argument), type);
  return make(function->op, type, column, std::move(arguments));
}

NodePtr TypeCheck::unary(const Token &token, NodePtr operand) const {
  if (token.is("!"))
    return make(Op::LogicalNot, Type::Bool, token.column,
                list(convert(std::move(operand), Type::Bool)));
  if (operand->type == Type::Bool)
    operand = convert(std::move(operand), Type::Int);
  Type type = operand->type;
  if (token.is("+"))
    return operand;
  if (token.is("-"))
    return make(Op::Neg, type, token.column, list(std::move(operand)));
  if (type == Type::Float)
    source.fail(token.column, "expected an integer for '~', got f32; convert with int(...)");
  return make(Op::BitNot, type, token.column, list(std::move(operand)));
}

NodePtr TypeCheck::binary(const Token &token, NodePtr lhs, NodePtr rhs) const {
  const Operation &operation =
      *std::find_if(std::begin(binaries), std::end(binaries),
                    [&](const Operation &candidate) { return candidate.name == token.text; });
  std::vector<NodePtr> operands = list(std::move(lhs), std::move(rhs));
  Type type = promoted(operands);
  Type result = type;
  switch (operation.rule) {
  case Rule::Logical:
    type = result = Type::Bool;
    break;
  case Rule::Comparison:
    result = Type::Bool;
    break;
  case Rule::Bits:
  case Rule::Ints:
    if (type == Type::Float)
      source.fail(token.column, "expected integers for " + quoted(token.text) + ", got " +
                                    nameOf(operands[0]->type) + " and " +
                                    nameOf(operands[1]->type) + "; convert with int(...)");
    if (operation.rule == Rule::Bits && operands[0]->type == Type::Bool &&
        operands[1]->type == Type::Bool)
      type = result = Type::Bool;
    break;
  default:
    break;
  }
  for (NodePtr &operand : operands)
    operand = convert(std::move(operand), type);
  return make(operation.op, result, token.column, std::move(operands));
}

NodePtr TypeCheck::select(const Token &token, NodePtr condition, NodePtr lhs, NodePtr rhs) const {
  condition = convert(std::move(condition), Type::Bool);
  Type type = std::max(lhs->type, rhs->type);
  lhs = convert(std::move(lhs), type);
  rhs = convert(std::move(rhs), type);
  return make(Op::Select, type, token.column,
              list(std::move(condition), std::move(lhs), std::move(rhs)));
}

NodePtr TypeCheck::finish(NodePtr node) const {
  return convert(std::move(node), source.kind == ExprKind::Score ? Type::Float : Type::Bool);
}

} // namespace flashc::expr
