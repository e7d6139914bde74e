//===- BenchCommand.cpp - flashc bench ------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/HostCPU.h"
#include "runtime/CPU/ThreadPool.h"
#include "tools/flashc/Commands.h"
#include "tools/flashc/Compiled.h"
#include "tools/flashc/Execution.h"
#include "tools/flashc/Json.h"
#include "tools/flashc/Report.h"

#include <algorithm>
#include <iostream>

namespace flashc::tool {
namespace {

struct Measurement {
  KernelInfo kernel;
  double median = 0, least = 0; ///< seconds
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Measurement measure(const Inputs &inputs, int threads, int64_t warmUps, int64_t repetitions) {
  Measurement result;
  const Progress progress(inputs.desc.strategy == Strategy::Online ? "measuring online"
                                                                   : "measuring standard");
  const Kernel kernel(makeObject(inputs.desc));
  result.kernel = kernel.info();
  Execution execution(kernel, inputs);
  for (int64_t n = 0; n < warmUps; ++n)
    execution.run(threads);
  std::vector<double> seconds;
  for (int64_t n = 0; n < repetitions; ++n)
    seconds.push_back(execution.run(threads));
  result.median = medianOf(seconds);
  result.least = *std::min_element(seconds.begin(), seconds.end());
  return result;
}

void printJson(const Inputs &inputs, const Measurement &m, const PairCount &pairs, int threads,
               int64_t repetitions) {
  const Sizes &sizes = *inputs.sizes;
  const double flops = countFlops(inputs, pairs), bytes = leastBytes(inputs);
  nlohmann::ordered_json line;
  line["target"] = m.kernel.target;
  line["schedule"] = extractSchedule(m.kernel.schedule);
  line["strategy"] = m.kernel.strategy;
  line["threads"] = effectiveThreads(threads);
  line["cpu"] = HostCPU::get().brand();
  line["dtype"] = nameOf(inputs.desc.dtype);
  line["shape"] = {{"batch", sizes.batch},
                   {"sq", sizes.queries},
                   {"sk", sizes.keys},
                   {"hq", sizes.heads},
                   {"hkv", sizes.headsKv},
                   {"d", inputs.desc.headDim},
                   {"dv", inputs.desc.resolvedValueDim()},
                   {"packed", inputs.isPacked()}};
  line["layout"] = inputs.bhsd ? "bhsd" : "bshd";
  line["repetitions"] = repetitions;
  line["median_s"] = m.median;
  line["min_s"] = m.least;
  line["flops"] = toJson(flops);
  line["flops_exact"] = pairs.exact;
  line["bytes"] = toJson(bytes);
  line["tflop_per_s"] = m.median > 0 ? flops / m.median * 1e-12 : 0;
  line["gb_per_s"] = m.median > 0 ? bytes / m.median * 1e-9 : 0;
  printJsonLine(line, std::cout);
}

void bench(Invocation &invocation) {
  const Arguments &arguments = invocation.arguments;
  const int threads = static_cast<int>(arguments.integer("threads", 0, 4096, 0));
  const int64_t warmUps = arguments.integer("warm-up", 0, 1000000, 2);
  const int64_t repetitions = arguments.integer("repetitions", 1, 1000000, 10);
  if (arguments.has("compare") && arguments.has("strategy"))
    throw UsageError("expected either --compare or --strategy, got both; leave one out");
  Inputs inputs = loadInputs(arguments, Need::Data);
  printNotes(inputs);
  inputs.desc.target = hostTarget(inputs.desc.target);
  if (!arguments.has("target"))
    invocation.settled = {"--target", inputs.desc.target};
  const PairCount pairs = countPairsByCompiler(inputs);

  std::vector<Strategy> strategies = {inputs.desc.strategy};
  if (arguments.has("compare"))
    strategies = {Strategy::Online, Strategy::Standard};
  Table table;
  table.add({"strategy", "target", "schedule", "median", "min", "TFLOP/s", "GB/s"});
  for (const Strategy strategy : strategies) {
    inputs.desc.strategy = strategy;
    const Measurement m = measure(inputs, threads, warmUps, repetitions);
    if (arguments.has("json")) {
      printJson(inputs, m, pairs, threads, repetitions);
      continue;
    }
    const double rate = m.median > 0 ? 1 / m.median : 0;
    table.add({m.kernel.strategy, m.kernel.target, extractSchedule(m.kernel.schedule),
               describeSeconds(m.median), describeSeconds(m.least),
               describeNumber(countFlops(inputs, pairs) * rate * 1e-12),
               describeNumber(leastBytes(inputs) * rate * 1e-9)});
  }
  if (arguments.has("json"))
    return;
  std::cout << describeProblem(inputs) << "\n"
            << HostCPU::get().brand() << ", " << effectiveThreads(threads) << " threads, "
            << repetitions << " runs after " << warmUps << " to warm up; "
            << describeFlops(countFlops(inputs, pairs))
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
Compiles once, runs --warm-up times, then measures --repetitions runs, each from the call to its return.

Operations are those of the two matrix products over the kept pairs, 2*pairs*(D + Dv): without a mask
4*B*Hq*Sq*Sk*D for Dv = D, and about half of it for a causal mask. Causal masks, windows and lengths are
counted in closed form, mask expressions by the compiler's analysis (an upper bound where it is
conservative, which is said). Bytes are those of every input and result, each once. TFLOP/s and GB/s
are these over the median time.

  flashc bench --random 4,2048,2048,16,16,64,64 --causal bottom-right --compare
  flashc bench --random 1,1,8192,32,8,128,128 --queries 1 --dtype bf16 --json

--json prints one object a line and strategy: target, schedule, strategy, threads, cpu, dtype, shape,
layout, repetitions, median_s, min_s, flops, flops_exact, bytes, tflop_per_s, gb_per_s.
)";
  command.ownFlags = {{"Measuring",
                       {{"threads", "N", "Use at most N threads (default: one per processor)."},
                        {"repetitions", "N", "Measure N runs (default 10)."},
                        {"warm-up", "N", "Run N times before (default 2)."},
                        {"compare", "", "Measure both strategies, online and standard."},
                        {"json", "", "One JSON object a line instead of a table."}}}};
  command.run = bench;
  return command;
}

} // namespace flashc::tool
