//===- Report.cpp - what people read --------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <unistd.h>

namespace flashc::tool {

static std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

void Table::print(std::ostream &out, const std::string &indent) const {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t n = 0; n < row.size(); ++n) {
      widths.resize(std::max(widths.size(), n + 1));
      widths[n] = std::max(widths[n], row[n].size());
    }
  for (const auto &row : rows) {
    std::string line = indent;
    for (size_t n = 0; n < row.size(); ++n) {
      line += row[n];
      if (n + 1 < row.size())
        line.append(widths[n] - row[n].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string describeSeconds(double seconds) {
  if (seconds >= 1)
    return format("%.4g s", seconds);
  if (seconds >= 1e-3)
    return format("%.4g ms", 1e3 * seconds);
  return format("%.4g us", 1e6 * seconds);
}

std::string describeFlops(double flops) {
  const char *units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < std::size(units); ++unit)
    flops /= 1000;
  return format("%.4g ", flops) + units[unit];
}

std::string describeCount(double count) {
  return format(std::fabs(count) < 1e15 ? "%.0f" : "%.6g", count);
}

std::string describeNumber(double value) { return format("%.4g", value); }

std::string describeProblem(const Inputs &inputs) {
  const AttentionDesc &desc = inputs.desc;
  const Sizes &sizes = *inputs.sizes;
  std::string text = concat(nameOf(desc.dtype), ", ");
  if (inputs.isPacked())
    text += concat(sizes.batch, " packed sequences, Sq=", sizes.queries, " and Sk=", sizes.keys,
                   " in all,");
  else
    text += concat("B=", sizes.batch, " Sq=", sizes.queries, " Sk=", sizes.keys);
  return text + concat(" Hq=", sizes.heads, " Hkv=", sizes.headsKv, " D=", desc.headDim,
                       " Dv=", desc.resolvedValueDim(), inputs.bhsd ? ", bhsd" : "");
}

std::string escapeControls(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      result += escape;
    } else {
      result += c;
    }
  }
  return result;
}

std::string shellQuote(const std::string &word) {
  const auto isPlain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("-_./,:=+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), isPlain))
    return word;
  std::string result = "'";
  for (const char c : word)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

Progress::Progress(const std::string &what) : shown(isatty(STDERR_FILENO)) {
  if (shown)
    std::cerr << "flashc: " << what << " ..." << std::flush;
}

Progress::~Progress() {
  if (shown)
    std::cerr << "\r\033[K" << std::flush; // back to the line's start, and clear it
}

void printNotes(const Inputs &inputs) {
  for (const std::string &note : inputs.notes)
    std::cerr << "flashc: note: " << escapeControls(note) << '\n';
}

void finishOutput() {
  std::cout.flush();
  if (!std::cout)
    fail("expected a standard output that takes what is written, got an error while writing");
}

} // namespace flashc::tool
