//===- Report.h - what people read ------------------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Aligned tables, numbers with units, progress on a terminal, and text made safe to print.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TOOLS_FLASHC_REPORT_H
#define FLASHC_TOOLS_FLASHC_REPORT_H

#include "tools/flashc/Inputs.h"

#include <ostream>

namespace flashc::tool {

/// Rows of cells, printed with aligned columns.
class Table {
public:
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  /// Prints the rows, each after `indent`; two blanks between columns, none at a line's end.
  void print(std::ostream &out, const std::string &indent = "") const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// "%.3g" with a unit: seconds as s, ms or us.
std::string describeSeconds(double seconds);
/// "1.23 GFLOP".
std::string describeFlops(double flops);
/// A whole number with at most 15 digits as such, else in scientific notation.
std::string describeCount(double count);
/// "%.4g".
std::string describeNumber(double value);
/// "f32, B=2 Sq=512 Sk=512 Hq=8 Hkv=2 D=64 Dv=64 (bhsd)"; packed: "3 sequences, Sq=.. in all".
std::string describeProblem(const Inputs &inputs);

/// `text` with control characters, line ends apart, as \xNN.
std::string escapeControls(std::string_view text);

/// `word` as a POSIX shell reads it back.
std::string shellQuote(const std::string &word);

/// A line on the terminal while something long goes on; nothing where standard error is no terminal.
class Progress {
public:
  explicit Progress(const std::string &what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  bool shown;
};

/// Prints the notes of `inputs` to standard error.
void printNotes(const Inputs &inputs);

/// Throws Error where standard output could not take all that was written to it.
void finishOutput();

} // namespace flashc::tool

#endif // FLASHC_TOOLS_FLASHC_REPORT_H
