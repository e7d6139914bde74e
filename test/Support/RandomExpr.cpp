//===- RandomExpr.cpp - random score and mask expressions -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A small grammar with one production per kind of value. Parentheses are always written, so that
// the types are the intended ones.
//
//===----------------------------------------------------------------------===//

#include "test/Support/RandomExpr.h"

namespace flashc::test {

RandomExpr::RandomExpr(uint64_t seed, ExprSizes sizes, bool nonFinite)
    : engine(seed), sizes(sizes), nonFinite(nonFinite) {}

std::vector<CaptureInfo> RandomExpr::captureInfos() const {
  std::vector<CaptureInfo> infos;
  for (const Capture &capture : arrays)
    infos.push_back({capture.name, capture.array.dtype, static_cast<int>(capture.array.rank())});
  return infos;
}

std::string RandomExpr::pick(std::initializer_list<const char *> choices) {
  return choices.begin()[below(choices.size())];
}

/// Mostly exact in every float type.
std::string RandomExpr::decimal() {
  if (chance(20))
    return pick({"0.1", "1e-3", "3.14159", ".7", "2.", "0.333"});
  static const char *fractions[] = {".0", ".125", ".25", ".5", ".75"};
  return std::to_string(below(3)) + fractions[below(5)];
}

std::string RandomExpr::read(char kind, int depth) {
  auto kindOf = [](DType dtype) { return dtype == DType::Bool ? 'b' : isFloat(dtype) ? 'f' : 'i'; };
  constexpr size_t most = 4;
  size_t chosen = arrays.size();
  for (size_t n = 0; n < arrays.size(); ++n)
    if (kindOf(arrays[n].array.dtype) == kind && (chance(50) || arrays.size() >= most))
      chosen = n;
  if (chosen == arrays.size()) {
    if (arrays.size() >= most)
      return kind == 'f' ? decimal() : literal(9);
    static constexpr DType integers[] = {DType::I8, DType::I16, DType::I32, DType::I64, DType::U8};
    static constexpr DType floats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};
    const DType dtype = kind == 'b'   ? DType::Bool
                        : kind == 'i' ? integers[below(5)]
                                      : floats[below(4)];
    std::vector<int64_t> shape;
    std::string subscript;
    for (uint64_t rank = 1 + below(3), n = 0; n < rank; ++n) {
      struct Axis {
        const char *name;
        int64_t size;
      };
      const Axis axes[] = {{"b", sizes.b},
                           {"h", sizes.h},
                           {"i", sizes.sq},
                           {"j", sizes.sk},
                           {"(j - i + sq)", sizes.sq + sizes.sk},
                           {"(i % 7)", 5}};
      const Axis &axis = axes[below(6)];
      // An array that is too short reads as 0 beyond its end. Some thousands of elements suffice.
      int64_t size = chance(85) ? axis.size : static_cast<int64_t>(below(axis.size + 1));
      shape.push_back(std::min<int64_t>(size, n == 0 ? 4096 : 64));
      subscript += (n ? ", " : "") + std::string(axis.name);
    }
    HostArray array = HostArray::zeros(dtype, shape);
    for (int64_t n = 0; n < array.numElements(); ++n)
      if (kind == 'b')
        array.setInt(n, static_cast<int64_t>(below(2)));
      else if (kind == 'i')
        array.setInt(n, static_cast<int64_t>(below(std::min<int64_t>(sizes.sk + 6, 100))) - 3);
      else // Multiples of 1/64 in [-1, 1] are exact in every float type; f64 is also rounded.
        array.set(n, (static_cast<double>(below(129)) - 64) / 64 *
                         (dtype == DType::F64 ? 1.000000001 : 1));
    arrays.push_back({"c" + std::to_string(arrays.size()), std::move(array)});
    subscripts.push_back(subscript);
  }
  const Capture &capture = arrays[chosen];
  const std::string name = capture.name; // The recursion below may move the arrays.
  const int64_t rank = capture.array.rank();
  if (depth <= 0 || chance(80))
    return name + "[" + subscripts[chosen] + "]";
  std::string indices;
  for (int64_t n = 0; n < rank; ++n)
    indices += (n ? ", " : "") + integer(depth - 1);
  return name + "[" + indices + "]";
}

std::string RandomExpr::integer(int depth) {
  if (depth <= 0 || chance(20))
    return chance(70) ? variable() : literal(18);
  const int next = depth - 1;
  switch (below(12)) {
  case 0:
  case 1:
  case 2:
    return "(" + integer(next) + pick({" + ", " - "}) + integer(next) + ")";
  case 3:
    return "(" + integer(next) + " * " + integer(next) + ")";
  case 4:
    return "(" + integer(next) + pick({" / ", " % "}) + integer(next) + ")";
  case 5:
    return "(" + integer(next) + pick({" & ", " | ", " ^ "}) + integer(next) + ")";
  case 6:
    return "(" + integer(next) + pick({" << ", " >> "}) +
           (chance(90) ? literal(5) : integer(next)) + ")";
  case 7:
    return pick({"min(", "max("}) + integer(next) + ", " + integer(next) + ")";
  case 8:
    return pick({"abs(", "-(", "~(", "int(", "+("}) + integer(next) + ")";
  case 9:
    return chance(50)
               ? "select(" + boolean(next) + ", " + integer(next) + ", " + integer(next) + ")"
               : "(" + boolean(next) + " ? " + integer(next) + " : " + integer(next) + ")";
  case 10:
    return read('i', next);
  default:
    return chance(50) ? "int(" + read('f', next) + " * 8.0)" : "(" + boolean(next) + " + 0)";
  }
}

std::string RandomExpr::family() {
  switch (below(8)) {
  case 0:
    return "(j <= i)";
  case 1:
    return "(j <= i + sk - sq)";
  case 2:
    return "(i - j < " + literal(40) + ")";
  case 3:
    return "(j < " + literal(sizes.sk + 2) + ")";
  case 4: {
    const std::string size = std::to_string(1 + below(40));
    return "(i / " + size + " == j / " + size + ")";
  }
  case 5:
    return "(i + sk - sq - j <= " + literal(60) + ")";
  case 6:
    return "((j <= i) || (j < " + literal(20) + "))";
  default:
    return "(abs(i - j) <= " + literal(30) + ")";
  }
}

std::string RandomExpr::boolean(int depth) {
  if (depth <= 0 || chance(25))
    return family();
  const int next = depth - 1;
  switch (below(9)) {
  case 0:
  case 1:
    return "(" + integer(next) + pick({" < ", " <= ", " > ", " >= ", " == ", " != "}) +
           integer(next) + ")";
  case 2:
  case 3:
    return "(" + boolean(next) + pick({" && ", " || "}) + boolean(next) + ")";
  case 4:
    return "(" + boolean(next) + pick({" & ", " | ", " ^ ", " == ", " != "}) + boolean(next) + ")";
  case 5:
    return "!" + boolean(next);
  case 6:
    return chance(50) ? "(" + read('b', next) + " != 0)" : "(" + read('f', next) + " < 0.25)";
  case 7:
    return "select(" + boolean(next) + ", " + boolean(next) + ", " + boolean(next) + ")";
  default:
    return "((" + integer(next) + " & " + literal(8) + ") != 0)";
  }
}

std::string RandomExpr::bounded(int depth) {
  if (depth <= 0)
    return chance(50) ? decimal() : read('f', 0);
  const int next = depth - 1;
  switch (below(12)) {
  case 0:
    return "tanh(" + bounded(next) + ")";
  case 1:
    return "(float(" + integer(next) + " % 17) / 4.0)";
  case 2:
    return "((" + integer(next) + " % 9) * " + decimal() + ")";
  case 3:
    return "(" + boolean(next) + " * " + decimal() + ")";
  case 4:
    return "(" + bounded(next) + pick({" + ", " - "}) + bounded(next) + ") * 0.5";
  case 5:
    return "(" + bounded(next) + " / (1.0 + abs(" + bounded(next) + ")))";
  case 6:
    return "exp(min(" + bounded(next) + ", 2))";
  case 7:
    return chance(50) ? "log(1 + abs(" + bounded(next) + "))"
                      : "sqrt(abs(" + bounded(next) + ") + 0.5)";
  case 8:
    return "select(" + boolean(next) + ", " + bounded(next) + ", " + bounded(next) + ")";
  case 9:
    return pick({"min(", "max("}) + bounded(next) + ", " + bounded(next) + ")";
  case 10:
    return "floor(" + read('f', next) + " * 8)";
  default:
    return "-(" + bounded(next) + ")";
  }
}

std::string RandomExpr::score(int depth) {
  std::string s = "s";
  for (uint64_t steps = 1 + below(3); steps > 0; --steps) {
    switch (below(9)) {
    case 0:
    case 1:
    case 2:
      s = "(" + s + pick({" + ", " - "}) + bounded(depth) + ")";
      break;
    case 3:
      s = "(" + s + " * " + decimal() + ")";
      break;
    case 4:
      s = "(tanh(" + s + " / 8) * 8.0)";
      break;
    case 5: // Continuous, though it branches on a float.
      s = "select(" + s + " > 0, " + s + ", 0.25 * " + s + ")";
      break;
    case 6:
      s = pick({"min(", "max("}) + s + ", " + bounded(depth) + ")";
      break;
    case 7:
      s = "(" + boolean(depth) + " ? " + s + " : " + s + " * 0.5)";
      break;
    default:
      s = "(" + s + " + " + read('f', 1) + " * (j - i) / " + std::to_string(1 + below(32)) + ")";
      break;
    }
    if (s.size() > 4000)
      break;
  }
  if (nonFinite && chance(20))
    s = "select(" + boolean(1) + ", " + s + ", " +
        pick({"-1e30", "-1.0 / 0.0", "-1.0 / 0.0", "log(0)", "-1e5"}) + ")";
  if (nonFinite && chance(3))
    s = "(j == " + literal(sizes.sk + 1) + " && i == " + literal(sizes.sq + 1) + " ? " +
        pick({"0.0 / 0.0", "1 / 0.0", "log(-1)"}) + " : " + s + ")";
  return s;
}

std::string RandomExpr::mask(int depth) {
  if (chance(50)) {
    std::string text = family();
    for (uint64_t n = below(3); n > 0; --n)
      text += " && " + family();
    return text;
  }
  return chance(90) ? boolean(depth) : integer(depth);
}

} // namespace flashc::test
