//===- RunCommand.cpp - flashc run ----------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Bundle/Bundle.h"
#include "runtime/IO/ByteSource.h"
#include "tools/flashc/Check.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Compiled.h"
#include "tools/flashc/Execution.h"
#include "tools/flashc/Machine.h"
#include "tools/flashc/Outputs.h"
#include "tools/flashc/Report.h"

#include <iostream>

namespace flashc::tool {
namespace {

constexpr uint64_t mostObjectBytes = uint64_t(1) << 28;

/// The object to run: that of --object, or compiled. Settles the target.
MadeObject takeObject(Invocation &invocation, Inputs &inputs) {
  const Arguments &arguments = invocation.arguments;
  if (const std::optional<std::string> path = arguments.find("object")) {
    for (const char *flag : {"schedule", "strategy", "name", "dump-stages"})
      if (arguments.has(flag))
        fail("expected either --object or --", flag, ", got both; the object is compiled already");
    const auto file = ByteSource::openFile(*path, {mostObjectBytes});
    SourceStream stream(*file);
    std::vector<std::byte> bytes = readBytes(stream, file->size());
    if (arguments.has("target") && !isBundle(bytes))
      fail("expected either --object or --target, got both; the object is compiled already");
    return {std::move(bytes)};
  }
  inputs.desc.target = runnableTarget(inputs.desc, deviceOf(arguments));
  if (!arguments.has("target"))
    invocation.settled = {"--target", inputs.desc.target};
  const Progress progress("compiling");
  return makeObject(inputs.desc, arguments.find("dump-stages").value_or(""));
}

void checkResultsOf(const KernelInfo &info, const AttentionDesc &desc) {
  if ((desc.wantLse && info.find("lse") < 0) || (desc.wantRowMax && info.find("row_max") < 0))
    fail("expected an object with the results that --lse and --row-max ask for, got one without; "
         "compile it with these flags");
}

std::string describeSpeed(const Inputs &inputs, double seconds) {
  const PairCount pairs = countPairsByCompiler(inputs);
  const double rate = seconds > 0 ? countFlops(inputs, pairs) / seconds : 0;
  std::string text = describeFlops(rate) + "/s";
  if (!pairs.exact)
    text = "at most " + text + " (" + pairs.why + ")";
  return text;
}

/// Bytes through memory as explain counts them.
std::string describeMemory(const Inputs &inputs, const KernelInfo &info) {
  const ScheduleSizes sizes = parseScheduleBody(extractSchedule(info.schedule));
  double standard = 0, tiled = 0;
  const double visited = countTilesByCompiler(inputs, sizes).visited();
  for (const Traffic &traffic :
       countTraffic(inputs, visited, {sizes.tile[0], sizes.rowsAreHeads})) {
    standard += traffic.standard;
    tiled += traffic.tiled;
  }
  return describeBytes(tiled) + " tiled, " + describeBytes(standard) +
         " standard ('flashc explain' has the details)";
}

void run(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  const int threads = static_cast<int>(arguments.integer("threads", 0, 4096, 0));
  const OutputFiles files(arguments);
  Inputs inputs = loadInputs(arguments, Need::Data);
  printNotes(inputs);
  const int device = deviceOf(arguments);
  const MadeObject object = takeObject(invocation, inputs);
  const Kernel kernel(object.bytes,
                      isBundle(object.bytes) ? arguments.find("target").value_or("") : "");
  checkDeviceFlags(arguments, kernel.info().target);
  checkResultsOf(kernel.info(), inputs.desc);
  Execution execution(kernel, inputs, device, arguments.has("graph"));
  const double seconds = execution.run(1, threads).front();
  const std::map<std::string, HostArray> &results = execution.results();

  std::vector<CheckLine> checks;
  if (arguments.has("check")) {
    const Progress progress("checking against float64");
    checks = checkResults(inputs, results, threads);
  }
  std::string failures;
  for (const CheckLine &line : checks)
    if (!line.passed)
      failures += (failures.empty() ? "" : ", ") + line.result;
  if (failures.empty())
    files.write(results);

  Table table;
  table.add({"target", kernel.info().target});
  table.add({"schedule", extractSchedule(kernel.info().schedule)});
  if (!arguments.has("object"))
    table.add({"kernel", concat(object.isFromCache ? "from the cache in " : "compiled in ",
                                describeSeconds(object.seconds))});
  table.add({"problem", describeProblem(inputs)});
  table.add({"time", concat(describeSeconds(seconds), " (one run; ",
                            describeMachine(kernel.info(), device, threads), ")")});
  table.add({"speed", describeSpeed(inputs, seconds)});
  table.add({"memory", describeMemory(inputs, kernel.info())});
  table.print(std::cout);
  Table errors;
  for (const CheckLine &line : checks)
    errors.add({"check", line.result, line.passed ? "PASS" : "FAIL", line.details});
  errors.print(std::cout);
  if (!failures.empty())
    fail("expected results within twice the error of an unfused f32 evaluation, got more in ",
         failures, "; no file was written");
}

} // namespace

Command runCommand() {
  Command command;
  command.name = "run";
  command.summary = "Compile attention and run it on arrays of files, or random ones.";
  command.usage = "(--q FILE --k FILE --v FILE | --inputs FILE | --random SIZES) [FLAGS...]";
  command.description = R"(
Compiles the attention that the flags describe for this machine, or with --target cuda for its GPU, runs
exactly the object that 'flashc compile --emit obj' writes, and prints target, schedule, whether it was compiled
or came from the cache ('flashc cache --help'), sizes, time and speed. Speed counts
2*(D + Dv) operations per query and kept key. Result files are .npy (bf16 as f32) and appear only when
everything has succeeded.

  flashc run --q q.npy --k k.npy --v v.npy --causal bottom-right --out o.npy --lse lse.npy
  flashc run --inputs qkv.npz --dtype bf16 --window 128,0 --check
  flashc run --random 4,2048,2048,16,16,128,128 --dtype bf16 --target cuda
)";
  command.ownFlags = {
      {"Running",
       {{"out", "FILE.npy", "Write o here, in the inputs' type and layout (bf16 as f32)."},
        {"threads", "N", "Use at most N threads (default: one per processor)."},
        deviceFlag(),
        graphFlag(),
        {"check", "",
         "Compare every result with a float64 reference. Passes within twice the error of an "
         "unfused "
         "f32 evaluation of the same inputs; else the exit code is 1 and nothing is written."},
        {"object", "FILE.o",
         "Run this object, or the best one for this machine (with --target: for that target) of a "
         "bundle, written by 'flashc compile' with the same flags, instead of compiling. It is "
         "code: run only what you trust."},
        {"dump-stages", "DIR", "Write every stage of compilation to this folder."}}}};
  command.run = run;
  return command;
}

} // namespace flashc::tool
