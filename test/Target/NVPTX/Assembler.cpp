//===- Assembler.cpp - what ptxas makes of PTX ----------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"
#include "runtime/CUDA/PTXParts.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>

namespace flashc::test {

namespace {

/// A file in the folder for temporary ones that goes with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix) {
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("flashc", suffix, path))
      llvm::report_fatal_error(llvm::Twine("no temporary file: ") + error.message());
  }
  ~TemporaryFile() { llvm::sys::fs::remove(path); }

  llvm::StringRef name() const { return path; }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  void write(std::string_view text) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
  }

private:
  llvm::SmallString<128> path;
};

/// Runs a program with both of its outputs in `output`; returns its status.
int runProgram(const std::string &program, std::vector<std::string> arguments,
               const TemporaryFile &output) {
  arguments.insert(arguments.begin(), program);
  std::vector<llvm::StringRef> views(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), output.name(), output.name()};
  return llvm::sys::ExecuteAndWait(program, views, std::nullopt, redirects);
}

struct SassInstruction {
  int64_t address;
  std::string text;
};

bool contains(const std::string &text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

void addLoops(const std::string &function, const std::vector<SassInstruction> &code,
              std::vector<SassLoop> &loops) {
  static const std::regex branch(R"(\bBRA\S* (?:\S+, )?0x([0-9a-f]+))");
  std::map<int64_t, int64_t> ends; // of the furthest branch to each loop's begin
  for (const SassInstruction &instruction : code) {
    std::smatch match;
    if (!std::regex_search(instruction.text, match, branch))
      continue;
    int64_t target = std::stoll(match[1], nullptr, 16);
    // A branch to itself stands at the end of each function.
    if (target < instruction.address)
      ends[target] = instruction.address;
  }
  for (auto [begin, end] : ends) {
    SassLoop loop;
    loop.function = function;
    loop.begin = begin;
    loop.end = end;
    for (const SassInstruction &instruction : code) {
      if (instruction.address < begin || instruction.address > end)
        continue;
      ++loop.instructions;
      loop.matrixProducts += contains(instruction.text, "HMMA");
      loop.exponentials += contains(instruction.text, "MUFU.EX2");
      loop.maxima += contains(instruction.text, "FMNMX");
      loop.spills += contains(instruction.text, "LDL") || contains(instruction.text, "STL");
    }
    loops.push_back(loop);
  }
}

} // namespace

std::string findToolkitProgram(std::string_view name) {
  llvm::StringRef program(name.data(), name.size());
  for (llvm::ErrorOr<std::string> found :
       {llvm::sys::findProgramByName(program),
        llvm::sys::findProgramByName(program, {"/usr/local/cuda/bin"})})
    if (found)
      return *found;
  return "";
}

int64_t countSpillBytes(std::string_view log) {
  static const std::regex spill(R"((\d+) bytes spill (?:stores|loads))");
  int64_t bytes = 0;
  for (std::cregex_iterator it(log.data(), log.data() + log.size(), spill), end; it != end; ++it)
    bytes += std::stoll((*it)[1]);
  return bytes;
}

std::vector<SassLoop> findSassLoops(std::string_view listing) {
  static const std::regex header(R"(Function : (\S+))");
  static const std::regex line(R"(/\*([0-9a-f]{4,})\*/\s+([^;]*);)");
  std::vector<SassLoop> loops;
  std::vector<SassInstruction> code;
  std::string function, text;
  std::istringstream stream{std::string(listing)};
  while (std::getline(stream, text)) {
    std::smatch match;
    if (std::regex_search(text, match, header)) {
      addLoops(function, code, loops);
      code.clear();
      function = match[1];
    } else if (std::regex_search(text, match, line)) {
      code.push_back({std::stoll(match[1], nullptr, 16), match[2]});
    }
  }
  addLoops(function, code, loops);
  return loops;
}

Assembly assemble(const std::string &ptxas, const std::string &cuobjdump, std::string_view ptx,
                  std::string_view arch) {
  const std::string archOption = "-arch=" + std::string(arch);
  std::vector<PTXPart> parts = divideAtFunctions(ptx, arch);
  const bool isDivided = !parts.empty();
  if (!isDivided)
    parts.push_back({std::string(ptx), 0});
  Assembly result;
  result.succeeded = true;
  std::vector<std::unique_ptr<TemporaryFile>> objects;
  for (const PTXPart &part : parts) {
    TemporaryFile source("ptx"), output("log");
    objects.push_back(std::make_unique<TemporaryFile>("cubin"));
    source.write(part.text);
    std::vector<std::string> arguments = {archOption, "-v", source.name().str(), "-o",
                                          objects.back()->name().str()};
    if (isDivided)
      arguments.push_back("-c");
    if (part.mostRegisters)
      arguments.push_back("-maxrregcount=" + std::to_string(part.mostRegisters));
    result.succeeded &= runProgram(ptxas, arguments, output) == 0;
    result.log += output.read();
    TemporaryFile listing("sass");
    if (!result.succeeded || cuobjdump.empty() ||
        runProgram(cuobjdump, {"-sass", objects.back()->name().str()}, listing) != 0)
      continue;
    result.hasListing = true;
    llvm::append_range(result.loops, findSassLoops(listing.read()));
  }
  result.spillBytes = countSpillBytes(result.log);
  const std::string nvlink = findToolkitProgram("nvlink");
  if (!isDivided || !result.succeeded || nvlink.empty())
    return result;
  TemporaryFile cubin("cubin"), output("log");
  std::vector<std::string> arguments = {archOption, "-o", cubin.name().str()};
  for (const auto &object : objects)
    arguments.push_back(object->name().str());
  result.succeeded = runProgram(nvlink, arguments, output) == 0;
  result.log += output.read();
  return result;
}

} // namespace flashc::test
