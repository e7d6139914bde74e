//===- AssemblyLoops.h - the innermost loops of a listing -------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Reads x86-64 assembly as `--emit asm` writes it. Which block belongs to which
// loop is what LLVM's own comments say ("Inner Loop Header", "in Loop: Header=").
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_TARGET_CPU_ASSEMBLYLOOPS_H
#define FLASHC_TEST_TARGET_CPU_ASSEMBLYLOOPS_H

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flashc::test {

/// An instruction with LLVM's comment, blanks folded to one space; its line counts from 1.
struct AssemblyInstruction {
  std::string text;
  size_t line;
};

/// A loop without loops inside.
struct AssemblyLoop {
  std::string header; ///< such as "BB1_42"
  std::vector<AssemblyInstruction> instructions;
};

/// What follows `prefix` in `text`, up to a blank; "" where there is none.
inline std::string wordAfter(std::string_view text, std::string_view prefix) {
  const size_t at = text.find(prefix);
  if (at == std::string_view::npos)
    return "";
  text.remove_prefix(at + prefix.size());
  return std::string(text.substr(0, text.find_first_of(" \t")));
}

inline std::string foldBlanks(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != ' ' && c != '\t')
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  return result;
}

/// All innermost loops of `assembly`, with the instructions of their blocks in the listing's order.
inline std::vector<AssemblyLoop> findInnermostLoops(std::string_view assembly) {
  std::map<std::string, std::vector<AssemblyInstruction>> blocks; // of any loop, by its header
  std::vector<std::string> innermost;
  std::string block, loop; // the current block's label, and the header of the loop it is in
  for (size_t line = 1; !assembly.empty(); ++line) {
    const size_t end = std::min(assembly.find('\n'), assembly.size());
    const std::string_view text = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    const std::string_view code = text.substr(0, text.find('#'));
    const size_t colon = code.find(':');
    const bool isLabel = !code.empty() && code[0] != '\t' && code[0] != ' ' && colon != code.npos;
    if (isLabel || text.starts_with("# %bb.")) {
      block = isLabel ? std::string(code.substr(code.starts_with(".L") ? 2 : 0)) : "";
      block = block.substr(0, block.find(':'));
      loop = "";
    }
    if (text.find("Loop Header:") != text.npos) {
      loop = block;
      if (text.find("This Inner Loop Header:") != text.npos)
        innermost.push_back(block);
    } else if (std::string header = wordAfter(text, "in Loop: Header="); !header.empty()) {
      loop = header;
    }
    if (isLabel || loop.empty())
      continue;
    const std::string instruction = foldBlanks(text);
    if (const size_t first = instruction.find_first_not_of(' ');
        first != std::string::npos && instruction[first] != '#' && instruction[first] != '.')
      blocks[loop].push_back({instruction.substr(first), line});
  }
  std::vector<AssemblyLoop> result;
  for (const std::string &header : innermost)
    result.push_back({header, blocks[header]});
  return result;
}

/// Whether it multiplies and adds vectors or tiles.
inline bool isMultiplyAdd(const AssemblyInstruction &instruction) {
  for (const char *mnemonic : {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub", "vdpbf16ps", "tdpbf16ps"})
    if (instruction.text.starts_with(mnemonic))
      return true;
  return false;
}

/// Whether a vector or tile comes from the stack or goes there: a spill, a reload, or a variable that is
/// not in registers. (%rbp) is the stack only where LLVM says so, since it may hold any address.
inline bool touchesStackWithVector(const AssemblyInstruction &instruction) {
  const std::string &text = instruction.text;
  const std::string code = text.substr(0, text.find('#'));
  bool hasVector = false;
  for (const char *kind : {"%xmm", "%ymm", "%zmm", "%tmm"})
    hasVector |= code.find(kind) != std::string::npos;
  const std::string comment = text.substr(code.size());
  return hasVector &&
         (code.find("(%rsp") != std::string::npos || comment.find("Spill") != std::string::npos ||
          comment.find("Reload") != std::string::npos);
}

} // namespace flashc::test

#endif // FLASHC_TEST_TARGET_CPU_ASSEMBLYLOOPS_H
