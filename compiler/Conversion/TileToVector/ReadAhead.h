//===- ReadAhead.h - asking for a loop's next tiles -------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Dots of few rows wait for memory, unless all of what the loop's next turn reads is asked for during this one. A core has
// few buffers for lines on their way: they stay in use only where the requests are spread evenly over a turn's work, a line
// or two beside some multiplications, and where they go to several pages by turns, so that the first lines of a page, which
// are slow, come beside others.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_READAHEAD_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_READAHEAD_H

#include "compiler/Conversion/TileToVector/Context.h"

namespace flashc {

/// A step of work: part `part` of `parts`, which are emitted one after the other, of group `group` of `groups`.
struct ReadStep {
  mlir::Value group;
  int64_t groups;
  int64_t part = 0, parts = 1;
};

/// The lines of the next tiles that a piece of a loop's body asks for, a share of each tile: none where the loop reads no
/// tiles where they lie.
class ReadAhead {
public:
  /// The share of the dot with `right`.
  static ReadAhead ofDot(const Context &c, const Buffer &right);
  /// The share of what lies between two dots, after those that are lowered.
  static ReadAhead ofRows(const Context &c);

  /// A part of the share, [from, to) of `of`.
  ReadAhead part(int64_t from, int64_t to, int64_t of) const;

  /// Asks for what a step has to.
  void emit(Context &c, const ReadStep &step) const;
  /// The same for step `step` of so many that only the kernel knows it.
  void emit(Context &c, mlir::Value step, mlir::Value steps) const;

private:
  int64_t begin = 0, end = 0, all = 1; // [begin, end) of `all`
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_READAHEAD_H
