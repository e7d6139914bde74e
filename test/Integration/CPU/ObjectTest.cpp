//===- ObjectTest.cpp - the kernel object stands alone --------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The object that the compiler writes refers to nothing outside of itself, is what the runtime runs, and is
// the same every time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Compile.h"
#include "runtime/API/KernelCache.h"
#include "test/Integration/CPU/Variants.h"

#include <elf.h>

#include <cstring>
#include <set>

using namespace flashc;
using namespace flashc::test;

namespace {

using Object = VariantTest;
INSTANTIATE_TEST_SUITE_P(Variants, Object,
                         testing::ValuesIn(variants({"Online", "Standard", "AMX", "Split"})),
                         nameOfVariant);

template <typename T> T read(std::span<const std::byte> bytes, size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// Names of the global symbols, defined or not.
void listSymbols(std::span<const std::byte> object, std::set<std::string> &defined,
                 std::set<std::string> &undefined) {
  auto header = read<Elf64_Ehdr>(object, 0);
  auto section = [&](size_t index) {
    return read<Elf64_Shdr>(object, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (size_t index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr table = section(index);
    if (table.sh_type != SHT_SYMTAB)
      continue;
    Elf64_Shdr names = section(table.sh_link);
    for (size_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
      auto symbol = read<Elf64_Sym>(object, table.sh_offset + at);
      std::string name =
          reinterpret_cast<const char *>(object.data()) + names.sh_offset + symbol.st_name;
      if (symbol.st_shndx == SHN_UNDEF)
        undefined.insert(name);
      else if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL)
        defined.insert(name);
    }
  }
}

/// A case with every function of expressions and every feature that needs one.
AttentionCase makeRich(AttentionCase c) {
  c.desc.softcap = 10.0;
  c.desc.alibi = c.desc.sinks = true;
  c.desc.score =
      "tanh(s) + exp(min(s, 1)) + log(abs(s) + 1) + sqrt(abs(s)) + floor(float(i / (j + 1)))";
  c.desc.mask = "(i % (j + 1)) != 3";
  c.desc.packed = DType::I32;
  c.lengthsQ = {20, 3};
  c.lengthsK = {70, 9};
  c.desc.wantLse = c.desc.wantRowMax = true;
  c.desc.target = resolveTarget(c.desc.target, c.desc.dtype);
  return c;
}

TEST_P(Object, CallsNothingOutside) {
  for (DType type : types()) {
    std::vector<std::byte> object = compileToObject(makeRich(make(type, 24, 1, 0, 0)).desc);
    std::set<std::string> defined, undefined;
    listSymbols(object, defined, undefined);
    EXPECT_EQ(undefined, std::set<std::string>());
    EXPECT_EQ(defined, (std::set<std::string>{"flashc_kernel_grid", "flashc_kernel_info",
                                              "flashc_kernel_run", "flashc_kernel_workspace"}));
  }
}

TEST_P(Object, IsWhatRuns) {
  AttentionCase c = makeRich(make(type(), 24, 1, 0, 0));
  std::vector<std::byte> object = compileToObject(c.desc);
  EXPECT_TRUE(runCase(c).passed);
  std::shared_ptr<const Kernel> kernel = compileKernel(c.desc);
  EXPECT_TRUE(std::ranges::equal(kernel->object(), object));
  // A kernel made of the bytes alone, by way of a copy that is gone when it runs.
  auto loaded = [&] {
    std::vector<std::byte> copy = object;
    return Kernel(copy);
  }();
  EXPECT_TRUE(std::ranges::equal(loaded.object(), object));
  EXPECT_EQ(loaded.json(), kernel->json());
}

/// Resuming from any stage gives the same bytes.
TEST_P(Object, IsTheSameFromEveryStage) {
  AttentionCase c = makeRich(make(type(), 24, 1, 0, 0));
  std::string object = compileAttention(c.desc, {Stage::Obj, {}});
  for (int stage = 0; stage <= static_cast<int>(Stage::LLVM); ++stage) {
    if (!isOnPath(static_cast<Stage>(stage), /*isGPU=*/false))
      continue;
    if (!takes(stage))
      continue;
    std::string text = compileAttention(c.desc, {static_cast<Stage>(stage), {}});
    std::string resumed =
        compileText(text, "resumed", static_cast<Stage>(stage), "", {Stage::Obj, {}});
    EXPECT_TRUE(resumed == object) << "from " << nameOf(static_cast<Stage>(stage));
  }
}

} // namespace
