//===- ReadAhead.cpp - asking for a loop's next tiles ---------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/ReadAhead.h"
#include "compiler/Conversion/TileToVector/Moves.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc;

namespace {

constexpr int64_t kLineBytes = 64, kPageBytes = 4096;
/// How much a dot asks for, and how much the rows between two dots do: as they take time.
constexpr int64_t kDotWeight = 3, kRowsWeight = 1, kPeriod = kDotWeight + kRowsWeight;

/// Cache lines of a tile where it lies in memory, in the order in which they are asked for: turns of a line of each part.
class Lines {
public:
  Lines(const Buffer &buffer)
      : buffer(buffer),
        element(cast<MemRefType>(buffer.memory.getType()).getElementTypeBitWidth() / 8),
        perRow(llvm::divideCeil(buffer.columns * element, kLineBytes)) {
    // Pages, as far as there are so many.
    int64_t count = buffer.rows * perRow;
    int64_t pages = std::max<int64_t>(1, count * kLineBytes / kPageBytes);
    parts = std::min<int64_t>(kStreams, llvm::bit_floor(static_cast<uint64_t>(pages)));
    if (buffer.rows % parts != 0)
      parts = 1;
    turns = count / parts;
  }

  /// Asks for the line of part `part` in turn `turn`.
  void emit(Context &c, Value turn, Value part) const {
    Index x(c.b, c.loc);
    // Apart from each other, so that the parts share what is computed of the turn.
    Value row = x.add(x.div(turn, perRow), x.mul(part, turns / perRow));
    Value column = x.mul(x.rem(turn, x.constant(perRow)), kLineBytes / element);
    memref::PrefetchOp::create(c.b, c.loc, buffer.memory,
                               ValueRange{x.add(row, buffer.nextRows), column},
                               /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
  }

  int64_t parts = 1, turns = 0;

private:
  const Buffer &buffer;
  int64_t element, perRow;
};

} // namespace

ReadAhead ReadAhead::ofDot(const Context &c, const Buffer &right) {
  ReadAhead result;
  ArrayRef<Buffer> tiles = c.nextTiles.tiles;
  auto *own =
      llvm::find_if(tiles, [&](const Buffer &buffer) { return buffer.memory == right.memory; });
  if (own == tiles.end())
    return result;
  result.begin = (own - tiles.begin()) * kPeriod;
  result.end = result.begin + kDotWeight;
  result.all = static_cast<int64_t>(tiles.size()) * kPeriod - kRowsWeight;
  return result;
}

ReadAhead ReadAhead::ofRows(const Context &c) {
  ReadAhead result;
  int64_t tiles = static_cast<int64_t>(c.nextTiles.tiles.size()), done = c.nextTiles.dots;
  if (done == 0 || done >= tiles)
    return result;
  result.end = done * kPeriod;
  result.begin = result.end - kRowsWeight;
  result.all = tiles * kPeriod - kRowsWeight;
  return result;
}

ReadAhead ReadAhead::part(int64_t from, int64_t to, int64_t of) const {
  ReadAhead result;
  result.begin = begin * of + (end - begin) * from;
  result.end = begin * of + (end - begin) * to;
  result.all = all * of;
  return result;
}

void ReadAhead::emit(Context &c, const ReadStep &step) const {
  Index x(c.b, c.loc);
  // What a step asks for of each tile; they take turns, line by line.
  using TurnAndPart = std::pair<Value, Value>;
  SmallVector<std::pair<Lines, SmallVector<TurnAndPart>>> requests;
  size_t most = 0;
  for (const Buffer &buffer : c.nextTiles.tiles) {
    Lines lines(buffer);
    int64_t first = lines.turns * begin / all * lines.parts;
    int64_t count = lines.turns * end / all * lines.parts - first;
    if (count == 0)
      continue;
    int64_t inGroup = llvm::divideCeil(count, step.groups);
    // Where there are more groups than lines, some ask for the same one.
    Value group = count < step.groups ? x.div(x.mul(step.group, count), step.groups)
                                      : x.mul(step.group, inGroup);
    SmallVector<TurnAndPart> inStep;
    int64_t to = inGroup * (step.part + 1) / step.parts;
    for (int64_t n = inGroup * step.part / step.parts; n < to; ++n) {
      bool isKnown = count >= step.groups && inGroup % lines.parts == 0;
      Value line = x.add(group, first + n);
      Value turn = isKnown
                       ? x.add(x.mul(step.group, inGroup / lines.parts), (first + n) / lines.parts)
                       : x.div(line, lines.parts);
      inStep.emplace_back(turn, isKnown ? x.constant(n % lines.parts)
                                        : x.rem(line, x.constant(lines.parts)));
    }
    most = std::max(most, inStep.size());
    requests.emplace_back(lines, std::move(inStep));
  }
  for (size_t n = 0; n < most; ++n)
    for (auto &[lines, inStep] : requests)
      if (n < inStep.size())
        lines.emit(c, inStep[n].first, inStep[n].second);
}

void ReadAhead::emit(Context &c, Value step, Value steps) const {
  for (const Buffer &buffer : c.nextTiles.tiles) {
    Lines lines(buffer);
    int64_t first = lines.turns * begin / all, count = lines.turns * end / all - first;
    if (count == 0)
      continue;
    Index x(c.b, c.loc);
    Value inStep = x.div(x.add(x.sub(steps, 1), count), steps);
    Value from = x.mul(step, inStep), to = x.min(x.add(from, inStep), count);
    emitLoop(c, x.add(from, first), x.add(to, first), 1, [&](Value turn) {
      Index y(c.b, c.loc);
      for (int64_t part = 0; part < lines.parts; ++part)
        lines.emit(c, turn, y.constant(part));
    });
  }
}
