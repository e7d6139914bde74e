//===- HostedGPUTest.cpp - GPU kernels, computed by the host --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The table's schedules of every kind of lowering, judged by the float64 reference where no GPU is: products on FMA
// units and on tensor cores, copies through registers and by cp.async, tiles of all sizes of heads.
//
//===----------------------------------------------------------------------===//
#include "test/Support/HostedGPU/HostedGPU.h"
#include "compiler/Driver/Compile.h"
#include "runtime/CPU/ObjectLoader.h"
#include "test/Support/HostedGPU/HostedBlock.h"
#include "test/Support/HostedGPU/HostedModule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace flashc;
using namespace flashc::test;

namespace {

AttentionCase make(const char *target, DType type, int64_t d, int64_t dv, int64_t sq, int64_t sk) {
  AttentionCase c = makeCase(type, d, dv, 1, sq, sk, 2, 1);
  c.desc.target = target;
  c.execute = executeOnHostedGPU;
  return c;
}

void expectPass(const AttentionCase &c) {
  const CaseOutcome outcome = runCase(c);
  EXPECT_TRUE(outcome.passed) << c.describe() << "\n  " << outcome.message;
}

void addPages(AttentionCase &c, int64_t rows, std::vector<int64_t> used) {
  c.desc.sequsedK = c.desc.pageTable = DType::I32;
  c.batch = static_cast<int64_t>(used.size());
  c.pageRows = rows;
  c.used = std::move(used);
}

TEST(HostedGPU, EveryKindOfProductAndCopy) {
  for (const char *target : {"sm_75", "sm_80"})
    for (DType type : {DType::F32, DType::BF16, DType::F16}) {
      AttentionCase c = make(target, type, 64, 64, 45, 70);
      c.desc.causal = Causal::BottomRight;
      expectPass(c);
      c.desc.causal = Causal::None;
      c.desc.mask = "(i + j) % 3 != 0";
      expectPass(c);
    }
}

// What takes the most shared memory of all: tiles of the fewest keys.
TEST(HostedGPU, TheLargestHeadsInTheLeastMemory) {
  for (auto [d, dv] : {std::pair(481, 481), {448, 576}, {576, 1}}) {
    AttentionCase c = make("sm_75", DType::F32, d, dv, 17, 35);
    c.desc.causal = Causal::BottomRight;
    expectPass(c);
  }
  AttentionCase c = make("sm_75", DType::F32, 576, 576, 17, 35);
  c.desc.mask = "(i + j) % 3 != 0";
  c.desc.alibi = true;
  expectPass(c);
  AttentionCase decode = make("sm_75", DType::F32, 576, 576, 1, 530);
  decode.desc.queries = 1;
  expectPass(decode);
  addPages(decode, 3, {530, 0, 17});
  expectPass(decode);
  AttentionCase paged = make("sm_75", DType::F32, 576, 576, 5, 30);
  addPages(paged, 7, {30, 0, 13});
  expectPass(paged);
  AttentionCase packed = make("sm_75", DType::F32, 576, 576, 0, 0);
  packed.desc.packed = DType::I32;
  packed.lengthsQ = {3, 0, 20};
  packed.lengthsK = {9, 5, 0};
  expectPass(packed);
}

// Results of up to 8 columns have half of the products of 16.
TEST(HostedGPU, TheSmallestHeads) {
  for (const char *target : {"sm_75", "sm_80"})
    for (DType type : {DType::F32, DType::BF16, DType::F16})
      for (auto [d, dv] : {std::pair(1, 1), {64, 7}}) {
        AttentionCase c = make(target, type, d, dv, 33, 50);
        c.desc.window = Window{20, 3};
        expectPass(c);
      }
}

// Terms that a mask drops add nothing, whatever their values are.
TEST(HostedGPU, DroppedValuesMayBeAnything) {
  for (auto [type, dv] : {std::pair(DType::F32, 64), {DType::BF16, 64}, {DType::F16, 8}}) {
    AttentionCase c = make("sm_80", type, 64, dv, 20, 40);
    c.desc.mask = "j % 7 != 3";
    c.edit = [dv = dv](CaseInputs &inputs) {
      for (size_t n = 0; n < inputs.v.size(); ++n)
        if (n / static_cast<size_t>(dv) % 7 == 3)
          inputs.v[n] = n % 2 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
    };
    expectPass(c);
  }
}

TEST(HostedGPU, DecodingInParts) {
  for (DType type : {DType::BF16, DType::F16}) {
    AttentionCase c = make("sm_90", type, 128, 128, 1, 700);
    c.hq = 8, c.hkv = 2;
    c.desc.queries = 1;
    expectPass(c);
    addPages(c, 16, {700, 300});
    expectPass(c);
  }
}

// Groups that are larger than a tile of 16 heads, as large as their tile, and of another size than was said.
TEST(HostedGPU, TilesOfLargeGroups) {
  for (auto [target, type, groupSize, heads] : {std::tuple("sm_80", DType::BF16, 20, 20),
                                                {"sm_80", DType::F16, 70, 70},
                                                {"sm_75", DType::F16, 64, 64},
                                                {"sm_90", DType::BF16, 64, 3},
                                                {"sm_80", DType::F32, 40, 40}}) {
    AttentionCase c = make(target, type, 40, 24, 1, 300);
    c.hq = heads, c.hkv = 1;
    c.desc.queries = 1;
    c.desc.groupSize = groupSize;
    c.desc.sinks = true;
    c.desc.wantLse = true;
    expectPass(c);
  }
  AttentionCase latent = make("sm_90", DType::BF16, 576, 512, 1, 200);
  latent.hq = 70, latent.hkv = 1;
  latent.desc.queries = 1;
  latent.desc.groupSize = 128;
  expectPass(latent);
}

// Schedules that the table does not choose: copies of values at every time in every number of stages, over loops of
// whole and of masked tiles.
TEST(HostedGPU, EveryPipelineOfCopies) {
  for (const char *target : {"sm_75", "sm_80"})
    for (const char *values : {"ahead", "late", "instead"})
      for (int stages = 1; stages <= (std::string_view(values) == "instead" ? 1 : 4); ++stages)
        for (bool decodes : {false, true}) {
          AttentionCase c = make(target, DType::F16, 32, 32, decodes ? 1 : 40, 150);
          c.desc.schedule = concat("tile=[32,16],micro=[16,16],across=2,values=", values,
                                   ",stages=", stages, decodes ? ",rows=heads,split=80" : "");
          c.desc.queries = decodes ? 1 : 0;
          c.desc.causal = decodes ? Causal::None : Causal::BottomRight;
          for (bool atOnce : {false, true}) {
            setCopiesArriveAtOnce(atOnce);
            expectPass(c);
          }
          setCopiesArriveAtOnce(false);
        }
}

// Warps with keys of their own: in tiles of heads and of queries, with every kind of product, and what positions, kept
// terms and results make of them.
TEST(HostedGPU, BandsOfKeys) {
  struct Shape {
    const char *target;
    DType type;
    const char *schedule;
    int64_t d, dv;
  };
  for (const Shape &shape :
       {Shape{"sm_80", DType::BF16, "tile=[16,64],micro=[16,16],bands=4,stages=2", 64, 24},
        {"sm_80", DType::F16, "tile=[32,64],micro=[16,32],bands=2,across=2,stages=3", 40, 40},
        {"sm_80", DType::BF16, "tile=[16,32],micro=[16,16],bands=2,stages=2,values=late", 64, 64},
        {"sm_75", DType::F16, "tile=[16,32],micro=[16,16],bands=2,stages=2", 32, 7},
        {"sm_75", DType::BF16, "tile=[8,32],micro=[8,8],bands=4,stages=1,values=late", 32, 48},
        {"sm_80", DType::F32, "tile=[8,64],micro=[8,16],bands=4,stages=2", 40, 40},
        {"sm_80", DType::F32, "tile=[24,16],micro=[8,8],bands=2,across=2,stages=1", 24, 72},
        {"sm_90", DType::F32, "tile=[16,32],micro=[16,8],bands=4,stages=1,values=instead", 8, 64}})
    for (bool decodes : {false, true}) {
      AttentionCase c = make(shape.target, shape.type, shape.d, shape.dv, decodes ? 2 : 37, 330);
      c.hq = 6, c.hkv = 2;
      c.desc.schedule = concat(shape.schedule, ",reference=exact",
                               decodes ? ",rows=heads,split=128" : ",split=0");
      c.desc.queries = decodes ? 1 : 0;
      c.desc.causal = Causal::BottomRight;
      c.desc.sinks = c.desc.wantLse = c.desc.wantRowMax = true;
      expectPass(c);
      c.desc.sinks = c.desc.wantRowMax = false;
      c.desc.causal = Causal::None;
      c.desc.mask = "j % 7 != 3 && j + i > 40";
      c.desc.score = "s + 0.25 * (j - h)";
      c.edit = [dv = shape.dv](CaseInputs &inputs) {
        for (size_t n = 0; n < inputs.v.size(); ++n)
          if (n / static_cast<size_t>(2 * dv) % 7 == 3)
            inputs.v[n] = n % 2 ? NAN : INFINITY;
      };
      expectPass(c);
      // No key of some bands, or of all.
      for (int64_t sk : {0, 17}) {
        AttentionCase few = make(shape.target, shape.type, shape.d, shape.dv, decodes ? 1 : 9, sk);
        few.desc.schedule = c.desc.schedule;
        few.desc.queries = c.desc.queries;
        few.desc.wantLse = true;
        expectPass(few);
      }
      AttentionCase many =
          make(shape.target, shape.type, shape.d, shape.dv, decodes ? 1 : 0, decodes ? 300 : 0);
      many.desc.schedule = c.desc.schedule;
      many.desc.queries = c.desc.queries;
      if (decodes) {
        addPages(many, 16, {300, 0, 45});
      } else {
        many.desc.packed = DType::I32;
        many.lengthsQ = {3, 0, 20};
        many.lengthsK = {190, 5, 0};
      }
      expectPass(many);
    }
}

// What is merged besides: sinks, LSE and the row max, for heads of several tiles and of one.
TEST(HostedGPU, MergingOfAllResults) {
  for (auto [hq, hkv, keys] : {std::tuple(20, 1, 1100), {3, 3, 600}, {4, 2, 1}}) {
    AttentionCase c = make("sm_80", DType::BF16, 40, 24, 1, keys);
    c.hq = hq, c.hkv = hkv;
    c.desc.queries = 1;
    c.desc.sinks = true;
    c.desc.wantLse = c.desc.wantRowMax = true;
    expectPass(c);
  }
}

// Scores so large that no exponents relative to a few of them will do: every tile is computed again, where one kernel has
// a point per block and where it has many, with what each result needs.
TEST(HostedGPU, TilesThatWentWrongAreComputedAgain) {
  const auto enlarge = [](CaseInputs &inputs) {
    for (double &value : inputs.q)
      value *= 2048;
  };
  for (const char *target : {"sm_80", "sm_90"})
    for (Causal causal : {Causal::None, Causal::BottomRight}) {
      AttentionCase c = make(target, DType::BF16, 64, 64, 45, 150);
      c.desc.causal = causal;
      c.desc.wantLse = causal == Causal::None;
      c.desc.sinks = true;
      c.edit = enlarge;
      expectPass(c);
      // The function has none of the facts that such a kernel has.
      c.desc.schedule = "split=64,rows=queries";
      expectPass(c);
    }
  // Parts of keys have states in the workspace.
  for (const char *schedule : {"", "split=64,rows=queries"}) {
    AttentionCase packed = make("sm_80", DType::BF16, 64, 64, 0, 0);
    packed.desc.packed = DType::I32;
    packed.desc.causal = Causal::BottomRight;
    packed.desc.schedule = schedule;
    packed.lengthsQ = {3, 0, 140};
    packed.lengthsK = {90, 5, 160};
    packed.edit = enlarge;
    expectPass(packed);
  }
}

/// k_phase0 of scheduled MLIR.
class HostedText {
public:
  explicit HostedText(const std::string &text) : object(compile(text)) {}

  /// As one block of a warp with these parameters.
  void run(std::vector<int64_t> parameters) const {
    auto *entry = loaded->function<void(int64_t *)>("hosted_k_phase0");
    runHosted(1, 32, 0, [&] { entry(parameters.data()); });
  }

private:
  static std::string compile(const std::string &text) {
    CompileOptions options;
    options.emit = Stage::LLVMIR;
    return compileHosted(compileText(text, "text.mlir", Stage::Scheduled, "", options));
  }

  std::string object;
  std::shared_ptr<const LoadedObject> loaded = LoadedObject::load(std::as_bytes(std::span(object)));
};

int64_t address(void *data) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(data)); }

// Sizes beyond 32 bits, which no grid here has.
TEST(HostedGPU, DividesLargeNumbers) {
  const std::string text = R"(
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>
#lines = #nvtile.lines<warps = 1>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @k_grid(%x: memref<?x?xi32>, %o: memref<?xi32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @k_phase0(%x: memref<?x?xi32>, %o: memref<?xi32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : i64
    %n = memref.dim %x, %c0 : memref<?x?xi32>
    %d = memref.dim %x, %c1 : memref<?x?xi32>
    %q = arith.divui %n, %d : index
    %r = arith.remui %n, %d : index
    %q64 = arith.index_cast %q : index to i64
    %r64 = arith.index_cast %r : index to i64
    %qhigh = arith.shrui %q64, %c32 : i64
    %rhigh = arith.shrui %r64, %c32 : i64
    %q0 = arith.trunci %q64 : i64 to i32
    %q1 = arith.trunci %qhigh : i64 to i32
    %r0 = arith.trunci %r64 : i64 to i32
    %r1 = arith.trunci %rhigh : i64 to i32
    %t0 = tensor.splat %q0 : tensor<16xi32, #lines>
    %t1 = tensor.splat %q1 : tensor<16xi32, #lines>
    %t2 = tensor.splat %r0 : tensor<16xi32, #lines>
    %t3 = tensor.splat %r1 : tensor<16xi32, #lines>
    tile.store %t0, %o[%c0] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    tile.store %t1, %o[%c1] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    tile.store %t2, %o[%c2] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    tile.store %t3, %o[%c3] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    return
  }
})";
  const HostedText kernel(text);
  constexpr int64_t large = int64_t(1) << 40, most = std::numeric_limits<int64_t>::max();
  for (auto [x, y] : {std::pair<int64_t, int64_t>(large + 17, 3),
                      {large + 17, large},
                      {7, large},
                      {most, 1},
                      {most, most},
                      {most, most - 1},
                      {most - 1, most},
                      {0, large},
                      {100, 7},
                      {(int64_t(1) << 32) - 1, 10},
                      {int64_t(1) << 32, 10}}) {
    int64_t out[2] = {-1, -1}; // quotient and remainder
    std::vector<int64_t> parameters = {address(out), x, y, 0, 0, address(out), 4, 1,
                                       address(out), 0, 1};
    kernel.run(std::move(parameters));
    EXPECT_EQ(out[0], x / y) << x << " / " << y;
    EXPECT_EQ(out[1], x % y) << x << " mod " << y;
  }
}

// What reciprocals are exact for (LaunchFacts.h), at its ends and on both sides of multiples.
TEST(HostedGPU, DividesByReciprocals) {
  const std::string text = R"(
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online, split = 16>
#lines = #nvtile.lines<warps = 1>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @k_grid(%x: memref<?xi32>, %d: memref<?xi8>, %o: memref<?xi32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }
  func.func @k_phase0(%x: memref<?xi32>, %d: memref<?xi8>, %o: memref<?xi32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, flash.schedule = #schedule, nvtile.threads = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x32 = memref.load %x[%c0] : memref<?xi32>
    %n = arith.index_castui %x32 : i32 to index
    %by = memref.dim %d, %c0 : memref<?xi8>
    %q = arith.divui %n, %by {flash.small} : index
    %r = arith.remui %n, %by {flash.small} : index
    %q32 = arith.index_cast %q : index to i32
    %r32 = arith.index_cast %r : index to i32
    %t0 = tensor.splat %q32 : tensor<16xi32, #lines>
    %t1 = tensor.splat %r32 : tensor<16xi32, #lines>
    tile.store %t0, %o[%c0] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    tile.store %t1, %o[%c1] dims [0] valid(%c1) : tensor<16xi32, #lines>, memref<?xi32>
    return
  }
})";
  const HostedText kernel(text);
  const auto expectQuotient = [&](uint32_t x, int64_t d) {
    uint32_t number = x;
    uint32_t out[2] = {~0u, ~0u};
    const int64_t reciprocal = (int64_t(1) << 62) / d + 1;
    std::vector<int64_t> parameters = {address(&number), 1, 1, 0, d, 1, address(out), 2, 1, 0, 0, 1,
                                       reciprocal};
    kernel.run(std::move(parameters));
    EXPECT_EQ(out[0], x / d) << x << " / " << d;
    EXPECT_EQ(out[1], x % d) << x << " mod " << d;
  };
  constexpr int64_t most = std::numeric_limits<int32_t>::max(), large = int64_t(1) << 30;
  std::mt19937_64 random(7);
  std::vector<int64_t> divisors = {1, 2, 3, 7, 641, 65535, 65536, 65537, large - 1, large};
  for (int n = 0; n < 10; ++n)
    divisors.push_back(1 + static_cast<int64_t>(random() % (uint64_t(1) << (1 + random() % 30))));
  for (const int64_t d : divisors) {
    const int64_t last = (int64_t(1) << 32) / d * d;
    for (const int64_t x : {int64_t(0), d - 1, d, most, last - 1, last, (int64_t(1) << 32) - 1})
      expectQuotient(static_cast<uint32_t>(std::min(x, (int64_t(1) << 32) - 1)), d);
  }
  for (const int64_t d : {large + 1, most - 1, most})
    for (const int64_t x : {int64_t(0), d - 1, most})
      expectQuotient(static_cast<uint32_t>(x), d);
}

// The standard strategy has row sums beside products, also where warps share rows.
TEST(HostedGPU, StandardWithWarpsAcross) {
  AttentionCase decode = make("sm_80", DType::BF16, 17, 17, 1, 50);
  decode.desc.queries = 1;
  decode.desc.strategy = Strategy::Standard;
  expectPass(decode);
  AttentionCase large = make("sm_80", DType::F32, 448, 448, 20, 35);
  large.desc.causal = Causal::BottomRight;
  large.desc.strategy = Strategy::Standard;
  expectPass(large);
}

// Its P has columns that nothing was written to, behind the keys in use, in the same 16 bytes as others.
TEST(HostedGPU, StandardWithKeysOutOfUse) {
  for (auto [target, type, used] : {std::tuple("sm_75", DType::F16, 97),
                                    {"sm_75", DType::F16, 98},
                                    {"sm_75", DType::F16, 0},
                                    {"sm_75", DType::F32, 99},
                                    {"sm_80", DType::F16, 103},
                                    {"sm_80", DType::F32, 97}}) {
    AttentionCase c = make(target, type, 32, 32, 3, 104);
    c.desc.strategy = Strategy::Standard;
    c.desc.sequsedK = DType::I64;
    c.used = {used};
    expectPass(c);
  }
}

// Schedules that the table finds to fit do: where values are much wider than keys, P and V take more than Q and K; and
// the paper's tiles of the smallest heads have more keys than a thread has scores.
TEST(HostedGPU, WhatTheTableFitsCompiles) {
  const auto expectCompiles = [](const char *target, DType type, int64_t d, int64_t dv,
                                 int64_t queries, Strategy strategy, const char *schedule) {
    AttentionDesc desc;
    desc.target = target;
    desc.dtype = type;
    desc.headDim = d;
    desc.valueDim = dv;
    desc.queries = queries;
    desc.strategy = strategy;
    desc.schedule = schedule;
    CompileOptions options;
    options.emit = Stage::LLVM;
    EXPECT_NO_THROW((void)compileAttention(desc, options)) << desc.toJson();
  };
  for (int64_t queries : {0, 1}) {
    for (auto [d, dv] : {std::pair(16, 256), {128, 512}, {1, 576}, {40, 257}, {576, 576}})
      for (DType type : {DType::F16, DType::BF16, DType::F32})
        expectCompiles("sm_75", type, d, dv, queries, Strategy::Standard, "");
    expectCompiles("sm_80", DType::F32, 16, 320, queries, Strategy::Standard, "");
    for (auto [d, dv] : {std::pair(64, 512), {1, 576}, {128, 512}})
      expectCompiles("sm_90", DType::F32, d, dv, queries, Strategy::Standard, "");
  }
  for (int64_t d : {1, 8, 16})
    for (Strategy strategy : {Strategy::Online, Strategy::Standard})
      expectCompiles("sm_90", DType::F16, d, d, 0, strategy, "paper");
}

// What the stand-in finds.

TEST(HostedGPU, ThreadsThatNeverMeetAreTold) {
  const HostedOp thread = findHostedOp("llvm.nvvm.read.ptx.sreg.tid.x"),
                 barrier = findHostedOp("llvm.nvvm.barrier.cta.sync.aligned.all");
  const auto body = [&] {
    uint32_t number = 0;
    thread(nullptr, &number);
    if (number != 5)
      barrier(nullptr, nullptr);
  };
  EXPECT_THAT([&] { runHosted(1, 64, 0, body); },
              testing::ThrowsMessage<std::exception>(testing::HasSubstr("threads that meet")));
}

TEST(HostedGPU, WritesBeyondSharedMemoryAreTold) {
  const auto body = [] { *reinterpret_cast<char *>(uintptr_t(hostedSharedMemory()) + 16) = 0; };
  EXPECT_NO_THROW(runHosted(1, 32, 17, body));
  EXPECT_THAT([&] { runHosted(1, 32, 16, body); },
              testing::ThrowsMessage<std::exception>(testing::HasSubstr("shared memory")));
}

} // namespace
