//===- PTXParts.cpp - PTX divided for assembling side by side ---*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/PTXParts.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace flashc {
namespace {

/// The first architecture on which a kernel that is linked keeps in registers what it does otherwise (ptxas 13.0).
constexpr int firstLinkedArch = 90;
/// Registers of a multiprocessor, and of a thread at most, on every architecture; they are given out by eight.
constexpr int registersOfAll = 65536, registersOfOne = 255, registersAtOnce = 8;
/// Threads of a multiprocessor at most: more blocks than that allows are not asked for in earnest.
constexpr int threadsOfAll = 2048;

/// What stands at a module's top level: a definition or a declaration.
struct Item {
  std::string_view text,
      head; ///< the head of a function: all before its body, and before its launch bounds
  bool isBody = false; ///< whether it defines a function
  bool isKernel() const { return head.find(".entry ") != std::string_view::npos; }
  bool isFunction() const { return head.find(".func ") != std::string_view::npos; }
};

/// The line of `text` at `at`, with its end where it has one.
std::string_view lineAt(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return text.substr(at, end == std::string_view::npos ? end : end - at + 1);
}

bool endsWith(std::string_view line, char last) {
  const size_t end = line.find_last_not_of(" \t\r\n");
  return end != std::string_view::npos && line[end] == last;
}

/// The item at `at`, which begins with a directive.
Item readItem(std::string_view ptx, size_t at) {
  Item item;
  size_t end = at, body = std::string_view::npos, signature = std::string_view::npos;
  for (std::string_view line; end < ptx.size() && !(line = lineAt(ptx, end)).empty();) {
    const size_t begin = end;
    end += line.size();
    if (body == std::string_view::npos) {
      if (line.front() == ')')
        signature = begin + 1;
      if (line.front() == '{')
        body = begin;
      else if (endsWith(line, ';'))
        break;
    } else if (line.front() == '}') {
      break;
    }
  }
  item.text = ptx.substr(at, end - at);
  item.isBody = body != std::string_view::npos;
  item.head = ptx.substr(at, std::min({signature, body, end}) - at);
  return item;
}

/// The product of the numbers of a directive such as ".maxntid 128, 1, 1"; 1 where it is absent.
int numbersOf(std::string_view text, std::string_view directive) {
  const size_t at = text.find(directive);
  if (at == std::string_view::npos)
    return 1;
  int product = 1;
  const std::string line(lineAt(text, at + directive.size()));
  for (const char *next = line.c_str(); *next && *next != '\n';) {
    char *end = nullptr;
    if (const long number = std::strtol(next, &end, 10); end != next)
      product *= static_cast<int>(std::clamp(number, 1L, 1024L));
    next = end != next ? end : next + 1;
  }
  return product;
}

int registersOf(std::string_view kernel) {
  int threads = numbersOf(kernel, ".maxntid");
  if (const int blocks = numbersOf(kernel, ".minnctapersm"); threads * blocks <= threadsOfAll)
    threads *= blocks;
  const int most = kernel.find(".maxnreg") == std::string_view::npos
                       ? registersOfOne
                       : numbersOf(kernel, ".maxnreg");
  return std::min(registersOfAll / threads / registersAtOnce * registersAtOnce, most);
}

/// The declaration of a function, as `linkage` says: of another module's, or ahead of its definition.
std::string declare(const Item &function, std::string_view linkage) {
  std::string text(function.head);
  if (const size_t at = text.find(".visible"); at != std::string::npos)
    text.replace(at, std::string_view(".visible").size(), linkage);
  return text + ";\n";
}

/// A module's items, and all that stands before the first.
struct Module {
  std::string_view header;
  std::vector<Item> items;
};

Module readModule(std::string_view ptx) {
  Module module;
  module.header = ptx;
  for (size_t at = 0; at < ptx.size();) {
    const std::string_view line = lineAt(ptx, at);
    const bool isItem = line.starts_with(".") && !line.starts_with(".version") &&
                        !line.starts_with(".target") && !line.starts_with(".address_size");
    if (!isItem) {
      at += line.size();
      continue;
    }
    if (module.items.empty())
      module.header = ptx.substr(0, at);
    module.items.push_back(readItem(ptx, at));
    at += module.items.back().text.size();
  }
  return module;
}

int registersForFunctions(const Module &module) {
  int most = registersOfOne;
  bool hasFunction = false;
  for (const Item &item : module.items) {
    hasFunction |= item.isBody && !item.isKernel();
    if (item.isBody && item.isKernel())
      most = std::min(most, registersOf(item.text));
  }
  return hasFunction ? most : 0;
}

} // namespace

int registersForFunctions(std::string_view ptx) { return registersForFunctions(readModule(ptx)); }

std::vector<PTXPart> divideAtFunctions(std::string_view ptx, std::string_view arch) {
  std::vector<PTXPart> parts;
  if (numbersOf(arch, "sm_") < firstLinkedArch)
    return parts;
  const Module module = readModule(ptx);
  const int mostRegisters = registersForFunctions(module);
  if (!mostRegisters)
    return parts;
  std::string common;
  for (const Item &item : module.items) {
    if (item.isBody || item.isFunction())
      continue;
    if (!item.text.starts_with(".extern "))
      return {};
    common += item.text;
  }
  for (const Item &item : module.items) {
    if (!item.isBody)
      continue;
    std::string text = std::string(module.header) + common;
    for (const Item &other : module.items)
      if (other.isBody && other.isFunction() && other.text.data() != item.text.data())
        text += declare(other, ".extern");
    parts.push_back({text + std::string(item.text), item.isKernel() ? 0 : mostRegisters});
  }
  return parts;
}

std::string joinPTX(std::span<const std::string> parts) {
  std::string header, declarations, definitions;
  for (const std::string &part : parts) {
    const Module module = readModule(part);
    if (header.empty())
      header = module.header;
    for (const Item &item : module.items) {
      if (item.isBody)
        definitions += std::string(item.text) + '\n';
      if (item.isBody && item.isFunction())
        declarations += declare(item, ".visible");
      // What is not defined here is needed once.
      if (!item.isBody && !item.isFunction() && declarations.find(item.text) == std::string::npos)
        declarations += item.text;
    }
  }
  return header + declarations + '\n' + definitions;
}

} // namespace flashc
