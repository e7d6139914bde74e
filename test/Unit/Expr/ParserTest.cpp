//===- ParserTest.cpp - tests of the expression front end -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Precedence, types, conversions, printing, limits and every error message of expressions.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/Parser.h"

#include "runtime/Support/Error.h"

#include "gtest/gtest.h"

using namespace flashc;

namespace {

const std::vector<CaptureInfo> captures = {{"slope", DType::F32, 1}, {"pos", DType::I64, 2},
                                           {"flag", DType::Bool, 1}, {"half", DType::F16, 1},
                                           {"wide", DType::F64, 1},  {"scalar", DType::BF16, 0},
                                           {"byte", DType::U8, 3}};

std::string score(std::string_view text) {
  return toString(parseExpression(text, ExprKind::Score, captures));
}
std::string mask(std::string_view text) {
  return toString(parseExpression(text, ExprKind::Mask, captures));
}
/// The first line of the error.
std::string error(std::string_view text, ExprKind kind = ExprKind::Score) {
  try {
    parseExpression(text, kind, captures);
  } catch (const Error &e) {
    std::string message = e.what();
    return message.substr(0, message.find('\n'));
  }
  return "no error";
}
std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int n = 0; n < count; ++n)
    result += text;
  return result;
}

TEST(Parser, Examples) {
  EXPECT_EQ(mask("j <= i + sk - sq && i - j < 128"), "j <= i + sk - sq && i - j < 128");
  EXPECT_EQ(score("s + slope[h] * (j - i)"), "s + slope[h] * float(j - i)");
  EXPECT_EQ(score(" s*2.5e0 "), "s * 2.5");
  EXPECT_EQ(score("s\n+\t.5"), "s + 0.5");
}

TEST(Parser, PrecedenceIsThatOfC) {
  EXPECT_EQ(score("((s + (s * s)) - s)"), "s + s * s - s");
  EXPECT_EQ(score("s - (s - s)"), "s - (s - s)");
  EXPECT_EQ(score("(s + s) * s"), "(s + s) * s");
  EXPECT_EQ(mask("(i < j) || ((j < i) && (h == b))"), "i < j || j < i && h == b");
  EXPECT_EQ(mask("(i & 1) == 0"), "(i & 1) == 0");
  EXPECT_EQ(mask("i & (1 == 0)"), "(i & int(1 == 0)) != 0");
  EXPECT_EQ(mask("i & 1 == 0"), "(i & int(1 == 0)) != 0");
  EXPECT_EQ(mask("(i | ((j ^ (h & b))))"), "(i | j ^ h & b) != 0");
  EXPECT_EQ(mask("i << (1 + j) < 3"), "i << 1 + j < 3");
  EXPECT_EQ(mask("(i < j) == (j < h)"), "int(i < j) == int(j < h)");
  EXPECT_EQ(mask("i < j == j < h"), "int(i < j) == int(j < h)");
  EXPECT_EQ(score("-s * s"), "-s * s");
  EXPECT_EQ(score("-(s * s)"), "-(s * s)");
  EXPECT_EQ(mask("!(i < j)"), "!(i < j)");
  EXPECT_EQ(mask("!i < j"), "int(!(i != 0)) < j");
  EXPECT_EQ(score("i < j ? s : j < i ? s + 1.0 : 2.0"),
            "select(i < j, s, select(j < i, s + 1.0, 2.0))");
  EXPECT_EQ(score("(i < j ? i < h : h) + s"), "float(select(i < j, int(i < h), h)) + s");
  EXPECT_EQ(score("i--j"), "float(i - -j)");
}

TEST(Parser, TypesAndConversions) {
  EXPECT_EQ(score("1"), "float(1)");
  EXPECT_EQ(score("i < j"), "float(int(i < j))");
  EXPECT_EQ(mask("i"), "i != 0");
  EXPECT_EQ(mask("slope[h]"), "slope[h] != 0.0");
  EXPECT_EQ(mask("i && slope[h]"), "i != 0 && slope[h] != 0.0");
  EXPECT_EQ(mask("(i < j) & (j < h)"), "i < j & j < h");
  EXPECT_EQ(mask("~(i < j)"), "~int(i < j) != 0");
  EXPECT_EQ(score("+(i < j)"), "float(int(i < j))");
  EXPECT_EQ(score("float(i) / 2"), "float(i) / float(2)");
  EXPECT_EQ(score("i / 2"), "float(i / 2)");
  EXPECT_EQ(score("int(s) % 2"), "float(int(s) % 2)");
  EXPECT_EQ(score("int(i)"), "float(i)");
  EXPECT_EQ(score("float(s)"), "s");
  EXPECT_EQ(score("min(i, s)"), "min(float(i), s)");
  EXPECT_EQ(score("max(i, j)"), "float(max(i, j))");
  EXPECT_EQ(score("abs(i - j)"), "float(abs(i - j))");
  EXPECT_EQ(score("exp(i) + log(s) + tanh(s) + floor(j) + sqrt(2)"),
            "exp(float(i)) + log(s) + tanh(s) + floor(float(j)) + sqrt(float(2))");
  EXPECT_EQ(score("select(i, i, s)"), "select(i != 0, float(i), s)");
  EXPECT_EQ(score("flag[i < j]"), "float(flag[int(i < j)])");
  EXPECT_EQ(score("half[pos[i, j]] + wide[0] + scalar + scalar[] + byte[0, 1, 2]"),
            "half[pos[i, j]] + wide[0] + scalar[] + scalar[] + float(byte[0, 1, 2])");

  TypedExpr expr = parseExpression("s + slope[h] * (j - i)", ExprKind::Score, captures);
  ASSERT_EQ(expr.root->op, Op::Add);
  EXPECT_EQ(expr.root->type, Type::Float);
  const Node &product = *expr.root->operands[1];
  ASSERT_EQ(product.op, Op::Mul);
  EXPECT_EQ(product.operands[0]->captureIndex, 0);
  EXPECT_EQ(product.operands[1]->op, Op::IntToFloat);
  EXPECT_EQ(product.operands[1]->operands[0]->type, Type::Int);
  EXPECT_EQ(product.column, 14u);
  EXPECT_TRUE(usesVariable(*expr.root, Variable::J));
  EXPECT_FALSE(usesVariable(*expr.root, Variable::B));
  EXPECT_TRUE(usesCapture(*expr.root, 0));
  EXPECT_FALSE(usesCapture(*expr.root, 1));
}

TEST(Parser, Literals) {
  EXPECT_EQ(score("0x1F"), "float(31)");
  EXPECT_EQ(score("0x7fffffffffffffff"), "float(9223372036854775807)");
  EXPECT_EQ(score("9223372036854775807"), "float(9223372036854775807)");
  EXPECT_EQ(score("1e-3"), "0.001");
  EXPECT_EQ(score("1."), "1.0");
  EXPECT_EQ(score("0.0e7"), "0.0");
  EXPECT_EQ(score("1e-45"), "1e-45");
  EXPECT_EQ(score("3.4028235e38"), "3.4028235e+38");
  TypedExpr tenth = parseExpression("0.1", ExprKind::Score);
  EXPECT_EQ(tenth.root->floatValue, double(0.1f));
}

TEST(Parser, Errors) {
  EXPECT_EQ(error("s + (h * 2"), "score expression, column 11: expected ')', got end of text");
  EXPECT_EQ(error(""), "score expression, column 1: expected a value, got end of text");
  EXPECT_EQ(error("", ExprKind::Mask),
            "mask expression, column 1: expected a value, got end of text");
  EXPECT_EQ(error("s s"),
            "score expression, column 3: expected an operator or end of text, got 's'");
  EXPECT_EQ(error("s + "), "score expression, column 5: expected a value, got end of text");
  EXPECT_EQ(error("s = 1"),
            "score expression, column 3: expected '==', got '='; expressions cannot assign");
  EXPECT_EQ(error("s $ 1"),
            "score expression, column 3: expected a number, a name or an operator, got '$'");
  EXPECT_EQ(error("\xff"),
            "score expression, column 1: expected a number, a name or an operator, got '?'");
  EXPECT_EQ(error("s > 0 ? s"), "score expression, column 10: expected ':', got end of text");
  EXPECT_EQ(error("min(s, 1"), "score expression, column 9: expected ')' or ',', got end of text");
  EXPECT_EQ(error("slope[h"), "score expression, column 8: expected ']' or ',', got end of text");
  EXPECT_EQ(error("s < j", ExprKind::Mask),
            "mask expression, column 1: expected no score in a mask expression, got 's'; a score "
            "expression can drop keys by their score");
  EXPECT_EQ(error("s + t"),
            "score expression, column 5: expected a variable (s b h i j sq sk), a function or a "
            "capture, got 't'; captures: slope, pos, flag, half, wide, scalar, byte");
  EXPECT_EQ(error("i and j", ExprKind::Mask),
            "mask expression, column 3: expected an operator or end of text, got 'and'");
  EXPECT_EQ(error("not i", ExprKind::Mask),
            "mask expression, column 1: expected a variable (b h i j sq sk), a function or a "
            "capture, got 'not'; use !");
  EXPECT_EQ(error("exp + 1"),
            "score expression, column 1: expected a variable (s b h i j sq sk), a function or a "
            "capture, got 'exp'; call the function: exp(...)");
  EXPECT_EQ(error("sin(s)"),
            "score expression, column 1: expected a function (min max exp log tanh "
            "abs select int float floor sqrt), got 'sin'");
  EXPECT_EQ(error("s(1)"), "score expression, column 1: expected a function before '(', got "
                           "variable 's'");
  EXPECT_EQ(error("slope(1)"), "score expression, column 1: expected a function before '(', got "
                               "capture 'slope'; read it with slope[...]");
  EXPECT_EQ(error("s[1]"), "score expression, column 1: expected a captured array before '[', got "
                           "'s'");
  EXPECT_EQ(error("min(s)"), "score expression, column 1: expected 2 arguments for 'min', got 1");
  EXPECT_EQ(error("exp()"), "score expression, column 1: expected 1 argument for 'exp', got 0");
  EXPECT_EQ(error("slope"), "score expression, column 1: expected 1 index for capture 'slope' (one "
                            "per dimension), got 0");
  EXPECT_EQ(error("pos[i]"),
            "score expression, column 1: expected 2 indexes for capture 'pos' (one "
            "per dimension), got 1");
  EXPECT_EQ(error("slope[s]"), "score expression, column 7: expected an integer index for capture "
                               "'slope', got f32; convert with int(...)");
  EXPECT_EQ(error("s % 2"), "score expression, column 3: expected integers for '%', got f32 and "
                            "i64; convert with int(...)");
  EXPECT_EQ(error("1 << s"), "score expression, column 3: expected integers for '<<', got i64 and "
                             "f32; convert with int(...)");
  EXPECT_EQ(error("~s"), "score expression, column 1: expected an integer for '~', got f32; "
                         "convert with int(...)");
}

TEST(Parser, BadNumbers) {
  const char *number = "expected a number (decimal, 0x hexadecimal or like 1.5e-3, without "
                       "suffix), got ";
  for (std::string text : {"1f", "1.0f", "0x", "0xg", "1e", "1e+", "1.2.3", "12abc", "1.x"})
    EXPECT_TRUE(error(text).find(number) != std::string::npos) << text << ": " << error(text);
  EXPECT_EQ(error("010"), "score expression, column 1: expected a decimal integer without leading "
                          "zeros, got '010'; octal literals are not supported");
  EXPECT_EQ(error("9223372036854775808"),
            "score expression, column 1: expected an integer literal of at most "
            "9223372036854775807, got '9223372036854775808'");
  for (std::string text : {"1e39", "3.5e38", "1e-46", "1e-400", "1e999999999999", "1e-99999999999"})
    EXPECT_TRUE(error(text).find("expected a float literal within f32's range") !=
                std::string::npos)
        << text << ": " << error(text);
}

TEST(Parser, CaretMarksTheColumn) {
  try {
    parseExpression("s + (h * 2", ExprKind::Score);
    FAIL();
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "score expression, column 11: expected ')', got end of text\n"
                           "  s + (h * 2\n"
                           "            ^");
  }
  try {
    parseExpression(repeat("s + ", 100) + "$" + repeat(" + s", 100), ExprKind::Score);
    FAIL();
  } catch (const Error &e) {
    std::string message = e.what();
    size_t text = message.find('\n') + 1, caret = message.find('\n', text) + 1;
    EXPECT_EQ(message[text + message.find('^') - caret], '$') << message;
    EXPECT_LT(message.size(), 300u);
  }
}

TEST(Parser, CaptureNames) {
  auto bad = [](std::vector<CaptureInfo> infos) {
    EXPECT_THROW(parseExpression("s", ExprKind::Score, infos), Error);
  };
  bad({{"exp", DType::F32, 1}});
  bad({{"sq", DType::F32, 1}});
  bad({{"", DType::F32, 1}});
  bad({{"1a", DType::F32, 1}});
  bad({{"a-b", DType::F32, 1}});
  bad({{"a", DType::F32, 1}, {"a", DType::F32, 2}});
}

TEST(Parser, LimitsHoldWithoutOverflow) {
  EXPECT_EQ(score(repeat("(", 256) + "s" + repeat(")", 256)), "s");
  for (std::string open :
       {"(", "-", "!", "exp(", "slope[", "i ? ", "i ? 1 : ", "1||1&&1|1^1&1==1<1<<1+1*("}) {
    std::string text = repeat(open, 2000);
    EXPECT_TRUE(error(text).find("expected a nesting of at most 256, got deeper") !=
                std::string::npos)
        << error(text);
  }
  EXPECT_EQ(score("s" + repeat("+s", 1000)).size(), 1 + 1000 * 4u);
  EXPECT_TRUE(error("s" + repeat("+s", 1100)).find("group long chains") != std::string::npos);
  EXPECT_EQ(error(std::string(kMaxExprLength + 1, ' ')),
            "score expression: expected at most 65536 bytes, got 65537");
}

TEST(Parser, DeepTreesAreDestroyedWithoutRecursion) {
  NodePtr node = std::make_unique<Node>(Op::Variable, Type::Float);
  for (int n = 0; n < 2000000; ++n) {
    auto parent = std::make_unique<Node>(Op::Neg, Type::Float);
    parent->operands.push_back(std::move(node));
    node = std::move(parent);
  }
  node.reset();
}

TEST(Parser, PrintingRoundTrips) {
  for (std::string text :
       {"s", "-s - -s", "s * (s / s) / s", "1e-3 + 12345678.0 + 1e30", "!(i < j) + s",
        "((i << 3) >> j) % 7 * s", "select(i > j, s, -1e30) + half[pos[b, j] / 2]",
        "i < j ? s : i ? float(h) : 2", "(i ^ j) & ~3 | h", "s < 1.0 && (i < j || flag[j])",
        "min(max(s, 1), abs(i - j))", "--i - - -j"}) {
    TypedExpr first = parseExpression(text, ExprKind::Score, captures);
    TypedExpr second = parseExpression(toString(first), ExprKind::Score, captures);
    EXPECT_TRUE(structurallyEqual(*first.root, *second.root)) << text << " -> " << toString(first);
  }
}

} // namespace
