//===- AttentionDesc.cpp - checks and JSON of a description -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What holds between the fields of a description, and its JSON form; both walk
// the table in AttentionFields.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/AttentionDesc.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace flashc {
namespace {

using Json = nlohmann::json;

constexpr int64_t maxDim = 576;
constexpr int64_t maxSize = int64_t(1) << 40;
constexpr size_t maxJsonBytes = size_t(1) << 20;
constexpr size_t maxNameBytes = 64;
constexpr size_t maxCaptures = 64;
constexpr int maxCaptureRank = 8;

std::string knownKeys() {
  std::string keys;
  for (const AttentionField &field : attentionFields())
    keys += concat(keys.empty() ? "" : ", ", field.key);
  return keys;
}

const AttentionField &fieldOf(std::string_view key) {
  const AttentionField *field = findAttentionField(key);
  if (!field)
    fail("expected a field of attention (", knownKeys(), "), got '", key.substr(0, 100), "'");
  return *field;
}

bool isIdentifier(std::string_view name) {
  const auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= maxNameBytes && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

void checkDim(const char *key, int64_t value) {
  if (value < 1 || value > maxDim)
    fail(key, ": expected 1 to ", maxDim, ", got ", value);
}

void checkType(const char *key, DType type, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), type) != allowed.end())
    return;
  std::string names;
  for (DType other : allowed)
    names += concat(names.empty() ? "" : ", ", nameOf(other));
  fail(key, ": expected one of ", names, ", got ", nameOf(type));
}

void checkWindowSide(const char *side, int64_t value) {
  if (value < -1 || value > maxSize)
    fail("window: expected ", side, " from -1 to 2^40, got ", value, "; -1 means unlimited");
}

void checkPageTable(const AttentionDesc &desc) {
  checkType("page-table", *desc.pageTable, {DType::I32, DType::I64});
  if (!desc.sequsedK)
    fail(
        "page-table: expected seqused-k, the number of keys of each sequence, beside it, got none");
  if (desc.packed)
    fail("page-table: expected queries [B,Sq,Hq,D], got packed sequences; pad the queries");
  if (desc.strategy == Strategy::Standard)
    fail(
        "page-table: expected the online strategy, got standard; copy keys and values out of their "
        "pages for it");
}

void checkCaptures(const std::vector<Capture> &captures) {
  if (captures.size() > maxCaptures)
    fail("captures: expected at most ", maxCaptures, ", got ", captures.size());
  std::set<std::string_view> seen;
  for (const Capture &capture : captures) {
    if (!isIdentifier(capture.name))
      fail("captures: expected a name of letters, digits and underscores, got '",
           capture.name.substr(0, 2 * maxNameBytes), "'");
    if (isReservedName(capture.name))
      fail("captures: expected a name of your own, got '", capture.name,
           "', which has a meaning already; rename the array");
    if (!seen.insert(capture.name).second)
      fail("captures: expected every name once, got '", capture.name, "' twice");
    checkType("captures", capture.dtype,
              {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16,
               DType::F32});
    if (capture.rank < 0 || capture.rank > maxCaptureRank)
      fail("captures: expected a rank from 0 to ", maxCaptureRank, " for '", capture.name,
           "', got ", capture.rank);
  }
}

/// Parses `text` ("": absent) just to see that it is well formed.
void checkExpression(const AttentionDesc &desc, const std::string &text, ExprKind kind) {
  if (text.empty())
    return;
  std::vector<CaptureInfo> captures;
  for (const Capture &capture : desc.captures)
    captures.push_back({capture.name, capture.dtype, capture.rank});
  parseExpression(text, kind, captures);
}

/// The JSON value of one field.
Json toValue(const AttentionField &field, const AttentionDesc &desc) {
  const std::string text = field.get(desc);
  switch (field.kind) {
  case FieldKind::Text:
    return text;
  case FieldKind::Flag:
    return text == "true";
  case FieldKind::Number: {
    // A non-finite number has no JSON; it stays a text, which validate and fromJson refuse.
    const Json number = Json::parse(text, nullptr, false);
    return number.is_discarded() ? Json(text) : number;
  }
  case FieldKind::List: {
    Json list = Json::array();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      list.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return list;
  }
  }
  return nullptr;
}

/// The text of one JSON value, or nothing when it is not of the field's kind.
std::optional<std::string> toText(const AttentionField &field, const Json &value) {
  switch (field.kind) {
  case FieldKind::Text:
    if (value.is_string())
      return value.get<std::string>();
    break;
  case FieldKind::Flag:
    if (value.is_boolean())
      return value.get<bool>() ? "true" : "false";
    break;
  case FieldKind::Number:
    if (value.is_number())
      return value.dump();
    break;
  case FieldKind::List: {
    if (!value.is_array())
      break;
    std::string text;
    for (const Json &item : value) {
      if (!item.is_string())
        return std::nullopt;
      text += (text.empty() ? "" : ",") + item.get<std::string>();
    }
    return text;
  }
  }
  return std::nullopt;
}

const char *describe(FieldKind kind) {
  switch (kind) {
  case FieldKind::Text:
    return "a string";
  case FieldKind::Number:
    return "a number";
  case FieldKind::Flag:
    return "true or false";
  case FieldKind::List:
    return "an array of strings";
  }
  return "";
}

/// Parses one flat object, refusing nesting and repeated keys while it reads.
Json parseFlat(std::string_view text) {
  if (text.size() > maxJsonBytes)
    fail("expected a description of at most ", maxJsonBytes, " bytes, got ", text.size());
  std::set<std::string> seen;
  const auto callback = [&](int depth, Json::parse_event_t event, Json &parsed) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth > 1)
      fail("expected a flat description, got JSON nested more than 2 deep");
    if (event == Json::parse_event_t::key && !seen.insert(parsed.get<std::string>()).second)
      fail("expected every field once, got '", parsed.get<std::string>().substr(0, 100), "' twice");
    return true;
  };
  try {
    return Json::parse(text, callback);
  } catch (const Json::exception &error) {
    fail("expected a description as JSON, got malformed text: ", error.what());
  }
}

} // namespace

double AttentionDesc::resolvedScale() const {
  return scale ? *scale : 1.0 / std::sqrt(static_cast<double>(headDim));
}

bool isReservedName(std::string_view name) {
  static const std::set<std::string_view> names = {
      // arguments
      "q", "k", "v", "o", "lse", "row_max", "sinks", "cu_seqlens_q", "cu_seqlens_k", "seqused_k",
      "page_table", "alibi", "bias",
      // what expressions know
      "s", "b", "h", "i", "j", "sq", "sk", "min", "max", "exp", "log", "tanh", "abs", "select",
      "int", "float", "floor", "sqrt", "true", "false"};
  return names.count(name) != 0;
}

void AttentionDesc::validate() const {
  if (!isIdentifier(name))
    fail("name: expected letters, digits and underscores, at most ", maxNameBytes, ", got '",
         name.substr(0, 2 * maxNameBytes), "'");
  checkType("dtype", dtype, {DType::F32, DType::BF16, DType::F16});
  checkDim("head-dim", headDim);
  checkDim("value-dim", resolvedValueDim());
  if (scale && !std::isfinite(*scale))
    fail("scale: expected a finite number, got ", *scale);
  if (scale && !std::isfinite(static_cast<float>(*scale)))
    fail("scale: expected a number within the range of f32, got ", *scale);
  if (window) {
    checkWindowSide("LEFT", window->left);
    checkWindowSide("RIGHT", window->right);
  }
  if (softcap && !(static_cast<float>(*softcap) > 0 && std::isfinite(static_cast<float>(*softcap))))
    fail("softcap: expected a positive number within the range of f32, got ", *softcap);
  if (bias)
    checkType("bias", *bias, {DType::F32, DType::BF16, DType::F16});
  if (packed)
    checkType("packed", *packed, {DType::I32, DType::I64});
  if (sequsedK)
    checkType("seqused-k", *sequsedK, {DType::I32, DType::I64});
  if (pageTable)
    checkPageTable(*this);
  if (queries < 0)
    fail("queries: expected a number of queries, or 0 for many, got ", queries);
  if (groupSize < 0)
    fail("group-size: expected a number of query heads per key head, or 0 for few, got ",
         groupSize);
  checkCaptures(captures);
  checkExpression(*this, score, ExprKind::Score);
  checkExpression(*this, mask, ExprKind::Mask);
}

void AttentionDesc::set(std::string_view key, std::string_view text) {
  fieldOf(key).set(*this, text);
}

std::string AttentionDesc::get(std::string_view key) const { return fieldOf(key).get(*this); }

std::string AttentionDesc::toJson() const {
  static const AttentionDesc defaults;
  Json object = Json::object();
  for (const AttentionField &field : attentionFields()) {
    const std::string_view key = field.key;
    if (key == "dtype" || key == "head-dim" || field.get(*this) != field.get(defaults))
      object[field.key] = toValue(field, *this);
  }
  // Text that is not UTF-8 must not make a description unprintable; validate refuses it later.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AttentionDesc AttentionDesc::fromJson(std::string_view json) {
  const Json object = parseFlat(json);
  if (!object.is_object())
    fail("expected a description as a JSON object, got a JSON ", object.type_name());
  AttentionDesc desc;
  for (const auto &[key, value] : object.items()) {
    const AttentionField &field = fieldOf(key);
    const std::optional<std::string> text = toText(field, value);
    if (!text)
      fail(field.key, ": expected ", describe(field.kind), ", got a JSON ", value.type_name());
    field.set(desc, *text);
  }
  return desc;
}

} // namespace flashc
