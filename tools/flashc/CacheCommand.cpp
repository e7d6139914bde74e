//===- CacheCommand.cpp - flashc cache ------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Cache/DiskCache.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Json.h"
#include "tools/flashc/Report.h"
#include "tools/flashc/Suggest.h"

#include <ctime>
#include <iostream>

namespace flashc::tool {
namespace {

std::string describeTime(int64_t seconds) {
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm utc = {};
  char text[32] = "";
  if (gmtime_r(&time, &utc))
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// Prints the entries; returns how many are bad.
size_t printEntries(const DiskCache &cache, bool verify, bool json) {
  const std::vector<DiskCache::Listed> entries = cache.list(verify);
  uint64_t bytes = 0;
  size_t bad = 0;
  Table table;
  table.add({"last use", "bytes", "key", "what"});
  for (const DiskCache::Listed &entry : entries) {
    bytes += entry.fileBytes;
    bad += !entry.problem.empty();
    if (json) {
      nlohmann::ordered_json line;
      line["kind"] = "entry";
      line["key"] = entry.key;
      line["description"] = entry.description;
      line["bytes"] = entry.fileBytes;
      line["last_use"] = entry.lastUse;
      line["problem"] = entry.problem;
      printJsonLine(line, std::cout);
    } else {
      table.add(
          {describeTime(entry.lastUse), std::to_string(entry.fileBytes), entry.key,
           entry.problem.empty() ? escapeControls(entry.description) : "bad: " + entry.problem});
    }
  }
  if (json) {
    nlohmann::ordered_json line;
    line["kind"] = "cache";
    line["directory"] = cache.directory();
    line["entries"] = entries.size();
    line["bytes"] = bytes;
    line["most_bytes"] = cache.maxBytes();
    line["bad"] = bad;
    printJsonLine(line, std::cout);
    return bad;
  }
  if (!entries.empty()) {
    table.print(std::cout);
    std::cout << '\n';
  }
  std::cout << escapeControls(cache.directory()) << ": " << entries.size() << " entries, " << bytes
            << " of at most " << cache.maxBytes() << " bytes\n";
  return bad;
}

void verify(const DiskCache &cache, bool json) {
  if (const size_t bad = printEntries(cache, true, json))
    fail("expected entries as they were written, got ", bad,
         " bad; they are never used, and 'flashc cache prune' removes them");
}

void prune(const DiskCache &cache, uint64_t most, bool json) {
  const DiskCache::Pruned pruned = cache.prune(most);
  if (!json) {
    std::cout << escapeControls(cache.directory()) << ": " << pruned.files << " files with "
              << pruned.bytes << " bytes removed, " << pruned.keptFiles << " entries with "
              << pruned.keptBytes << " bytes kept\n";
    return;
  }
  nlohmann::ordered_json line;
  line["kind"] = "pruned";
  line["directory"] = cache.directory();
  line["removed_files"] = pruned.files;
  line["removed_bytes"] = pruned.bytes;
  line["kept_entries"] = pruned.keptFiles;
  line["kept_bytes"] = pruned.keptBytes;
  printJsonLine(line, std::cout);
}

void cache(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  const bool json = arguments.has("json");
  const std::string action = arguments.positional().empty() ? "" : arguments.positional()[0];
  const std::vector<std::string> actions = {"ls", "verify", "prune"};
  if (std::find(actions.begin(), actions.end(), action) == actions.end())
    throw UsageError(concat("expected ls, verify or prune, got ",
                            action.empty() ? "nothing" : "'" + action + "'",
                            didYouMean(action, actions), "; 'flashc cache --help' explains them"));
  const std::optional<std::string> size = arguments.find("size");
  if (size && action != "prune")
    throw UsageError("--size: expected it with prune, got it with " + action);
  const DiskCache cache = DiskCache::fromEnvironment();
  if (cache.directory().empty())
    fail("expected a folder for the cache, got none; set FLASHC_CACHE_DIR, XDG_CACHE_HOME or HOME");
  if (action == "ls")
    printEntries(cache, false, json);
  else if (action == "verify")
    verify(cache, json);
  else
    prune(cache, size ? parseCacheSize("--size", *size) : cache.maxBytes(), json);
}

} // namespace

Command cacheCommand() {
  Command command;
  command.name = "cache";
  command.summary = "List, check or clear the kernels that are kept on disk.";
  command.usage = "(ls | verify | prune [--size BYTES]) [--json]";
  command.description = R"(
What the compiler makes of attention (machine code for CPUs, PTX for GPUs), and the cubins that ptxas makes of
PTX, are made once and kept in the folder FLASHC_CACHE_DIR, else $XDG_CACHE_HOME/flashc, else ~/.cache/flashc.
'run', 'bench' and the library take them from there, 'compile' and --dump-stages compile; what another build
of the compiler, ptxas or driver made is never used. The folder holds at most FLASHC_CACHE_SIZE bytes (such as 512M; default 1G; 0: nothing is kept);
beyond that the least recently used entries go. Every entry is checked when it is used.

  ls        lists the entries, the most recently used first
  verify    reads and checks all of them; a bad one makes the exit code 1
  prune     removes bad entries, what killed processes left, and the least recently used entries beyond
            --size bytes (default: FLASHC_CACHE_SIZE); --size 0 removes all

--json prints one object a line: ls and verify every entry (kind "entry": key, description, bytes, last_use
in seconds since 1970, problem), then the folder (kind "cache"); prune what it did (kind "pruned").
)";
  command.ownFlags = {{"Cache",
                       {{"size", "BYTES", "Keep at most so much; suffixes K, M, G."},
                        {"json", "", "One JSON object a line instead of a table."}}}};
  command.takesAttention = false;
  command.maxPositional = 1;
  command.run = cache;
  return command;
}

} // namespace flashc::tool
