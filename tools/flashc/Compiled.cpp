//===- Compiled.cpp - what the subcommands ask of the compiler ------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Compiled.h"
#include "compiler/Driver/Compile.h"
#include "runtime/Expr/Parser.h"
#include "runtime/Support/BuildId.h"

#include <map>
#include <sstream>

namespace flashc::tool {
namespace {

/// More tiles (or rows) than this are not counted one by one.
constexpr double mostCounted = 1 << 24;

/// How many masks of one shape there may be: one, unless b, h or captured values tell problems apart.
double distinctProblems(const Inputs &inputs, const Lengths &lengths) {
  const AttentionDesc &desc = inputs.desc;
  if (desc.mask.empty())
    return 1;
  std::vector<CaptureInfo> captures;
  for (const Capture &capture : desc.captures)
    captures.push_back({capture.name, capture.dtype, capture.rank});
  const TypedExpr mask = parseExpression(desc.mask, ExprKind::Mask, captures);
  bool differ = usesVariable(*mask.root, Variable::B) || usesVariable(*mask.root, Variable::H);
  for (size_t n = 0; n < captures.size(); ++n)
    differ |= usesCapture(*mask.root, static_cast<int>(n));
  return differ ? static_cast<double>(lengths.batch) * static_cast<double>(inputs.sizes->heads) : 1;
}

/// Whether a product of four sizes, the number of all pairs or tiles, is a 64-bit integer.
bool isCountable(const Inputs &inputs, const Lengths &lengths, int64_t br, int64_t bc) {
  return static_cast<double>(lengths.batch) * static_cast<double>(inputs.sizes->heads) *
             static_cast<double>(lengths.queries / br + 1) *
             static_cast<double>(lengths.keys / bc + 1) <
         0x1p62;
}

/// Equal sequences together; their order matters only to masks that read b.
std::vector<Lengths> merge(const std::vector<Lengths> &lengths) {
  std::map<std::pair<int64_t, int64_t>, int64_t> batches;
  for (const Lengths &entry : lengths)
    batches[{entry.queries, entry.keys}] += entry.batch;
  std::vector<Lengths> result;
  for (const auto &[sizes, batch] : batches)
    result.push_back({batch, sizes.first, sizes.second});
  return result;
}

} // namespace

MadeObject makeObject(const AttentionDesc &desc, const std::string &dumpStages) {
  // Stages are of a compilation, so that there has to be one.
  const std::string compiler =
      dumpStages.empty() ? buildIdAt(reinterpret_cast<const void *>(&compileAttention)) : "";
  return objectFor(desc, compiler, [&]() -> ObjectBytes {
    const std::string object = compileAttention(desc, {Stage::Obj, dumpStages});
    const auto *begin = reinterpret_cast<const std::byte *>(object.data());
    return {begin, begin + object.size()};
  });
}

PairCount countPairsByCompiler(const Inputs &inputs) {
  const auto count = [&](const Lengths &lengths, int64_t heads) {
    const double queries = static_cast<double>(lengths.queries);
    PairCount result;
    if (queries * distinctProblems(inputs, lengths) > mostCounted ||
        !isCountable(inputs, lengths, 1, 1)) {
      result.kept = static_cast<double>(lengths.batch) * static_cast<double>(heads) * queries *
                    static_cast<double>(lengths.keys);
      result.exact = false;
      result.why = "there are more rows than are counted one by one";
      return result;
    }
    // Tiles of one query and one key are pairs.
    const MaskTileCounts tiles =
        countMaskTiles(inputs.desc, lengths.batch, heads, lengths.queries, lengths.keys, 1, 1);
    result.kept = static_cast<double>(tiles.full) + static_cast<double>(tiles.partial);
    result.exact = tiles.exact;
    result.why = tiles.why;
    return result;
  };
  return countPairs(inputs, count);
}

TileCounts countTilesByCompiler(const Inputs &inputs, const ScheduleSizes &sizes) {
  // Tiles of heads are counted as those of one query and head, which keep what the tile keeps unless heads differ.
  const int64_t br = sizes.rowsAreHeads ? 1 : sizes.tile[0], bc = sizes.tile[1];
  TileCounts total;
  for (const Lengths &lengths : merge(sequenceLengths(inputs))) {
    const double counted =
        distinctProblems(inputs, lengths) * static_cast<double>(lengths.queries / br + 1);
    if (counted > mostCounted || !isCountable(inputs, lengths, br, bc))
      fail("expected at most ", static_cast<int64_t>(mostCounted),
           " tiles of queries, got more; choose smaller sizes");
    const MaskTileCounts part = countMaskTiles(inputs.desc, lengths.batch, inputs.sizes->heads,
                                               lengths.queries, lengths.keys, br, bc);
    const double single = countRowTiles(inputs, lengths.queries, {br, false});
    const double share =
        single > 0
            ? countRowTiles(inputs, lengths.queries, {sizes.tile[0], sizes.rowsAreHeads}) / single
            : 1;
    total.empty += share * static_cast<double>(part.empty);
    total.full += share * static_cast<double>(part.full);
    total.partial += share * static_cast<double>(part.partial);
    if (!part.exact) {
      total.exact = false;
      total.why = part.why;
    }
  }
  return total;
}

std::string extractRegion(const std::string &text, const std::string &name) {
  std::istringstream lines(text);
  std::string line, region;
  while (std::getline(lines, line)) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos)
      continue;
    if (region.empty() && line.compare(start, name.size() + 2, name + " (") != 0)
      continue;
    const bool isInner = !region.empty() && line[start] != '}';
    region += (isInner ? "  " : "") + line.substr(start) + '\n';
    if (line[start] == '}')
      break;
  }
  return region;
}

std::string extractSchedule(const std::string &text) {
  const std::string opening = "#flash.schedule<";
  const size_t begin = text.find(opening), end = text.find('>', begin);
  if (begin == std::string::npos || end == std::string::npos)
    return text;
  return text.substr(begin + opening.size(), end - begin - opening.size());
}

ScheduleSizes parseScheduleBody(const std::string &body) {
  const ScheduleSizes sizes = parseSchedule(body);
  if (!sizes.tile[0])
    fail("expected a schedule with tile = [a, b], got '", body, "'");
  return sizes;
}

Front readFront(const AttentionDesc &desc) {
  const std::string text = compileAttention(desc, {Stage::Flash, {}});
  Front front;
  front.scheduleText = extractSchedule(text);
  front.schedule = parseScheduleBody(front.scheduleText);
  front.score = extractRegion(text, "score");
  front.mask = extractRegion(text, "mask");
  return front;
}

} // namespace flashc::tool
