//===- AST.h - typed syntax tree of score and mask expressions -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What `--score` and `--mask` mean. The tree is explicit: every node has a type, every conversion
// is a node, and the operations are a closed list, so that a consumer (the region builder, the
// reference's evaluator) translates it node by node without knowing any rule of the language.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_RUNTIME_EXPR_AST_H
#define FLASHC_RUNTIME_EXPR_AST_H

#include "runtime/Support/DType.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// The types of the language: a truth value (i1), a wrapping 64-bit integer (i64), a float (f32).
enum class Type { Bool, Int, Float };

/// The variables: the scaled score (f32, score expressions only), then i64 coordinates and lengths.
/// `h` is the query head; in packed batches `b` is the sequence, and `i j sq sk` are local to it.
enum class Variable { S, B, H, I, J, Sq, Sk };

/// Whether an expression maps a score to a score (f32) or says which keys are kept (Bool).
enum class ExprKind { Score, Mask };

/// The operations. T is the node's type; unless said otherwise operands have type T as well.
enum class Op {
  // Leaves.
  IntLiteral,   ///< Int: `intValue`.
  FloatLiteral, ///< Float: `floatValue`, exactly an f32, finite and not negative.
  Variable,     ///< Float for S, Int for the others: `variable`.
  Capture, ///< Int or Float: element [operands...] of capture `captureIndex`; operands are Int,
           ///< one per dimension. Bool and integer arrays read as Int (bool as 0 or 1), float
           ///< arrays as Float (f64 rounded to f32). Outside the array (negative too) it is 0.
  // Conversions. (Number to Bool is `Ne` with a literal 0.)
  BoolToInt,  ///< Int of a Bool: 0 or 1.
  IntToFloat, ///< Float of an Int, rounded to nearest even.
  FloatToInt, ///< Int of a Float: truncates toward zero, saturates, NaN gives 0.
  // Bool. Both sides may be evaluated.
  LogicalNot, ///< Bool.
  LogicalAnd, ///< Bool.
  LogicalOr,  ///< Bool.
  // Bool (of Bools) or Int.
  BitAnd,
  BitOr,
  BitXor,
  // Int.
  BitNot,
  Shl, ///< An amount outside 0..63 gives 0.
  Shr, ///< Arithmetic; an amount outside 0..63 counts as 63 (gives 0, or -1 for a negative value).
  Rem, ///< Sign of the dividend, as in C; x % 0 = 0, INT64_MIN % -1 = 0.
  // Int (wrapping) or Float (IEEE).
  Neg,
  Add,
  Sub,
  Mul,
  Div, ///< Int: truncates as in C, x / 0 = 0, INT64_MIN / -1 = INT64_MIN. Float: IEEE.
  Min, ///< Float: IEEE minimum (NaN if either is NaN; -0 < +0).
  Max, ///< Float: IEEE maximum.
  Abs, ///< Int: abs(INT64_MIN) = INT64_MIN.
  // Comparisons: Bool, of two Ints or two Floats (ordered, except that NaN != x holds).
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  // Float.
  Exp,
  Log,
  Tanh,
  Sqrt,
  Floor,
  // Bool, Int or Float: operands (Bool condition, T, T). Both branches may be evaluated.
  Select,
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

/// One operation of an expression.
struct Node {
  Op op;
  Type type;
  int64_t intValue = 0;
  double floatValue = 0;
  Variable variable = Variable::S;
  int captureIndex = -1;
  std::vector<NodePtr> operands;
  uint32_t column = 0; ///< 1-based column in the source text, for diagnostics.
  uint32_t depth = 1;  ///< 1 + the largest depth of an operand; at most kMaxTreeDepth.

  Node(Op op, Type type) : op(op), type(type) {}
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;
  /// Destroys without recursion, whatever the depth.
  ~Node();
};

/// A captured array as the type checker sees it.
struct CaptureInfo {
  std::string name;
  DType dtype = DType::F32;
  int rank = 0;
};

/// A checked expression. Copies share the (immutable) tree. The root is Float for scores, Bool for
/// masks.
struct TypedExpr {
  ExprKind kind = ExprKind::Score;
  std::shared_ptr<const Node> root;
  std::vector<CaptureInfo> captures; ///< What `captureIndex` refers to.
};

/// Longest accepted text, in bytes.
inline constexpr size_t kMaxExprLength = 64 * 1024;
/// Deepest accepted nesting of parentheses, calls, indices, unary operators and `?:` branches.
inline constexpr int kMaxExprNesting = 256;
/// Deepest tree that the type checker builds, so that consumers may recurse.
inline constexpr uint32_t kMaxTreeDepth = 1024;

/// "bool", "i64" or "f32".
const char *nameOf(Type type);
/// "s", "b", "h", "i", "j", "sq" or "sk".
const char *nameOf(Variable variable);
/// "score" or "mask".
const char *nameOf(ExprKind kind);
/// The type that a read of an array of this dtype has.
Type typeOfCapture(DType dtype);

/// Whether two trees are equal: operations, types, values and structure (columns are ignored).
bool structurallyEqual(const Node &a, const Node &b);
/// Whether the tree reads the variable.
bool usesVariable(const Node &node, Variable variable);
/// Whether the tree reads the capture.
bool usesCapture(const Node &node, int captureIndex);

/// Prints a tree as text that parses back to an equal tree, with conversions explicit (`float(i)`,
/// `int(i < j)`) and no needless parentheses. (Explicit conversions may nest deeper than the
/// source.)
std::string toString(const Node &node, std::span<const CaptureInfo> captures = {});
std::string toString(const TypedExpr &expr);

} // namespace flashc

#endif // FLASHC_RUNTIME_EXPR_AST_H
