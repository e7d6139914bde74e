//===- Suggest.cpp - the name that was meant ------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Suggest.h"

#include <algorithm>
#include <vector>

namespace flashc::tool {

/// The edit distance with swaps of neighbours (optimal string alignment).
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const size_t change = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  return table[a.size()][b.size()];
}

std::string closestName(std::string_view text, std::span<const std::string> names) {
  constexpr size_t longest = 64; // nothing longer is a misspelt name
  if (text.empty() || text.size() > longest)
    return "";
  std::string best;
  size_t bestDistance = std::max<size_t>(1, text.size() / 3) + 1;
  for (const std::string &name : names) {
    const bool isPrefix = text.size() >= 3 && name.starts_with(text);
    const size_t d = isPrefix ? 1 : distance(text, name);
    if (d < bestDistance) {
      best = name;
      bestDistance = d;
    }
  }
  return best;
}

std::string didYouMean(std::string_view text, std::span<const std::string> names,
                       std::string_view prefix) {
  const std::string name = closestName(text, names);
  return name.empty() ? "" : "; did you mean '" + std::string(prefix) + name + "'?";
}

} // namespace flashc::tool
