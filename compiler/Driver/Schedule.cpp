//===- Schedule.cpp - a description's schedule on its op ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Schedule.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Target/ScheduleTable.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "runtime/Support/Error.h"

#include <charconv>
#include <set>

namespace flashc {

namespace {

/// Reads `tile=[384,64],micro=[6,64]`, blanks ignored; fields may be absent.
class ScheduleText {
public:
  explicit ScheduleText(std::string_view source) : source(source) {
    for (char ch : source)
      if (!std::isspace(static_cast<unsigned char>(ch)))
        text += ch;
  }

  /// Fields that are not named keep their values; but a split is rounded up to whole tiles, and the registers and bands
  /// that suit the table's schedule are for no other, or no other tile.
  void read(ScheduleSizes &sizes, flash::Strategy &strategy) {
    std::set<std::string> seen;
    for (bool first = true; at < text.size(); first = false) {
      if (!first)
        expect(",");
      size_t equal = text.find('=', at);
      std::string key = text.substr(at, equal == std::string::npos ? equal : equal - at);
      at = equal == std::string::npos ? text.size() : equal + 1;
      if (!seen.insert(key).second)
        bad("every parameter once", key);
      if (key == "tile")
        readSizes(sizes.tile);
      else if (key == "micro")
        readSizes(sizes.micro);
      else if (key == "rows")
        sizes.rowsAreHeads = readCase<flash::RowKind>(flash::symbolizeRowKind,
                                                      "queries or heads") == flash::RowKind::Heads;
      else if (key == "split")
        sizes.split = readNumber(0, int64_t(1) << 40);
      else if (key == "strategy")
        strategy = readCase<flash::Strategy>(flash::symbolizeStrategy, "online or standard");
      else if (key == "stages")
        sizes.stages = readNumber(1, 16);
      else if (key == "across")
        sizes.across = readNumber(1, 32);
      else if (key == "bands")
        sizes.bands = readNumber(1, 32);
      else if (key == "blocks")
        sizes.blocks = readNumber(0, 32);
      else if (key == "registers")
        sizes.registers = readNumber(0, 255);
      else if (key == "queries")
        sizes.queriesInRegisters =
            readCase<flash::Placement>(flash::symbolizePlacement, "shared or registers") ==
            flash::Placement::Registers;
      else if (key == "values")
        sizes.values = flash::toSizes(
            readCase<flash::ValueCopy>(flash::symbolizeValueCopy, "ahead, late or instead"));
      else if (key == "reference")
        sizes.isOptimistic =
            readCase<flash::Reference>(flash::symbolizeReference, "exact or optimistic") ==
            flash::Reference::Optimistic;
      else
        bad("tile, micro, rows, split, strategy, stages, across, bands, blocks, registers, "
            "queries, values or reference",
            key);
    }
    if (!seen.empty() && !seen.count("registers"))
      sizes.registers = 0;
    if (!seen.count("bands") && (seen.count("tile") || seen.count("micro") || seen.count("across")))
      sizes.bands = 1;
    if (!seen.count("split") && sizes.split)
      sizes.split = (sizes.split + sizes.tile[1] - 1) / sizes.tile[1] * sizes.tile[1];
  }

private:
  [[noreturn]] void bad(std::string_view expected, std::string_view got) {
    fail("schedule: expected ", expected, ", got '", got, "' in '", source,
         "'; an example is tile=[192,64],micro=[6,64]");
  }
  void expect(std::string_view token) {
    if (text.compare(at, token.size(), token) != 0)
      bad(concat("'", token, "'"), text.substr(at));
    at += token.size();
  }
  void readSizes(std::array<int64_t, 2> &sizes) {
    expect("[");
    for (int i = 0; i < 2; ++i) {
      if (i)
        expect(",");
      sizes[i] = readNumber(1, 65536);
    }
    expect("]");
  }
  int64_t readNumber(int64_t low, int64_t high) {
    int64_t value = 0;
    const char *begin = text.data() + at, *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || value < low || value > high)
      bad(concat("a size in ", low, "..", high), text.substr(at));
    at += stop - begin;
    return value;
  }
  std::string readWord() {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, comma - at);
    at = comma;
    return word;
  }
  template <typename Enum>
  Enum readCase(std::optional<Enum> (*symbolize)(llvm::StringRef), std::string_view expected) {
    std::string name = readWord();
    std::optional<Enum> value = symbolize(name);
    if (!value)
      bad(expected, name);
    return *value;
  }

  std::string_view source;
  std::string text;
  size_t at = 0;
};

} // namespace

ScheduleSizes parseSchedule(std::string_view text) {
  ScheduleSizes sizes;
  auto strategy = flash::Strategy::Online;
  ScheduleText(text).read(sizes, strategy);
  return sizes;
}

ScheduleProblem scheduleProblem(const AttentionDesc &desc) {
  bool isMasked = desc.causal != Causal::None || desc.window || !desc.mask.empty();
  ScheduleProblem problem = {desc.headDim, desc.resolvedValueDim(), desc.dtype == DType::BF16,
                             desc.queries};
  problem.isMasked = isMasked;
  problem.isF32 = desc.dtype == DType::F32;
  problem.hasRowMax = desc.wantRowMax;
  problem.groupSize = desc.groupSize;
  problem.isStandard = desc.strategy == Strategy::Standard;
  return problem;
}

void setSchedule(mlir::ModuleOp module, const AttentionDesc &desc, const TargetInfo &target) {
  ScheduleProblem problem = scheduleProblem(desc);
  const bool isPaper = desc.schedule == "paper";
  auto strategy =
      desc.strategy == Strategy::Standard ? flash::Strategy::Standard : flash::Strategy::Online;
  if (!isPaper) { // which the schedule may name
    ScheduleSizes ignored;
    ScheduleText(desc.schedule).read(ignored, strategy);
  }
  problem.isStandard = strategy == flash::Strategy::Standard;
  ScheduleSizes sizes = isPaper ? paperSchedule(target, problem) : chooseSchedule(target, problem);
  if (!isPaper)
    ScheduleText(desc.schedule).read(sizes, strategy);
  // Knows tiles of queries and exact maxima only; one schedule may serve both strategies.
  if (problem.isStandard) {
    sizes.rowsAreHeads = false;
    sizes.split = 0;
    sizes.isOptimistic = false;
    sizes.registers = 0;
  }
  std::string rejection = rejectSchedule(sizes, target, problem);
  if (!rejection.empty())
    fail("schedule does not fit ", target.name, ": ", rejection);
  module.walk([&](flash::AttentionOp op) {
    op.setScheduleAttr(flash::toAttribute(op.getContext(), sizes, strategy));
  });
}

} // namespace flashc
