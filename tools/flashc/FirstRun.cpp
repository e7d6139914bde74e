//===- FirstRun.cpp - what a kernel's first run takes ---------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/FirstRun.h"
#include "runtime/Support/Stopwatch.h"
#include "tools/flashc/BenchJson.h"
#include "tools/flashc/Compiled.h"
#include "tools/flashc/Execution.h"
#include "tools/flashc/Machine.h"
#include "tools/flashc/Report.h"

#include <iostream>

namespace flashc::tool {
namespace {

/// For JSON; null where there is none but the object.
const char *nameOf(cuda::CodeMaker maker) {
  switch (maker) {
  case cuda::CodeMaker::Ptxas:
    return "ptxas";
  case cuda::CodeMaker::Cache:
    return "cached";
  case cuda::CodeMaker::Driver:
    return "driver";
  case cuda::CodeMaker::Ahead:
    break;
  }
  return nullptr;
}

std::string describe(cuda::CodeMaker maker) {
  return maker == cuda::CodeMaker::Ptxas ? "machine code, by ptxas"
         : maker == cuda::CodeMaker::Cache
             ? "machine code, from the cache"
             : "nothing: the driver makes machine code while it loads";
}

} // namespace

FirstRun measureFirstRun(const Inputs &inputs, int device, int threads) {
  const Progress progress("measuring the first run");
  FirstRun first;
  const bool onGPU = lookupTarget(inputs.desc.target)->kind == TargetKind::GPU;
  if (onGPU) {
    const Stopwatch watch;
    const cuda::ContextScope context(cuda::Driver::get("target " + inputs.desc.target), device);
    first.context = watch.seconds();
  }
  const MadeObject object = makeObject(inputs.desc);
  first.isFromCache = object.isFromCache;
  first.compile = object.seconds;

  const Stopwatch loading;
  const Kernel kernel(object.bytes);
  if (onGPU) {
    const cuda::LoadFacts facts = kernel.prepare({kDLCUDA, device});
    first.machineCode = facts.maker;
    first.assemble = facts.assembleSeconds;
  }
  first.load = loading.seconds() - first.assemble;
  first.kernel = kernel.info();
  first.run = Execution(kernel, inputs, device).runByHostClock(threads);
  return first;
}

void printFirstRun(const FirstRun &first, const Inputs &inputs, int device, int threads) {
  std::cout << describeProblem(inputs) << "\n"
            << describeMachine(first.kernel, device, threads) << ", " << first.kernel.target << ", "
            << first.kernel.strategy << ", " << extractSchedule(first.kernel.schedule) << "\n\n";
  Table table;
  table.add({"phase", "time", "what"});
  if (first.kernel.isForGPU())
    table.add({"context", describeSeconds(first.context),
               "of the GPU, which a program with work there has already: not counted"});
  table.add({"compile", describeSeconds(first.compile),
             first.isFromCache ? "the kernel, from the cache" : "the kernel"});
  if (first.kernel.isForGPU())
    table.add({"assemble", describeSeconds(first.assemble), describe(first.machineCode)});
  table.add({"load", describeSeconds(first.load), "the code"});
  table.add({"run", describeSeconds(first.run), "from the call until the results are there"});
  table.add({"total", describeSeconds(first.total())});
  table.print(std::cout);
}

void printFirstRunJson(const FirstRun &first, const Inputs &inputs, int device, int threads) {
  nlohmann::ordered_json line;
  addKernel(line, first.kernel, device, threads);
  line["kernel"] = first.isFromCache ? "cached" : "compiled";
  if (first.kernel.isForGPU()) {
    const char *maker = nameOf(first.machineCode);
    line["machine_code"] = maker ? nlohmann::json(maker) : nlohmann::json(nullptr);
    line["context_s"] = first.context;
  }
  line["compile_s"] = first.compile;
  if (first.kernel.isForGPU())
    line["assemble_s"] = first.assemble;
  line["load_s"] = first.load;
  line["run_s"] = first.run;
  line["total_s"] = first.total();
  addProblem(line, inputs);
  printJsonLine(line, std::cout);
}

} // namespace flashc::tool
