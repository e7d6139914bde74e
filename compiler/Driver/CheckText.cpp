//===- CheckText.cpp - MLIR text that is safe to parse --------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One pass over the characters, without a grammar: strings, comments, brackets, and the few tokens that matter.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CheckText.h"
#include "runtime/Support/Error.h"

#include <algorithm>
#include <cctype>

namespace flashc {

namespace {

/// The longest text, the deepest nesting of brackets, and the longest affine map or set.
constexpr size_t kMaxTextBytes = 64u << 20;
constexpr int kMaxNesting = 256;
constexpr size_t kMaxAffineBytes = 4096;

bool isIdentifier(char ch) {
  return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '$';
}

class Scanner {
public:
  Scanner(std::string_view text, std::string_view name) : text(text), name(name) {}

  void run() {
    while (at < text.size()) {
      if (skipBlank())
        continue;
      char ch = text[at];
      if (ch == '"') {
        skipString();
      } else if (ch == '#' || ch == '!') {
        scanAlias();
      } else if (isIdentifier(ch)) {
        scanWord();
      } else {
        scanBracket(ch);
        ++at;
      }
      if (affineDepth >= 0 && at - affineBegin > kMaxAffineBytes)
        fail(name, ": expected affine maps and sets of at most ", kMaxAffineBytes,
             " bytes, got more; split the expression");
    }
  }

private:
  /// Skips white space and comments; whether there was any.
  bool skipBlank() {
    size_t begin = at;
    while (at < text.size()) {
      if (std::isspace(static_cast<unsigned char>(text[at])))
        ++at;
      else if (text.substr(at, 2) == "//")
        at = std::min(text.find('\n', at), text.size());
      else
        break;
    }
    return at != begin;
  }

  void skipString() {
    for (++at; at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == '"' || text[at] == '\n')
        break;
    }
    ++at;
  }

  void skipIdentifier() {
    while (at < text.size() && isIdentifier(text[at]))
      ++at;
  }

  void scanWord() {
    size_t begin = at;
    skipIdentifier();
    std::string_view word = text.substr(begin, at - begin);
    if ((word == "affine_map" || word == "affine_set") && affineDepth < 0) {
      affineDepth = depth;
      affineBegin = begin;
    }
    if (at < text.size() && text[at] == '#') // one result of several, %x#1
      ++at;
  }

  /// An alias of an attribute or type, at `#` or `!`. Those of dialects, `#dialect.name`, are none.
  void scanAlias() {
    ++at;
    size_t begin = at;
    while (at < text.size() && (isIdentifier(text[at]) || text[at] == '-'))
      ++at;
    if (at == begin || (at < text.size() && text[at] == '.'))
      return;
    size_t end = at;
    skipBlank();
    bool isDefinition = at < text.size() && text[at] == '=' && text.substr(at, 2) != "==";
    if (isDefinition && usesAliases)
      fail(name,
           ": expected all aliases to be defined before the first is used, got a definition of '",
           text.substr(begin - 1, end - begin + 1),
           "' after a use; write out the alias that it refers to");
    usesAliases |= !isDefinition;
  }

  void scanBracket(char ch) {
    if (ch == '{' || ch == '(' || ch == '[' || ch == '<') {
      if (++depth > kMaxNesting)
        fail(name, ": expected brackets nested at most ", kMaxNesting,
             " deep, got more; split the module");
    } else if (ch == '}' || ch == ')' || ch == ']' || (ch == '>' && !isOperator())) {
      depth = std::max(0, depth - 1);
      if (depth <= affineDepth)
        affineDepth = -1;
    }
  }

  /// Whether the `>` at hand belongs to `->` or `>=`.
  bool isOperator() const { return (at > 0 && text[at - 1] == '-') || text.substr(at, 2) == ">="; }

  std::string_view text, name;
  size_t at = 0;
  int depth = 0;
  int affineDepth = -1; ///< the depth that an affine map or set stands at, if in one
  size_t affineBegin = 0;
  bool usesAliases = false;
};

} // namespace

void checkText(std::string_view text, std::string_view name) {
  if (text.size() > kMaxTextBytes)
    fail(name, ": expected at most ", kMaxTextBytes, " bytes of MLIR, got ", text.size());
  // MLIR's reader of bytecode does not withstand damaged files.
  if (text.substr(0, 4) == "ML\xefR")
    fail(name, ": expected MLIR text, got MLIR bytecode; make it text with 'flash-opt FILE'");
  Scanner(text, name).run();
}

} // namespace flashc
