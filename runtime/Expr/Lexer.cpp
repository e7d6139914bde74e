//===- Lexer.cpp - tokens of score and mask expressions -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Numbers are read with from_chars: independent of the locale, correctly rounded to f32.
//
//===----------------------------------------------------------------------===//

#include "runtime/Expr/Lexer.h"

#include "runtime/Support/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace flashc::expr {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }
static bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static std::string printable(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c < ' ' || c > '~')
      c = isSpace(c) ? ' ' : '?';
  return result;
}

std::string quoted(std::string_view text) {
  constexpr size_t longest = 40;
  if (text.size() > longest)
    return "'" + printable(text.substr(0, longest)) + "...'";
  return "'" + printable(text) + "'";
}

void Source::fail(size_t column, const std::string &message) const {
  // Mark the place below the line, of which at most some 70 bytes are shown.
  constexpr size_t before = 40, width = 70;
  size_t offset = std::min(column - 1, text.size());
  size_t start = offset > before ? offset - before : 0;
  std::string_view window = text.substr(start, width);
  std::string prefix = start > 0 ? "..." : "";
  std::string suffix = start + window.size() < text.size() ? "..." : "";
  throw Error(std::string(nameOf(kind)) + " expression, column " + std::to_string(column) + ": " +
              message + "\n  " + prefix + printable(window) + suffix + "\n  " +
              std::string(prefix.size() + offset - start, ' ') + "^");
}

std::string Token::describe() const {
  return kind == TokenKind::End ? "end of text" : quoted(text);
}

Token Lexer::number() {
  std::string_view text = source.text;
  Token token;
  token.column = position + 1;
  size_t begin = position;
  auto peek = [&](size_t at) { return at < text.size() ? text[at] : '\0'; };
  auto reject = [&](const std::string &message) { source.fail(token.column, message); };

  size_t end = begin;
  bool isHex = peek(end) == '0' && (peek(end + 1) == 'x' || peek(end + 1) == 'X');
  bool isFloat = false;
  if (isHex) {
    end += 2;
    while (std::isxdigit(static_cast<unsigned char>(peek(end))))
      ++end;
  } else {
    while (isDigit(peek(end)))
      ++end;
    if (peek(end) == '.') {
      isFloat = true;
      ++end;
      while (isDigit(peek(end)))
        ++end;
    }
    if (peek(end) == 'e' || peek(end) == 'E') {
      size_t exponent = end + 1;
      if (peek(exponent) == '+' || peek(exponent) == '-')
        ++exponent;
      if (isDigit(peek(exponent))) {
        isFloat = true;
        end = exponent;
        while (isDigit(peek(end)))
          ++end;
      }
    }
  }
  size_t tail = end;
  while (isNamePart(peek(tail)) || peek(tail) == '.')
    ++tail;
  std::string_view spelling = text.substr(begin, end - begin);
  if (tail != end || (isHex && spelling.size() == 2))
    reject("expected a number (decimal, 0x hexadecimal or like 1.5e-3, without suffix), got " +
           quoted(text.substr(begin, tail - begin)));
  token.text = spelling;
  position = end;

  if (isFloat) {
    token.kind = TokenKind::Float;
    auto [stop, error] =
        std::from_chars(spelling.data(), spelling.data() + spelling.size(), token.floatValue);
    std::string_view mantissa = spelling.substr(0, spelling.find_first_of("eE"));
    bool underflow =
        token.floatValue == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
    if (error != std::errc() || stop != spelling.data() + spelling.size() || underflow ||
        token.floatValue > 3.402823466e+38f)
      reject("expected a float literal within f32's range (1e-45 to 3.4e38), got " +
             quoted(spelling));
    return token;
  }

  token.kind = TokenKind::Int;
  if (!isHex && spelling.size() > 1 && spelling[0] == '0')
    reject("expected a decimal integer without leading zeros, got " + quoted(spelling) +
           "; octal literals are not supported");
  const char *first = spelling.data() + (isHex ? 2 : 0);
  auto [stop, error] =
      std::from_chars(first, spelling.data() + spelling.size(), token.intValue, isHex ? 16 : 10);
  if (error != std::errc())
    reject("expected an integer literal of at most 9223372036854775807, got " + quoted(spelling));
  return token;
}

Token Lexer::next() {
  std::string_view text = source.text;
  while (position < text.size() && isSpace(text[position]))
    ++position;
  Token token;
  token.column = position + 1;
  if (position == text.size())
    return token;

  char c = text[position];
  if (isDigit(c) || (c == '.' && position + 1 < text.size() && isDigit(text[position + 1])))
    return number();
  if (isNameStart(c)) {
    size_t end = position;
    while (end < text.size() && isNamePart(text[end]))
      ++end;
    token.kind = TokenKind::Name;
    token.text = text.substr(position, end - position);
    position = end;
    return token;
  }

  static constexpr std::string_view punctuators[] = {
      "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "?", ":", "|", "^", "&", "<",
      ">",  "+",  "-",  "*",  "/",  "%",  "!",  "~",  "(", ")", "[", "]", ","};
  for (std::string_view punctuator : punctuators) {
    if (!text.substr(position).starts_with(punctuator))
      continue;
    token.kind = TokenKind::Punctuator;
    token.text = text.substr(position, punctuator.size());
    position += punctuator.size();
    return token;
  }
  if (c == '=')
    source.fail(token.column, "expected '==', got '='; expressions cannot assign");
  source.fail(token.column,
              "expected a number, a name or an operator, got " + quoted(text.substr(position, 1)));
}

} // namespace flashc::expr
