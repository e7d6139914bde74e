//===- AttentionFields.cpp - the table of AttentionDesc's fields -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Key, help, setter and getter of every field in one place, so that flags, the
// C ABI and JSON cannot drift apart. Texts round-trip: set(get()) changes nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/AttentionDesc.h"
#include "runtime/Support/Error.h"

#include <charconv>
#include <cmath>

namespace flashc {
namespace {

template <typename Number> std::optional<Number> parseNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

int64_t parseInteger(const char *key, std::string_view text) {
  const std::optional<int64_t> value = parseNumber<int64_t>(text);
  if (!value)
    fail(key, ": expected an integer, got '", text, "'");
  return *value;
}

/// "" is "absent".
std::optional<double> parseReal(const char *key, std::string_view text) {
  if (text.empty())
    return std::nullopt;
  const std::optional<double> value = parseNumber<double>(text);
  if (!value || !std::isfinite(*value))
    fail(key, ": expected a finite number, got '", text, "'");
  return value;
}

/// The shortest text that reads back as `value`.
std::string printReal(std::optional<double> value) {
  if (!value)
    return "";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), *value);
  return std::string(buffer, result.ptr);
}

bool parseFlag(const char *key, std::string_view text) {
  if (text == "true" || text == "1")
    return true;
  if (text == "false" || text == "0")
    return false;
  fail(key, ": expected true or false, got '", text, "'");
}

std::string printFlag(bool value) { return value ? "true" : "false"; }

DType parseType(const char *key, std::string_view text) {
  const std::optional<DType> type = parseDType(text);
  if (!type)
    fail(key, ": expected an element type (bool, i8, i16, i32, i64, f16, bf16, f32), got '", text,
         "'");
  return *type;
}

/// "" is "absent".
std::optional<DType> parseOptionalType(const char *key, std::string_view text) {
  if (text.empty())
    return std::nullopt;
  return parseType(key, text);
}

std::string printType(std::optional<DType> type) { return type ? nameOf(*type) : ""; }

void setCausal(AttentionDesc &desc, std::string_view text) {
  if (text == "none" || text.empty())
    desc.causal = Causal::None;
  else if (text == "top-left")
    desc.causal = Causal::TopLeft;
  else if (text == "bottom-right")
    desc.causal = Causal::BottomRight;
  else
    fail("causal: expected top-left, bottom-right or none, got '", text, "'");
}

std::string getCausal(const AttentionDesc &desc) {
  switch (desc.causal) {
  case Causal::TopLeft:
    return "top-left";
  case Causal::BottomRight:
    return "bottom-right";
  case Causal::None:
    break;
  }
  return "none";
}

void setWindow(AttentionDesc &desc, std::string_view text) {
  if (text.empty()) {
    desc.window.reset();
    return;
  }
  const size_t comma = text.find(',');
  const auto left = parseNumber<int64_t>(text.substr(0, comma));
  const auto right =
      comma == std::string_view::npos ? std::nullopt : parseNumber<int64_t>(text.substr(comma + 1));
  if (!left || !right)
    fail("window: expected two integers LEFT,RIGHT, got '", text,
         "'; -1 on a side means unlimited");
  desc.window = Window{*left, *right};
}

std::string getWindow(const AttentionDesc &desc) {
  return desc.window ? concat(desc.window->left, ",", desc.window->right) : "";
}

void setCaptures(AttentionDesc &desc, std::string_view text) {
  std::vector<Capture> captures;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const size_t first = item.find(':');
    const size_t second = first == std::string_view::npos ? first : item.find(':', first + 1);
    const std::optional<int> rank =
        second == std::string_view::npos ? std::nullopt : parseNumber<int>(item.substr(second + 1));
    if (!rank)
      fail("captures: expected NAME:TYPE:RANK, got '", item, "'; separate several by commas");
    captures.push_back({std::string(item.substr(0, first)),
                        parseType("captures", item.substr(first + 1, second - first - 1)), *rank});
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  desc.captures = std::move(captures);
}

std::string getCaptures(const AttentionDesc &desc) {
  std::string text;
  for (const Capture &capture : desc.captures)
    text += concat(text.empty() ? "" : ",", capture.name, ":", nameOf(capture.dtype), ":",
                   capture.rank);
  return text;
}

void setStrategy(AttentionDesc &desc, std::string_view text) {
  if (text != "online" && text != "standard")
    fail("strategy: expected online or standard, got '", text, "'");
  desc.strategy = text == "online" ? Strategy::Online : Strategy::Standard;
}

std::string getStrategy(const AttentionDesc &desc) {
  return desc.strategy == Strategy::Online ? "online" : "standard";
}

using Desc = AttentionDesc;
using Text = std::string_view;

const AttentionField fields[] = {
    {"dtype", "f32|bf16|f16", "Element type of q, k, v and o.", FieldKind::Text,
     [](Desc &d, Text t) { d.dtype = parseType("dtype", t); },
     [](const Desc &d) { return printType(d.dtype); }},
    {"head-dim", "D", "Head dimension of q and k, 1 to 576.", FieldKind::Number,
     [](Desc &d, Text t) { d.headDim = parseInteger("head-dim", t); },
     [](const Desc &d) { return std::to_string(d.headDim); }},
    {"value-dim", "DV", "Head dimension of v and o, 1 to 576 (0: as head-dim).", FieldKind::Number,
     [](Desc &d, Text t) { d.valueDim = parseInteger("value-dim", t); },
     [](const Desc &d) { return std::to_string(d.valueDim); }},
    {"scale", "X", "Factor of the scores q.k (default 1/sqrt(D)).", FieldKind::Number,
     [](Desc &d, Text t) { d.scale = parseReal("scale", t); },
     [](const Desc &d) { return printReal(d.scale); }},
    {"causal", "top-left|bottom-right",
     "Keep keys j <= i + o, where o is 0 (top-left) or sk - sq (bottom-right).", FieldKind::Text,
     setCausal, getCausal},
    {"window", "L,R",
     "Keep i + o - L <= j <= i + o + R, with the causal's o, else sk - sq; -1 is unlimited.",
     FieldKind::Text, setWindow, getWindow},
    {"softcap", "C", "Cap scores smoothly to C*tanh(s/C), C > 0.", FieldKind::Number,
     [](Desc &d, Text t) { d.softcap = parseReal("softcap", t); },
     [](const Desc &d) { return printReal(d.softcap); }},
    {"alibi", "", "Subtract alibi[h]*|i + sk - sq - j|; the argument alibi is f32 [Hq].",
     FieldKind::Flag, [](Desc &d, Text t) { d.alibi = parseFlag("alibi", t); },
     [](const Desc &d) { return printFlag(d.alibi); }},
    {"bias", "f32|bf16|f16", "Add the argument bias [B,Hq,Sq,Sk], of this type, to the scores.",
     FieldKind::Text, [](Desc &d, Text t) { d.bias = parseOptionalType("bias", t); },
     [](const Desc &d) { return printType(d.bias); }},
    {"sinks", "", "A logit per query head, f32 [Hq], that joins the denominator only.",
     FieldKind::Flag, [](Desc &d, Text t) { d.sinks = parseFlag("sinks", t); },
     [](const Desc &d) { return printFlag(d.sinks); }},
    {"score", "EXPR", "The score as an expression of s, b, h, i, j, sq, sk and captures.",
     FieldKind::Text, [](Desc &d, Text t) { d.score = t; }, [](const Desc &d) { return d.score; }},
    {"mask", "EXPR", "Keep a score where this expression of b, h, i, j, sq, sk, captures is true.",
     FieldKind::Text, [](Desc &d, Text t) { d.mask = t; }, [](const Desc &d) { return d.mask; }},
    {"captures", "NAME:TYPE:RANK,...",
     "The arrays that the expressions read, as NAME[index, ...] with RANK indices.",
     FieldKind::List, setCaptures, getCaptures},
    {"packed", "i32|i64",
     "Sequences lie end to end, from cu_seqlens_q and cu_seqlens_k (of this type) on.",
     FieldKind::Text, [](Desc &d, Text t) { d.packed = parseOptionalType("packed", t); },
     [](const Desc &d) { return printType(d.packed); }},
    {"seqused-k", "i32|i64", "Batch b has seqused_k[b] keys (of this type) only.", FieldKind::Text,
     [](Desc &d, Text t) { d.sequsedK = parseOptionalType("seqused-k", t); },
     [](const Desc &d) { return printType(d.sequsedK); }},
    {"page-table", "i32|i64",
     "k and v are pages [pages,P,Hkv,D]: key j of batch b is in page_table[b, j / P] (of this "
     "type).",
     FieldKind::Text, [](Desc &d, Text t) { d.pageTable = parseOptionalType("page-table", t); },
     [](const Desc &d) { return printType(d.pageTable); }},
    {"lse", "", "Also give the natural log of each row's softmax denominator, f32 [B,Hq,Sq].",
     FieldKind::Flag, [](Desc &d, Text t) { d.wantLse = parseFlag("lse", t); },
     [](const Desc &d) { return printFlag(d.wantLse); }},
    {"row-max", "", "Also give each row's largest kept score, f32 [B,Hq,Sq].", FieldKind::Flag,
     [](Desc &d, Text t) { d.wantRowMax = parseFlag("row-max", t); },
     [](const Desc &d) { return printFlag(d.wantRowMax); }},
    {"strategy", "online|standard",
     "online: tiles with a running softmax; standard: the whole score matrix in memory.",
     FieldKind::Text, setStrategy, getStrategy},
    {"queries", "N",
     "Expected queries per sequence; up to 4 picks the schedule for decoding (default: many).",
     FieldKind::Number, [](Desc &d, Text t) { d.queries = parseInteger("queries", t); },
     [](const Desc &d) { return std::to_string(d.queries); }},
    {"group-size", "N",
     "Expected query heads per head of k and v: when decoding, more than 8 (GPUs: 16) share a "
     "larger tile (default: few).",
     FieldKind::Number, [](Desc &d, Text t) { d.groupSize = parseInteger("group-size", t); },
     [](const Desc &d) { return std::to_string(d.groupSize); }},
    {"schedule", "S", "Schedule parameters (default: the target's table).", FieldKind::Text,
     [](Desc &d, Text t) { d.schedule = t; }, [](const Desc &d) { return d.schedule; }},
    {"target", "T",
     "What to compile for (default: the best of this processor; cuda: of the first GPU).",
     FieldKind::Text, [](Desc &d, Text t) { d.target = t; },
     [](const Desc &d) { return d.target; }},
    {"name", "NAME", "The kernel's name in dumps and listings.", FieldKind::Text,
     [](Desc &d, Text t) { d.name = t; }, [](const Desc &d) { return d.name; }},
};

} // namespace

std::span<const AttentionField> attentionFields() { return fields; }

const AttentionField *findAttentionField(std::string_view key) {
  for (const AttentionField &field : fields)
    if (key == field.key)
      return &field;
  return nullptr;
}

} // namespace flashc
