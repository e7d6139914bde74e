//===- ArraySources.cpp - where each input array comes from ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/ArraySources.h"

#include <algorithm>
#include <charconv>

namespace flashc::tool {
namespace {

/// Runs `read`, with the flag put in front of what it throws.
template <typename Read> auto naming(const std::string &flag, Read read) {
  try {
    return read();
  } catch (const Error &error) {
    throw Error("--" + flag + ": " + error.what());
  }
}

/// The array that FILE[:NAME] names, by default the one called like the flag or like the argument.
HostArray readFile(const std::string &text, const std::string &flag, const std::string &argument) {
  const ArraySpec spec = parseArraySpec(text);
  const ArrayFile file = ArrayFile::open(spec.path);
  if (spec.format == ArrayFormat::Npy)
    return file.read("");
  if (!spec.name.empty())
    return file.read(spec.name);
  return file.read(file.contains(flag) ? flag : argument);
}

/// TYPE:RANK, or nothing.
std::optional<CaptureType> parseCaptureType(std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<DType> dtype = parseDType(text.substr(0, colon));
  if (!dtype || colon == std::string_view::npos)
    return std::nullopt;
  int rank = 0;
  const auto [stop, error] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), rank);
  if (error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return CaptureType{*dtype, rank};
}

} // namespace

ArraySources::ArraySources(const Arguments &arguments) : arguments(arguments) {
  const std::optional<std::string> path = arguments.find("inputs");
  if (!path)
    return;
  inputsPath = *path;
  naming("inputs", [&] {
    const ArraySpec spec = parseArraySpec(inputsPath);
    if (spec.format == ArrayFormat::Npy || !spec.name.empty())
      fail("expected a .npz or .safetensors file, got '", inputsPath,
           "'; give single arrays with their own flags");
    inputs = ArrayFile::open(spec.path);
  });
}

std::optional<ArraySource> ArraySources::find(const std::string &flag,
                                              const std::string &argument) {
  const std::optional<std::string> text = arguments.find(flag);
  if (!text) {
    for (const std::string &name : {argument, flag})
      if (std::optional<HostArray> array = findInInputs(name))
        return std::move(*array);
    return std::nullopt;
  }
  used.insert({flag, argument}); // set aside by the flag
  if (const std::optional<DType> type = parseDType(*text))
    return *type;
  return naming(flag, [&] { return readFile(*text, flag, argument); });
}

std::optional<HostArray> ArraySources::findInInputs(const std::string &name) {
  if (!inputs || !inputs->contains(name))
    return std::nullopt;
  used.insert(name);
  return naming("inputs", [&] { return inputs->read(name); });
}

std::vector<CaptureSource> ArraySources::captures() {
  std::vector<CaptureSource> result;
  for (const std::string &text : arguments.all("capture")) {
    const size_t equals = text.find('='), colon = text.find(':');
    if (equals != std::string::npos) {
      const std::string name = text.substr(0, equals);
      result.push_back({name, naming("capture " + name, [&] {
                          return readFile(text.substr(equals + 1), name, name);
                        })});
    } else if (colon != std::string::npos) {
      const std::optional<CaptureType> type =
          parseCaptureType(std::string_view(text).substr(colon + 1));
      if (!type)
        fail("--capture: expected NAME=FILE or NAME:TYPE:RANK, got '", text, "'");
      result.push_back({text.substr(0, colon), *type});
    } else if (std::optional<HostArray> array = findInInputs(text)) {
      result.push_back({text, std::move(*array)});
    } else {
      fail("--capture: expected NAME=FILE, or the name of an array of --inputs, got '", text, "'");
    }
  }
  return result;
}

std::vector<std::string> ArraySources::unused() const {
  std::vector<std::string> result;
  if (!inputs)
    return result;
  const std::set<std::string> results = {"o", "out", "lse", "row_max", "row-max"};
  for (const std::string &name : inputs->names())
    if (!used.contains(name) && !results.contains(name))
      result.push_back(name);
  return result;
}

} // namespace flashc::tool
