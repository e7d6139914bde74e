//===- SafeTensors.cpp - .safetensors files -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The header is read through nlohmann's event interface, straight into the
// tensor table: a hostile header costs no document tree, and anything nested
// deeper than the format has is refused where it opens.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/SafeTensors.h"

#include "runtime/IO/Convert.h"
#include "runtime/IO/Messages.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace flashc {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr int kMaxNesting = 256;
constexpr size_t kMaxRank = 64;
constexpr std::string_view kMetadata = "__metadata__";

using Tensor = SafeTensorsFile::Tensor;

[[noreturn]] void failHeader(const std::string &file, std::string_view expected,
                             std::string_view got) {
  fail(file, ": expected ", expected, " in the .safetensors header, got ", got,
       "; write the file with the safetensors library");
}

/// Refuses text nested too deep before any parser sees it.
void checkNesting(std::string_view text, const std::string &file) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxNesting)
        failHeader(file, concat("nesting of at most ", kMaxNesting), "more");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

/// Takes the parser's events. The states follow the format:
/// {name: {"dtype": string, "shape": [n...], "data_offsets": [begin, end]}...,
///  "__metadata__": {string: string...}}.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
public:
  HeaderEvents(const std::string &file, std::vector<std::string> &order,
               std::unordered_map<std::string, Tensor> &tensors)
      : file(file), order(order), tensors(tensors) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override {
    unexpected(concat("the negative number ", value));
  }
  bool number_float(number_float_t, const string_t &text) override {
    unexpected(concat("the number ", printable(text)));
  }
  bool binary(binary_t &) override { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state == State::Shape) {
      if (value > static_cast<uint64_t>(INT64_MAX))
        failHeader(file, "extents below 2^63", std::to_string(value));
      if (current.shape.size() == kMaxRank)
        failHeader(file, concat("at most ", kMaxRank, " dimensions"), "more");
      current.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (state == State::Offsets && offsetCount < 2) {
      (offsetCount++ == 0 ? current.begin : current.end) = value;
      return true;
    }
    unexpected(concat("the number ", value));
  }

  bool string(string_t &value) override {
    if (state == State::Metadata)
      return true;
    if (state != State::Tensor || field != "dtype")
      unexpected(printable(value));
    current.dtype = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    if (state == State::Start)
      state = State::Top;
    else if (state == State::Top)
      state = name == kMetadata ? State::Metadata : State::Tensor;
    else
      unexpected("an object");
    return true;
  }

  bool key(string_t &value) override {
    switch (state) {
    case State::Top:
      name = std::move(value);
      current = {};
      seen = {};
      offsetCount = 0;
      if (name == kMetadata && std::exchange(sawMetadata, true))
        failHeader(file, "'__metadata__' once", "it twice");
      return true;
    case State::Tensor: {
      const auto found = std::find(kFields.begin(), kFields.end(), value);
      if (found == kFields.end())
        failHeader(file, concat("'dtype', 'shape' and 'data_offsets' for tensor ", printable(name)),
                   printable(value));
      if (std::exchange(seen[found - kFields.begin()], true))
        failHeader(file, concat(printable(value), " once for tensor ", printable(name)),
                   "it twice");
      field = std::move(value);
      return true;
    }
    default: // metadata
      return true;
    }
  }

  bool end_object() override {
    if (state == State::Tensor) {
      addTensor();
      state = State::Top;
    } else {
      state = state == State::Metadata ? State::Top : State::Done;
    }
    return true;
  }

  bool start_array(size_t) override {
    if (state == State::Tensor && field == "shape")
      state = State::Shape;
    else if (state == State::Tensor && field == "data_offsets")
      state = State::Offsets;
    else
      unexpected("an array");
    return true;
  }

  bool end_array() override {
    state = State::Tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::json::exception &) override {
    failHeader(file, "JSON", concat("a syntax error at its byte ", position));
  }

private:
  enum class State { Start, Top, Metadata, Tensor, Shape, Offsets, Done };
  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

  [[noreturn]] void unexpected(const std::string &got) const {
    switch (state) {
    case State::Start:
    case State::Done:
      failHeader(file, "one object", got);
    case State::Top:
      failHeader(file, concat("an object for ", printable(name)), got);
    case State::Metadata:
      failHeader(file, "strings in '__metadata__'", got);
    case State::Tensor:
      failHeader(file,
                 concat(field == "dtype" ? "a string" : "an array", " as ", printable(field),
                        " of tensor ", printable(name)),
                 got);
    case State::Shape:
      failHeader(file, concat("integers of at least 0 in the shape of tensor ", printable(name)),
                 got);
    case State::Offsets:
      failHeader(file,
                 concat("two integers of at least 0 as 'data_offsets' of tensor ", printable(name)),
                 got);
    }
    __builtin_unreachable();
  }

  void addTensor() {
    for (size_t i = 0; i < kFields.size(); ++i)
      if (!seen[i])
        failHeader(file, concat(printable(kFields[i]), " for tensor ", printable(name)), "none");
    if (offsetCount != 2)
      failHeader(file, concat("two 'data_offsets' for tensor ", printable(name)),
                 std::to_string(offsetCount));
    if (!tensors.emplace(name, std::move(current)).second)
      failHeader(file, concat("one tensor named ", printable(name)), "two");
    order.push_back(name);
  }

  const std::string &file;
  std::vector<std::string> &order;
  std::unordered_map<std::string, Tensor> &tensors;
  State state = State::Start;
  std::string name, field;
  Tensor current;
  std::array<bool, 3> seen = {};
  int offsetCount = 0;
  bool sawMetadata = false;
};

std::optional<DType> dtypeOf(std::string_view spelling) {
  constexpr std::pair<std::string_view, DType> spellings[] = {
      {"F64", DType::F64}, {"F32", DType::F32},  {"F16", DType::F16}, {"BF16", DType::BF16},
      {"I64", DType::I64}, {"I32", DType::I32},  {"I16", DType::I16}, {"I8", DType::I8},
      {"U8", DType::U8},   {"BOOL", DType::Bool}};
  for (const auto &[text, dtype] : spellings)
    if (spelling == text)
      return dtype;
  return std::nullopt;
}

} // namespace

SafeTensorsFile::SafeTensorsFile(std::shared_ptr<const ByteSource> from) : source(std::move(from)) {
  constexpr uint64_t prefixBytes = 8;
  const std::string &file = source->name();
  if (source->size() < prefixBytes)
    fail(file, ": expected a .safetensors file, got only ", source->size(),
         " bytes; the file is truncated, write it again");
  std::array<uint8_t, prefixBytes> raw;
  source->readAt(0, std::as_writable_bytes(std::span(raw)));
  uint64_t headerBytes = 0;
  for (size_t i = 0; i < prefixBytes; ++i)
    headerBytes |= uint64_t(raw[i]) << (8 * i);
  if (headerBytes > kMaxHeaderBytes)
    fail(file, ": expected a .safetensors header of at most ", kMaxHeaderBytes, " bytes, got ",
         headerBytes, "; write the file with the safetensors library");
  if (headerBytes > source->size() - prefixBytes)
    fail(file, ": expected a .safetensors header of ", headerBytes, " bytes, got ",
         source->size() - prefixBytes, "; the file is truncated, write it again");

  SourceStream stream(*source, prefixBytes, headerBytes);
  const std::vector<std::byte> header = readBytes(stream, headerBytes);
  const std::string_view text(reinterpret_cast<const char *>(header.data()), header.size());
  if (!text.starts_with('{'))
    failHeader(file, "'{' first", text.empty() ? "nothing" : printable(text.substr(0, 1)));
  checkNesting(text, file);
  HeaderEvents events(file, order, tensors);
  nlohmann::json::sax_parse(text, &events);
  dataStart = prefixBytes + headerBytes;
  checkTensors(source->size() - dataStart);
}

void SafeTensorsFile::checkTensors(uint64_t dataBytes) const {
  const std::string &file = source->name();
  std::vector<const std::pair<const std::string, Tensor> *> byOffset;
  for (const auto &entry : tensors) {
    const Tensor &tensor = entry.second;
    if (tensor.begin > tensor.end || tensor.end > dataBytes)
      failHeader(file,
                 concat("offsets within the ", dataBytes, " data bytes of the file for ",
                        printable(entry.first)),
                 concat("[", tensor.begin, ", ", tensor.end, "]"));
    const std::optional<DType> dtype = dtypeOf(tensor.dtype);
    const std::optional<int64_t> bytes = countBytes(dtype.value_or(DType::U8), tensor.shape);
    if (!bytes)
      failHeader(file,
                 concat("a shape whose size in bytes fits in 63 bits for ", printable(entry.first)),
                 shapeToString(tensor.shape));
    // The sizes of types that flashc does not have are not checked: read() refuses them.
    if (dtype && static_cast<uint64_t>(*bytes) != tensor.end - tensor.begin)
      failHeader(file,
                 concat("offsets that span ", *bytes, " bytes for ", printable(entry.first),
                        " of shape ", shapeToString(tensor.shape)),
                 concat(tensor.end - tensor.begin, " bytes"));
    byOffset.push_back(&entry);
  }
  std::sort(byOffset.begin(), byOffset.end(), [](const auto *a, const auto *b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t end = 0;
  for (const auto *entry : byOffset) {
    if (entry->second.begin != end)
      failHeader(file,
                 concat("tensors without gap or overlap, ", printable(entry->first), " at ", end),
                 concat("it at ", entry->second.begin));
    end = entry->second.end;
  }
  if (end != dataBytes)
    failHeader(file, concat("tensors that fill the file's ", dataBytes, " data bytes"),
               concat(end, " bytes of them"));
}

HostArray SafeTensorsFile::read(const std::string &name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    failMissingArray(source->name(), name, order);
  const Tensor &tensor = found->second;
  const std::optional<DType> dtype = dtypeOf(tensor.dtype);
  if (!dtype)
    fail(source->name(), ": expected tensor ", printable(name),
         " of type F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL, got ",
         printable(tensor.dtype), "; convert it before saving");
  SourceStream stream(*source, dataStart + tensor.begin, tensor.end - tensor.begin);
  HostArray array{*dtype, tensor.shape, readBytes(stream, tensor.end - tensor.begin)};
  if (array.dtype == DType::Bool)
    normalizeBool(array.data);
  return array;
}

} // namespace flashc
