//===- ShippedSchedulesTest.cpp - the loops that kernels spend time in ----===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Compiles what the schedule tables give for every CPU target to assembly and
// reads it: each innermost loop that multiplies keeps its vectors in registers,
// and each target multiplies with the instructions that it is there for. What
// this machine cannot run is judged all the same.
//
//===----------------------------------------------------------------------===//

#include "AssemblyLoops.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Target/TargetInfo.h"

#include <gtest/gtest.h>

#include <map>

using namespace flashc;
using namespace flashc::test;

namespace {

struct Shipped {
  std::string_view target;
  DType dtype;
  int64_t headDim;
  bool causal = false;
  bool decode = false;
};

void PrintTo(const Shipped &shipped, std::ostream *os) {
  *os << shipped.target << " " << nameOf(shipped.dtype) << " D=" << shipped.headDim
      << (shipped.causal ? " causal" : "") << (shipped.decode ? " decode" : "");
}

/// Every combination in full; causal masks and decoding at the common head dims.
std::vector<Shipped> allShipped() {
  const bool hasDecode = findAttentionField("queries");
  std::vector<Shipped> result;
  for (const TargetInfo &target : allTargets()) {
    if (target.kind != TargetKind::CPU)
      continue;
    for (DType dtype : {DType::F32, DType::BF16, DType::F16})
      for (int64_t headDim : {32, 64, 128, 256}) {
        const bool common = headDim == 64 || headDim == 128;
        if (dtype == DType::F16 && !common)
          continue;
        result.push_back({target.name, dtype, headDim});
        if (!common || dtype == DType::F16)
          continue;
        result.push_back({target.name, dtype, headDim, true});
        if (hasDecode)
          result.push_back({target.name, dtype, headDim, false, true});
      }
  }
  return result;
}

std::string nameOfShipped(const testing::TestParamInfo<Shipped> &info) {
  std::string name = std::string(info.param.target) + "_" + nameOf(info.param.dtype) + "_" +
                     std::to_string(info.param.headDim);
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name + (info.param.causal ? "_causal" : "") + (info.param.decode ? "_decode" : "");
}

/// Assembly of one kernel, compiled once for all tests of it.
const std::string &assemblyOf(const Shipped &shipped) {
  static std::map<std::string, std::string> assemblies;
  std::string &assembly = assemblies[testing::PrintToString(shipped)];
  if (!assembly.empty())
    return assembly;
  AttentionDesc desc;
  desc.dtype = shipped.dtype;
  desc.headDim = shipped.headDim;
  desc.target = shipped.target;
  if (shipped.causal)
    desc.causal = Causal::BottomRight;
  if (shipped.decode)
    desc.set("queries", "1");
  CompileOptions options;
  options.emit = Stage::Asm;
  return assembly = compileAttention(desc, options);
}

class ShippedSchedules : public testing::TestWithParam<Shipped> {
protected:
  void SetUp() override {
    assembly = assemblyOf(GetParam());
    loops = findInnermostLoops(assembly);
  }

  /// The innermost loops that have an instruction for which `predicate` holds.
  template <typename Predicate> size_t countLoopsWith(Predicate predicate) const {
    size_t count = 0;
    for (const AssemblyLoop &loop : loops)
      count += std::any_of(loop.instructions.begin(), loop.instructions.end(), predicate);
    return count;
  }

  std::string assembly;
  std::vector<AssemblyLoop> loops;
};

TEST_P(ShippedSchedules, MultiplyInRegisters) {
  ASSERT_FALSE(loops.empty()) << "no loop was found; did LLVM's comments change?";
  size_t multiplying = 0;
  for (const AssemblyLoop &loop : loops) {
    if (!std::any_of(loop.instructions.begin(), loop.instructions.end(), isMultiplyAdd))
      continue;
    ++multiplying;
    std::string listing;
    for (const AssemblyInstruction &instruction : loop.instructions)
      if (touchesStackWithVector(instruction))
        listing += "\n  " + std::to_string(instruction.line) + ": " + instruction.text;
    EXPECT_EQ(listing, "") << "spills in the loop at " << loop.header << " of "
                           << loop.instructions.size() << " instructions";
  }
  // Scores and outputs are a product each.
  EXPECT_GE(multiplying, 2u);
}

TEST_P(ShippedSchedules, MultiplyWithTheTargetsInstructions) {
  const Shipped &shipped = GetParam();
  const TargetInfo &target = *lookupTarget(shipped.target);
  auto has = [](std::string_view mnemonic, std::string_view operand) {
    return [=](const AssemblyInstruction &instruction) {
      return instruction.text.starts_with(mnemonic) &&
             instruction.text.find(operand) != std::string::npos;
    };
  };
  const bool wide = target.vectorBits == 512, bf16 = shipped.dtype == DType::BF16;
  // Which units f16 uses, and which decoding uses (memory bounds it), is the schedule's choice.
  if (bf16 && target.hasAMX && !shipped.decode)
    EXPECT_GE(countLoopsWith(has("tdpbf16ps", "%tmm")), 2u);
  else if (bf16 && target.hasBF16Dot && !shipped.decode)
    EXPECT_GE(countLoopsWith(has("vdpbf16ps", "%zmm")), 2u);
  else if (!target.hasBF16Dot || shipped.dtype == DType::F32)
    EXPECT_GE(countLoopsWith(has("vfmadd", wide ? "%zmm" : "%ymm")), 2u);

  // Nothing that a machine of this target need not have.
  auto contains = [&](std::string_view text) { return assembly.find(text) != std::string::npos; };
  EXPECT_FALSE(!wide && (contains("%zmm") || contains("%k1")));
  EXPECT_FALSE(!target.hasBF16Dot && (contains("vdpbf16ps") || contains("vcvtne")));
  EXPECT_FALSE(!target.hasAMX && contains("%tmm"));
}

INSTANTIATE_TEST_SUITE_P(Table, ShippedSchedules, testing::ValuesIn(allShipped()), nameOfShipped);

// What the judges above say of assembly that is known to be bad.

TEST(AssemblyLoops, FindsSpillsOfInnermostLoopsOnly) {
  const char *text = "f:\n"
                     "# %bb.0:\n"
                     "\tvmovups\t%zmm0, 64(%rsp)        # 64-byte Spill\n"
                     ".LBB0_1:                           # =>This Loop Header: Depth=1\n"
                     "\t\t\t\t\t# Child Loop BB0_2 Depth 2\n"
                     "\tvmovups\t64(%rsp), %zmm0        # 64-byte Reload\n"
                     ".LBB0_2:                           #   Parent Loop BB0_1 Depth=1\n"
                     "\t\t\t\t\t# =>  This Inner Loop Header: Depth=2\n"
                     "\tvfmadd231ps\t%zmm1, %zmm2, %zmm3\n"
                     "\tjne\t.LBB0_4\n"
                     "# %bb.3:                           #   in Loop: Header=BB0_2 Depth=2\n"
                     "\tvmovups\t128(%rsp), %zmm4       # 64-byte Reload\n"
                     "\tmovq\t8(%rsp), %rax             # 8-byte Reload\n"
                     "\tvaddps\t(%rbp,%rax), %zmm1, %zmm1\n"
                     "\tjne\t.LBB0_2\n"
                     ".LBB0_4:                           #   in Loop: Header=BB0_1 Depth=1\n"
                     "\tvmovups\t192(%rsp), %zmm4       # 64-byte Reload\n"
                     "\tjne\t.LBB0_1\n"
                     "# %bb.5:\n"
                     "\tretq\n";
  const std::vector<AssemblyLoop> loops = findInnermostLoops(text);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].header, "BB0_2");
  ASSERT_EQ(loops[0].instructions.size(), 6u);
  std::vector<size_t> lines;
  for (const AssemblyInstruction &instruction : loops[0].instructions)
    if (touchesStackWithVector(instruction))
      lines.push_back(instruction.line);
  EXPECT_EQ(lines, std::vector<size_t>{12});
}

TEST(AssemblyLoops, KnowsFramePointersAndFoldedReloads) {
  auto touches = [](const char *text) { return touchesStackWithVector({text, 1}); };
  EXPECT_TRUE(touches("vfmadd231ps 64(%rsp), %ymm1, %ymm2"));
  EXPECT_TRUE(touches("vfmadd231ps -64(%rbp), %ymm1, %ymm2 # 32-byte Folded Reload"));
  EXPECT_TRUE(touches("tileloadd 1024(%rsp,%rax), %tmm3"));
  EXPECT_FALSE(touches("vfmadd231ps -64(%rbp), %ymm1, %ymm2"));
  EXPECT_FALSE(touches("addq 8(%rsp), %rax"));
  EXPECT_TRUE(isMultiplyAdd({"vfnmadd213ps %ymm0, %ymm1, %ymm2", 1}));
  EXPECT_FALSE(isMultiplyAdd({"vaddps %ymm0, %ymm1, %ymm2", 1}));
}

} // namespace
