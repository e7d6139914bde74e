//===- NpyHeader.cpp - the dict literal that opens a .npy -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A strict reader of the one Python literal that numpy writes: three keys in
// any order, each once; strings without escapes, True/False, a tuple of decimal
// integers. It walks the text once, without recursion.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Npy.h"

#include "runtime/IO/Messages.h"

#include <utility>

namespace flashc {
namespace {

constexpr size_t kMaxRank = 64; // numpy's own

class HeaderReader {
public:
  HeaderReader(std::string_view text, const std::string &name) : text(text), name(name) {}

  NpyHeader read() {
    NpyHeader header;
    bool seenDescr = false, seenOrder = false, seenShape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = readString("a key");
      expect(':');
      if (key == "descr") {
        markSeen(seenDescr, key);
        readDescr(header);
      } else if (key == "fortran_order") {
        markSeen(seenOrder, key);
        header.fortranOrder = readBool();
      } else if (key == "shape") {
        markSeen(seenShape, key);
        header.shape = readShape();
      } else {
        failHeader("the keys 'descr', 'fortran_order' and 'shape'", printable(key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (position != text.size())
      failHeader("nothing but padding after the dictionary", rest());
    if (!seenDescr || !seenOrder || !seenShape)
      failHeader("the keys 'descr', 'fortran_order' and 'shape'",
                 concat("none named ", !seenDescr   ? "'descr'"
                                       : !seenOrder ? "'fortran_order'"
                                                    : "'shape'"));
    return header;
  }

private:
  [[noreturn]] void failHeader(std::string_view expected, std::string_view got) const {
    fail(name, ": expected ", expected, " in the .npy header, got ", got,
         "; write the file with numpy.save");
  }

  void markSeen(bool &seen, std::string_view key) const {
    if (seen)
      failHeader(concat("the key ", printable(key), " once"), "it twice");
    seen = true;
  }

  std::string rest() const {
    return position < text.size() ? printable(text.substr(position, 20)) : "its end";
  }

  void skipSpace() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\t' ||
                                      text[position] == '\n' || text[position] == '\r'))
      ++position;
  }

  bool take(char c) {
    skipSpace();
    if (position >= text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  void expect(char c) {
    if (!take(c))
      failHeader(printable(std::string_view(&c, 1)), rest());
  }

  std::string_view readString(std::string_view what) {
    skipSpace();
    const char quote = position < text.size() ? text[position] : '\0';
    if (quote != '\'' && quote != '"')
      failHeader(concat(what, " in quotes"), rest());
    const size_t start = position + 1;
    const size_t end = text.find(quote, start);
    if (end == std::string_view::npos)
      failHeader("a closing quote", rest());
    position = end + 1;
    const std::string_view value = text.substr(start, end - start);
    if (value.find('\\') != std::string_view::npos)
      failHeader("strings without escapes", printable(value));
    return value;
  }

  bool readBool() {
    skipSpace();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text.substr(position, word.size()) == word) {
        position += word.size();
        return value;
      }
    }
    failHeader("True or False for 'fortran_order'", rest());
  }

  int64_t readExtent() {
    skipSpace();
    if (position < text.size() && text[position] == '-')
      failHeader("extents of at least 0", rest());
    const size_t start = position;
    int64_t value = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text[position] - '0'), &value))
        failHeader("extents below 2^63", printable(text.substr(start, 20)));
    if (position == start)
      failHeader("an integer extent", rest());
    if (position < text.size() && text[position] == 'L') // Python 2's long
      ++position;
    return value;
  }

  std::vector<int64_t> readShape() {
    std::vector<int64_t> shape;
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma)
        failHeader("',' or ')' in the shape", rest());
      if (shape.size() == kMaxRank)
        failHeader(concat("at most ", kMaxRank, " dimensions"), "more");
      shape.push_back(readExtent());
      comma = take(',');
    }
    if (shape.size() == 1 && !comma)
      failHeader("a tuple as shape, '(n,)'", "an integer in parentheses");
    return shape;
  }

  void readDescr(NpyHeader &header) {
    skipSpace();
    if (position < text.size() && text[position] == '[')
      failHeader("one element type", "a structured type (a list of fields)");
    const std::string_view descr = readString("an element type");
    if (descr == "bfloat16") {
      header.dtype = DType::BF16;
      return;
    }
    std::string_view code = descr;
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
      header.bigEndian = code[0] == '>';
      code.remove_prefix(1);
    }
    if (code == "V2")
      fail(name, ": expected a named element type, got ", printable(descr),
           ", two bytes of unknown meaning (bfloat16 is saved so); save a.astype('float32') "
           "(exact for bfloat16; --dtype bf16 rounds back) or use .safetensors");
    constexpr std::pair<std::string_view, DType> codes[] = {
        {"f2", DType::F16},  {"f4", DType::F32}, {"f8", DType::F64},
        {"b1", DType::Bool}, {"i1", DType::I8},  {"i2", DType::I16},
        {"i4", DType::I32},  {"i8", DType::I64}, {"u1", DType::U8}};
    for (const auto &[spelling, dtype] : codes) {
      if (code == spelling) {
        header.dtype = dtype;
        return;
      }
    }
    fail(name, ": expected element type f2, f4, f8, b1, i1, i2, i4, i8, u1 or bfloat16, got ",
         printable(descr), "; convert the array with a.astype before saving");
  }

  std::string_view text;
  const std::string &name;
  size_t position = 0;
};

} // namespace

NpyHeader parseNpyHeader(std::string_view text, const std::string &name) {
  return HeaderReader(text, name).read();
}

} // namespace flashc
