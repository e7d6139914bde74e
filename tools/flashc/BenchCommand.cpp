//===- BenchCommand.cpp - flashc bench ------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/BenchJson.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Compiled.h"
#include "tools/flashc/Execution.h"
#include "tools/flashc/FirstRun.h"
#include "tools/flashc/Machine.h"
#include "tools/flashc/Report.h"

#include <algorithm>
#include <iostream>

namespace flashc::tool {
namespace {

struct Measurement {
  KernelInfo kernel;
  bool isFromCache = false;
  double compileSeconds = 0;    ///< or what reading from the cache took
  double median = 0, least = 0; ///< seconds
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// How a measurement is made.
struct Plan {
  int threads = 0, device = 0;
  bool asGraph = false;
  int64_t warmUps = 0, repetitions = 0;
};

/// A GPU's runs are short and its clock adapts, so that it takes more of them.
Plan readPlan(const Arguments &arguments, bool onGPU) {
  Plan plan;
  plan.threads = static_cast<int>(arguments.integer("threads", 0, 4096, 0));
  plan.device = deviceOf(arguments);
  plan.asGraph = arguments.has("graph");
  plan.warmUps = arguments.integer("warm-up", 0, 1000000, onGPU ? 10 : 2);
  plan.repetitions = arguments.integer("repetitions", 1, 1000000, onGPU ? 100 : 10);
  return plan;
}

Measurement measure(const Inputs &inputs, const Plan &plan) {
  Measurement result;
  const Progress progress(inputs.desc.strategy == Strategy::Online ? "measuring online"
                                                                   : "measuring standard");
  const MadeObject object = makeObject(inputs.desc);
  const Kernel kernel(object.bytes);
  result.isFromCache = object.isFromCache;
  result.compileSeconds = object.seconds;
  result.kernel = kernel.info();
  Execution execution(kernel, inputs, plan.device, plan.asGraph);
  execution.run(plan.warmUps, plan.threads);
  const std::vector<double> seconds = execution.run(plan.repetitions, plan.threads);
  result.median = medianOf(seconds);
  result.least = *std::min_element(seconds.begin(), seconds.end());
  return result;
}

void printJson(const Inputs &inputs, const Measurement &m, const PairCount &pairs,
               const Plan &plan) {
  const double flops = countFlops(inputs, pairs), bytes = leastBytes(inputs);
  nlohmann::ordered_json line;
  addKernel(line, m.kernel, plan.device, plan.threads);
  if (m.kernel.isForGPU())
    line["graph"] = plan.asGraph;
  line["kernel"] = m.isFromCache ? "cached" : "compiled";
  line["kernel_s"] = m.compileSeconds;
  addProblem(line, inputs);
  line["repetitions"] = plan.repetitions;
  line["median_s"] = m.median;
  line["min_s"] = m.least;
  line["flops"] = toJson(flops);
  line["flops_exact"] = pairs.exact;
  line["bytes"] = toJson(bytes);
  line["tflop_per_s"] = m.median > 0 ? flops / m.median * 1e-12 : 0;
  line["gb_per_s"] = m.median > 0 ? bytes / m.median * 1e-9 : 0;
  printJsonLine(line, std::cout);
}

void checkFlags(const Arguments &arguments) {
  readPlan(arguments, false);
  if (arguments.has("compare") && arguments.has("strategy"))
    throw UsageError("expected either --compare or --strategy, got both; leave one out");
  for (const char *flag : {"compare", "graph", "repetitions", "warm-up"})
    if (arguments.has("first-run") && arguments.has(flag))
      throw UsageError(
          concat("expected either --first-run or --", flag, ", got both; leave one out"));
}

void bench(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  checkFlags(arguments); // what is wrong with a flag is told before arrays are made
  Inputs inputs = loadInputs(arguments, Need::Data);
  printNotes(inputs);
  inputs.desc.target = runnableTarget(inputs.desc, deviceOf(arguments));
  if (!arguments.has("target"))
    invocation.settled = {"--target", inputs.desc.target};
  checkDeviceFlags(arguments, inputs.desc.target);
  const Plan plan = readPlan(arguments, lookupTarget(inputs.desc.target)->kind == TargetKind::GPU);
  if (arguments.has("first-run")) {
    const FirstRun first = measureFirstRun(inputs, plan.device, plan.threads);
    (arguments.has("json") ? printFirstRunJson : printFirstRun)(first, inputs, plan.device,
                                                                plan.threads);
    return;
  }
  const PairCount pairs = countPairsByCompiler(inputs);

  std::vector<Strategy> strategies = {inputs.desc.strategy};
  if (arguments.has("compare"))
    strategies = {Strategy::Online, Strategy::Standard};
  Table table;
  table.add({"strategy", "target", "schedule", "median", "min", "TFLOP/s", "GB/s"});
  std::string machine;
  for (const Strategy strategy : strategies) {
    inputs.desc.strategy = strategy;
    const Measurement m = measure(inputs, plan);
    if (arguments.has("json")) {
      printJson(inputs, m, pairs, plan);
      continue;
    }
    machine = describeMachine(m.kernel, plan.device, plan.threads);
    const double rate = m.median > 0 ? 1 / m.median : 0;
    table.add({m.kernel.strategy, m.kernel.target, extractSchedule(m.kernel.schedule),
               describeSeconds(m.median), describeSeconds(m.least),
               describeNumber(countFlops(inputs, pairs) * rate * 1e-12),
               describeNumber(leastBytes(inputs) * rate * 1e-9)});
  }
  if (arguments.has("json"))
    return;
  std::cout << describeProblem(inputs) << "\n"
            << machine << ", " << plan.repetitions << " runs after " << plan.warmUps
            << " to warm up; " << describeFlops(countFlops(inputs, pairs))
            << (pairs.exact ? "" : " at most (" + pairs.why + ")") << ", "
            << describeBytes(leastBytes(inputs)) << " per run\n\n";
  table.print(std::cout);
}

} // namespace

Command benchCommand() {
  Command command;
  command.name = "bench";
  command.summary = "Measure how fast attention runs on this machine.";
  command.usage = "(--random SIZES | --q FILE --k FILE --v FILE) [FLAGS...]";
  command.description = R"(
Compiles once, or takes the kernel from the cache ('flashc cache --help'), runs --warm-up times, then measures --repetitions runs, each from the call to its return;
on a GPU between events before and after its kernels.

Operations are those of the two matrix products over the kept pairs, 2*pairs*(D + Dv): without a mask
4*B*Hq*Sq*Sk*D for Dv = D, and about half of it for a causal mask. Causal masks, windows and lengths are
counted in closed form, mask expressions by the compiler's analysis (an upper bound where it is
conservative, which is said). Bytes are those of every input and result, each once. TFLOP/s and GB/s
are these over the median time.

  flashc bench --random 4,2048,2048,16,16,64,64 --causal bottom-right --compare
  flashc bench --random 1,1,8192,32,8,128,128 --queries 1 --dtype bf16 --json
  flashc bench --random 4,4096,4096,16,16,128,128 --dtype bf16 --causal bottom-right --target cuda
  flashc bench --random 1,512,512,16,16,128,128 --dtype bf16 --target cuda --first-run

--first-run measures what comes before instead: what a program's first call takes, from the description to the
results. That is to compile (or to read the cache; with FLASHC_CACHE_DIR=$(mktemp -d) it is empty), on a GPU to
make machine code of PTX (as well kept in the cache), to load it, and to run once.

--json prints one object a line and strategy: target, schedule, strategy, threads and cpu (or gpu, graph),
kernel (compiled or cached), kernel_s (seconds that took), dtype, shape, layout, repetitions, median_s, min_s, flops, flops_exact, bytes, tflop_per_s, gb_per_s. With --first-run: target, schedule, strategy, threads and cpu (or gpu),
kernel, compile_s, load_s, run_s, total_s (their sum), dtype, shape, layout, and on a GPU machine_code (ptxas, cached, or
driver, which makes it while it loads), assemble_s (in the sum) and context_s (not in it).
)";
  command.ownFlags = {{"Measuring",
                       {{"threads", "N", "Use at most N threads (default: one per processor)."},
                        deviceFlag(),
                        graphFlag(),
                        {"repetitions", "N", "Measure N runs (default 10; on a GPU 100)."},
                        {"warm-up", "N", "Run N times before (default 2; on a GPU 10)."},
                        {"compare", "", "Measure both strategies, online and standard."},
                        {"first-run", "", "Measure what the first run takes: compile, load, run."},
                        {"json", "", "One JSON object a line instead of a table."}}}};
  command.run = bench;
  return command;
}

} // namespace flashc::tool
