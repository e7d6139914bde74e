//===- ExprEvaluator.cpp - evaluates score and mask expressions -----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A postfix program on a stack of blocks: one pass over a block per operation, so that checks on
// real data stay quick without any compiler.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/ExprEvaluator.h"

#include <algorithm>
#include <cmath>

namespace flashc::reference {

namespace {

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t evaluateInt(Op op, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
  case Op::Add:
    return wrap(ua + ub);
  case Op::Sub:
    return wrap(ua - ub);
  case Op::Mul:
    return wrap(ua * ub);
  case Op::Div:
    return b == 0 ? 0 : b == -1 ? wrap(0 - ua) : a / b;
  case Op::Rem:
    return b == 0 || b == -1 ? 0 : a % b;
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  case Op::BitAnd:
  case Op::LogicalAnd:
    return a & b;
  case Op::BitOr:
  case Op::LogicalOr:
    return a | b;
  case Op::BitXor:
    return a ^ b;
  case Op::Shl:
    return ub > 63 ? 0 : wrap(ua << ub);
  case Op::Shr:
    return a >> std::min<uint64_t>(ub, 63);
  default:
    fail("expected an integer operation, got operation ", static_cast<int>(op));
  }
}

template <typename Real> Real evaluateFloat(Op op, Real a, Real b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  case Op::Min:
    if (std::isnan(a) || std::isnan(b))
      return a + b;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  case Op::Max:
    if (std::isnan(a) || std::isnan(b))
      return a + b;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  default:
    fail("expected a float operation, got operation ", static_cast<int>(op));
  }
}

template <typename T> bool compareWith(Op op, T a, T b) {
  switch (op) {
  case Op::Eq:
    return a == b;
  case Op::Ne:
    return a != b;
  case Op::Lt:
    return a < b;
  case Op::Le:
    return a <= b;
  case Op::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

template <typename Real> Real evaluateFunction(Op op, Real x) {
  switch (op) {
  case Op::Neg:
    return -x;
  case Op::Abs:
    return std::fabs(x);
  case Op::Exp:
    return std::exp(x);
  case Op::Log:
    return std::log(x);
  case Op::Tanh:
    return std::tanh(x);
  case Op::Sqrt:
    return std::sqrt(x);
  default:
    return std::floor(x);
  }
}

} // namespace

template <typename Real>
ExprEvaluator<Real>::ExprEvaluator(const TypedExpr &expr, std::span<const NamedTensor> captures)
    : captured(expr.captures.size()) {
  compile(*expr.root, 0);
  for (size_t n = 0; n < captured.size(); ++n)
    if (usesCapture(*expr.root, static_cast<int>(n)))
      load(captured[n], expr.captures[n], captures);
}

template <typename Real> void ExprEvaluator<Real>::compile(const Node &node, size_t height) {
  for (size_t n = 0; n < node.operands.size(); ++n)
    compile(*node.operands[n], height + n);
  stackHeight = std::max(stackHeight, height + std::max<size_t>(node.operands.size(), 1));
  program.push_back({node.op, node.type,
                     node.operands.empty() ? node.type : node.operands.back()->type, node.intValue,
                     static_cast<Real>(node.floatValue), node.variable, node.captureIndex,
                     static_cast<int>(node.operands.size())});
}

template <typename Real>
void ExprEvaluator<Real>::load(Captured &captured, const CaptureInfo &info,
                               std::span<const NamedTensor> captures) {
  auto it = std::find_if(captures.begin(), captures.end(),
                         [&](const NamedTensor &tensor) { return tensor.name == info.name; });
  if (it == captures.end())
    fail("expected an array for capture '", info.name, "', got none");
  const TensorView &view = it->view;
  if (view.rank() != info.rank || typeOfCapture(view.dtype) != typeOfCapture(info.dtype))
    fail("expected ", nameOf(info.dtype), " of rank ", info.rank, " for capture '", info.name,
         "', got ", nameOf(view.dtype), " of rank ", view.rank());
  captured.shape = view.shape;
  const int64_t count = countElements(view.shape).value_or(0);
  std::vector<int64_t> index(view.shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * view.strides[d];
    if (typeOfCapture(view.dtype) == Type::Float)
      captured.floats.push_back(static_cast<float>(view.at(offset)));
    else
      captured.ints.push_back(view.intAt(offset));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.shape[d])
        break;
      index[d] = 0;
    }
  }
}

template <typename Real>
void ExprEvaluator<Real>::read(const Instruction &instruction, Block *operands,
                               int64_t count) const {
  const Captured &array = captured[instruction.captureIndex];
  for (int64_t n = 0; n < count; ++n) {
    int64_t flat = 0;
    bool inside = true;
    for (size_t d = 0; d < array.shape.size(); ++d) {
      const int64_t index = operands[d].ints[n];
      inside = inside && index >= 0 && index < array.shape[d];
      if (inside)
        flat = flat * array.shape[d] + index;
    }
    if (instruction.type == Type::Float)
      operands[0].floats[n] = inside ? array.floats[flat] : Real(0);
    else
      operands[0].ints[n] = inside ? array.ints[flat] : 0;
  }
}

/// The result replaces the first operand.
template <typename Real>
void ExprEvaluator<Real>::execute(const Instruction &instruction, Block *operands,
                                  int64_t count) const {
  const Op op = instruction.op;
  Block &a = operands[0];
  const bool isFloat = instruction.operandType == Type::Float;
  auto each = [&](auto &&body) {
    for (int64_t n = 0; n < count; ++n)
      body(n);
  };
  switch (op) {
  case Op::IntLiteral:
    std::fill_n(a.ints, count, instruction.intValue);
    return;
  case Op::FloatLiteral:
    std::fill_n(a.floats, count, instruction.floatValue);
    return;
  case Op::Capture:
    return read(instruction, operands, count);
  case Op::BoolToInt:
    return;
  case Op::IntToFloat:
    return each([&](int64_t n) { a.floats[n] = static_cast<Real>(a.ints[n]); });
  case Op::FloatToInt:
    return each([&](int64_t n) { a.ints[n] = saturateToInt<int64_t>(a.floats[n]); });
  case Op::LogicalNot:
    return each([&](int64_t n) { a.ints[n] ^= 1; });
  case Op::BitNot:
    return each([&](int64_t n) { a.ints[n] = ~a.ints[n]; });
  case Op::Neg:
  case Op::Abs:
    if (!isFloat)
      return each([&](int64_t n) {
        if (op == Op::Neg || a.ints[n] < 0)
          a.ints[n] = wrap(0 - static_cast<uint64_t>(a.ints[n]));
      });
    [[fallthrough]];
  case Op::Exp:
  case Op::Log:
  case Op::Tanh:
  case Op::Sqrt:
  case Op::Floor:
    return each([&](int64_t n) { a.floats[n] = evaluateFunction(op, a.floats[n]); });
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return each([&](int64_t n) {
      a.ints[n] = isFloat ? compareWith(op, a.floats[n], operands[1].floats[n])
                          : compareWith(op, a.ints[n], operands[1].ints[n]);
    });
  case Op::Select:
    return each([&](int64_t n) {
      const Block &chosen = operands[a.ints[n] ? 1 : 2];
      if (isFloat)
        a.floats[n] = chosen.floats[n];
      else
        a.ints[n] = chosen.ints[n];
    });
  default:
    return each([&](int64_t n) {
      if (isFloat)
        a.floats[n] = evaluateFloat(op, a.floats[n], operands[1].floats[n]);
      else
        a.ints[n] = evaluateInt(op, a.ints[n], operands[1].ints[n]);
    });
  }
}

template <typename Real>
void ExprEvaluator<Real>::evaluate(const RowCoordinates &row, int64_t j0, int64_t count,
                                   const Real *s, Scratch &scratch) const {
  if (scratch.size() < stackHeight)
    scratch.resize(stackHeight);
  size_t top = 0;
  for (const Instruction &instruction : program) {
    if (instruction.op == Op::Variable) {
      Block &block = scratch[top++];
      switch (instruction.variable) {
      case Variable::S:
        std::copy_n(s, count, block.floats);
        break;
      case Variable::B:
        std::fill_n(block.ints, count, row.b);
        break;
      case Variable::H:
        std::fill_n(block.ints, count, row.h);
        break;
      case Variable::I:
        std::fill_n(block.ints, count, row.i);
        break;
      case Variable::J:
        for (int64_t n = 0; n < count; ++n)
          block.ints[n] = j0 + n;
        break;
      case Variable::Sq:
        std::fill_n(block.ints, count, row.sq);
        break;
      case Variable::Sk:
        std::fill_n(block.ints, count, row.sk);
        break;
      }
      continue;
    }
    top -= instruction.operandCount;
    execute(instruction, &scratch[top], count);
    ++top;
  }
}

template <typename Real>
void ExprEvaluator<Real>::evaluateScores(const RowCoordinates &row, int64_t j0, int64_t count,
                                         Real *s, Scratch &scratch) const {
  for (int64_t n = 0; n < count; n += kBlock) {
    const int64_t width = std::min(kBlock, count - n);
    evaluate(row, j0 + n, width, s + n, scratch);
    std::copy_n(scratch[0].floats, width, s + n);
  }
}

template <typename Real>
void ExprEvaluator<Real>::evaluateMask(const RowCoordinates &row, int64_t j0, int64_t count,
                                       uint8_t *keep, Scratch &scratch) const {
  for (int64_t n = 0; n < count; n += kBlock) {
    const int64_t width = std::min(kBlock, count - n);
    evaluate(row, j0 + n, width, nullptr, scratch);
    for (int64_t m = 0; m < width; ++m)
      keep[n + m] &= static_cast<uint8_t>(scratch[0].ints[m]);
  }
}

template class ExprEvaluator<double>;
template class ExprEvaluator<float>;

} // namespace flashc::reference
