//===- ShippedGPUSchedulesTest.cpp - kernels for GPUs, assembled ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Compiles what the schedule table gives for every GPU target to PTX and has
// ptxas assemble it: no error and no warning about performance, nothing in local
// memory, and hardly a spill in the loops that kernels spend their time in. What no
// GPU is here to run is judged all the same.
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Target/TargetInfo.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <regex>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {

/// Kernels that run on the SMs of different sizes and generations that the lowering tells apart.
constexpr std::string_view kWideTargets[] = {"sm_75", "sm_80", "sm_90a", "sm_120"};

/// A loop with so many instructions is no hot one: it computes whole tiles again, where that is rare.
constexpr int64_t kHotLoopInstructions = 1500;
/// Of a hot loop's instructions, one in so many may be a spill: at the head dims that most models have, an address
/// or two of all that a turn needs; at others some of what a turn is long about.
constexpr int64_t kPerSpillCommon = 100, kPerSpill = 20;
/// Bytes of spills that a kernel may have in all its code, most of it in the loop that computes rescued tiles.
constexpr int64_t kSpillBytes = 2000;

enum class Kind { Full, Causal, Window, Decode };

struct Shipped {
  std::string_view target;
  DType dtype;
  int64_t headDim, valueDim;
  Kind kind = Kind::Full;
  int64_t groupSize = 0;
};

std::string describe(const Shipped &shipped) {
  constexpr const char *kinds[] = {"full", "causal", "window", "decode"};
  return std::string(shipped.target) + " " + nameOf(shipped.dtype) +
         " D=" + std::to_string(shipped.headDim) + "/" + std::to_string(shipped.valueDim) + " " +
         kinds[static_cast<int>(shipped.kind)] +
         (shipped.groupSize ? " of groups of " + std::to_string(shipped.groupSize) : "");
}

/// The common head dims on every target, and every other kind of head dim where the lowering differs.
std::vector<Shipped> allShipped() {
  std::vector<Shipped> result;
  for (const TargetInfo &target : allTargets()) {
    if (target.kind != TargetKind::GPU)
      continue;
    auto add = [&](DType dtype, int64_t headDim, int64_t valueDim, Kind kind,
                   int64_t groupSize = 0) {
      result.push_back({target.name, dtype, headDim, valueDim, kind, groupSize});
    };
    for (int64_t d : {64, 128}) {
      add(DType::BF16, d, d, Kind::Full);
      add(DType::BF16, d, d, Kind::Causal);
    }
    add(DType::F16, 64, 64, Kind::Causal);
    add(DType::F16, 128, 128, Kind::Full);
    add(DType::F32, 64, 64, Kind::Full);
    add(DType::BF16, 128, 128, Kind::Window);
    add(DType::BF16, 128, 128, Kind::Decode);
    if (std::find(std::begin(kWideTargets), std::end(kWideTargets), target.name) ==
        std::end(kWideTargets))
      continue;
    for (DType dtype : {DType::BF16, DType::F16})
      for (auto [d, dv] :
           {std::pair(16, 16), {40, 40}, {80, 80}, {96, 96}, {192, 128}, {256, 256}, {576, 512}})
        add(dtype, d, dv, Kind::Causal);
    add(DType::F32, 128, 128, Kind::Causal);
    add(DType::F32, 256, 256, Kind::Full);
    add(DType::BF16, 64, 64, Kind::Decode);
    add(DType::F16, 576, 512, Kind::Decode);
    add(DType::BF16, 128, 128, Kind::Decode, 32);
    for (auto [d, dv] : {std::pair(64, 64), {128, 128}, {256, 256}, {576, 512}})
      add(DType::BF16, d, dv, Kind::Decode, 64);
    for (int64_t groupSize : {0, 16})
      for (int64_t d : {64, 128, 256})
        add(DType::F32, d, d, Kind::Decode, groupSize);
    add(DType::BF16, 256, 256, Kind::Decode);
    // In 64 KiB these have tiles of the fewest keys.
    add(DType::F32, 576, 576, Kind::Causal);
    add(DType::F32, 512, 512, Kind::Decode);
  }
  return result;
}

std::string compilePTX(const Shipped &shipped) {
  AttentionDesc desc;
  desc.dtype = shipped.dtype;
  desc.headDim = shipped.headDim;
  desc.valueDim = shipped.valueDim;
  desc.target = shipped.target;
  if (shipped.kind == Kind::Causal)
    desc.causal = Causal::BottomRight;
  if (shipped.kind == Kind::Window)
    desc.set("window", "256,0");
  if (shipped.kind == Kind::Decode)
    desc.set("queries", "1");
  desc.groupSize = shipped.groupSize;
  CompileOptions options;
  options.emit = Stage::PTX;
  return compileAttention(desc, options);
}

/// What is wrong with a kernel; "" for nothing.
std::string judge(const Shipped &shipped, const std::string &ptx, const Assembly &assembly) {
  if (!assembly.succeeded)
    return "ptxas failed:\n" + assembly.log;
  std::string wrong;
  // C75xx: instructions that ptxas serialised or could not pipeline.
  static const std::regex warning("C75[0-9][0-9]|warning");
  if (std::regex_search(assembly.log, warning))
    wrong += "ptxas warns:\n" + assembly.log;
  // Accesses and declarations of local memory; a thread's state belongs in registers.
  if (ptx.find(".local") != std::string::npos)
    wrong += "a variable in local memory\n";
  const bool isOptimistic = ptx.find("reference = optimistic") != std::string::npos;
  const bool isCommon = shipped.dtype == DType::BF16 && shipped.headDim == shipped.valueDim &&
                        (shipped.headDim == 64 || shipped.headDim == 128);
  for (const SassLoop &loop : assembly.loops) {
    const bool isHot = loop.matrixProducts && loop.exponentials &&
                       loop.instructions < kHotLoopInstructions &&
                       // The exact loop behind an optimistic one is the one that takes maxima.
                       !(isOptimistic && loop.maxima);
    if (isHot && loop.spills * (isCommon ? kPerSpillCommon : kPerSpill) > loop.instructions)
      wrong += std::to_string(loop.spills) + " spills in a loop of " +
               std::to_string(loop.instructions) + " instructions of " + loop.function + "\n";
  }
  if (assembly.spillBytes > kSpillBytes)
    wrong += std::to_string(assembly.spillBytes) + " bytes of spills\n";
  return wrong.empty() ? wrong : describe(shipped) + ": " + wrong;
}

} // namespace

TEST(ShippedGPUSchedules, AssembleWithoutSpillsInHotLoops) {
  const std::string ptxas = findToolkitProgram("ptxas");
  if (ptxas.empty()) {
    if (std::getenv("CI"))
      FAIL() << "expected ptxas on PATH or in /usr/local/cuda/bin, got none";
    GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
  }
  const std::string cuobjdump = findToolkitProgram("cuobjdump");
  const std::vector<Shipped> kernels = allShipped();
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  int64_t hotLoops = 0, mostSpillBytes = 0;
  auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      std::string wrong;
      int64_t loops = 0, spillBytes = 0;
      try {
        std::string ptx = compilePTX(kernels[i]);
        Assembly assembly = assemble(ptxas, cuobjdump, ptx, kernels[i].target);
        wrong = judge(kernels[i], ptx, assembly);
        spillBytes = assembly.spillBytes;
        for (const SassLoop &loop : assembly.loops)
          loops += loop.matrixProducts && loop.exponentials;
      } catch (const std::exception &error) {
        wrong = describe(kernels[i]) + ": " + error.what();
      }
      std::lock_guard lock(mutex);
      hotLoops += loops;
      mostSpillBytes = std::max(mostSpillBytes, spillBytes);
      if (!wrong.empty())
        ADD_FAILURE() << wrong;
    }
  };
  std::thread second(work);
  work();
  second.join();
  std::cout << kernels.size() << " kernels, at most " << mostSpillBytes << " bytes of spills";
  if (cuobjdump.empty())
    std::cout << "; no cuobjdump: spills are judged by their bytes";
  else
    std::cout << ", " << hotLoops << " loops with products and exponentials";
  std::cout << "\n";
  // Where the listing is read but nothing is found in it, its form has changed.
  EXPECT_TRUE(cuobjdump.empty() || hotLoops > 0);
}

// What the judges above say of listings that are known to be bad.

TEST(Assembler, CountsSpills) {
  EXPECT_EQ(
      countSpillBytes("ptxas info    : Function properties for f\n"
                      "    240 bytes stack frame, 264 bytes spill stores, 520 bytes spill loads\n"
                      "ptxas info    : Function properties for g\n"
                      "    0 bytes stack frame, 0 bytes spill stores, 8 bytes spill loads\n"),
      792);
}

TEST(Assembler, FindsLoopsAndWhatIsInThem) {
  const char *listing = "\t\tFunction : first\n"
                        "        /*0000*/                   STL [R1], R0 ;      /* 0x1 */\n"
                        "                                                       /* 0x2 */\n"
                        "        /*0010*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
                        "        /*0020*/                   MUFU.EX2 R4, R4 ;\n"
                        "        /*0030*/                   LDL R0, [R1] ;\n"
                        "        /*0040*/              @!P0 BRA P1, 0x10 ;\n"
                        "        /*0050*/                   BRA 0x50;\n"
                        "\t\tFunction : second\n"
                        "        /*0000*/                   FMNMX R0, R1, R2, !PT ;\n"
                        "        /*0010*/               @P0 BRA 0x0 ;\n"
                        "        /*0020*/               @P1 BRA 0x0 ;\n";
  std::vector<SassLoop> loops = findSassLoops(listing);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].function, "first");
  EXPECT_EQ(loops[0].instructions, 4);
  EXPECT_EQ(loops[0].matrixProducts, 1);
  EXPECT_EQ(loops[0].exponentials, 1);
  EXPECT_EQ(loops[0].maxima, 0);
  EXPECT_EQ(loops[0].spills, 1);
  EXPECT_EQ(loops[1].function, "second");
  EXPECT_EQ(loops[1].instructions, 3);
  EXPECT_EQ(loops[1].maxima, 1);
  EXPECT_EQ(loops[1].spills, 0);
}
