//===- TemplatesTest.cpp - flashc's CUDA C++ compiled and linked -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every instance of every template, for every GPU target, beside a kernel as
// the compiler writes it.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Templates.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/CUDA/CubinLoader.h"
#include "runtime/Cache/DiskCache.h"
#include "test/Unit/CUDA/ToolkitSupport.h"

#include <future>
#include <set>

using namespace flashc;
using namespace flashc::test;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

namespace {

TEST(TemplatesTest, NamesAreUniqueAndFilesAreThere) {
  std::set<std::string> symbols;
  for (const TemplateInstance &instance : allTemplateInstances()) {
    const CudaSource source = instance.source();
    EXPECT_THAT(source.text, HasSubstr("Part of flashc")) << source.name;
    EXPECT_EQ(source.headers.size(), 2u);
    ASSERT_EQ(instance.values.size(), instance.of->parameters.size());
    for (const TemplateParameter &parameter : instance.of->parameters)
      EXPECT_THAT(source.text, HasSubstr(std::string(parameter.name))) << source.name;
    for (const TemplateKernel &kernel : instance.of->kernels) {
      EXPECT_THAT(source.text, HasSubstr("FLASHC_KERNEL(" + std::string(kernel.name) + ","));
      EXPECT_TRUE(symbols.insert(instance.symbol(kernel.name)).second) << kernel.name;
    }
  }
  EXPECT_EQ(instantiateTemplate("Fill", {"f16"}).symbol("fill_normal"), "flashc_fill_normal_f16");
  EXPECT_THAT([] { instantiateTemplate("Full", {}); },
              ThrowsMessage<Error>(HasSubstr("expected one of the templates StandardAttention, ")));
  EXPECT_THAT([] { instantiateTemplate("Fill", {"f8"}); },
              ThrowsMessage<Error>(HasSubstr("got 'f8'")));
  EXPECT_THAT([] { instantiateTemplate("Fill", {"f16"}).symbol("empty"); },
              ThrowsMessage<Error>(HasSubstr("got 'empty'")));
}

/// Compiles all `instances` for `arch` and links them with a kernel of the compiler's; returns how many
/// kernels of theirs the cubin has.
size_t countLinked(const std::vector<TemplateInstance> &instances, const std::string &arch) {
  std::vector<std::string> texts = {kernelPTX(arch)}, symbols;
  for (const TemplateInstance &instance : instances) {
    texts.push_back(NVRTC::get().compileToPTX(instance.source(), arch));
    for (const TemplateKernel &kernel : instance.of->kernels) {
      symbols.push_back(instance.symbol(kernel.name));
      EXPECT_THAT(texts.back(), HasSubstr(".visible .entry " + symbols.back() + "("));
    }
  }
  std::vector<LinkInput> inputs;
  for (size_t n = 0; n < texts.size(); ++n)
    inputs.push_back({"input" + std::to_string(n), asBytes(texts[n])});
  const std::string cubin = asText(NVJitLink::get().link(inputs, arch));
  EXPECT_THAT(cubin, HasSubstr(".text.attention"));
  size_t found = 0;
  for (const std::string &symbol : symbols)
    found += cubin.find(".text." + symbol + '\0') != std::string::npos;
  return found;
}

TEST(TemplatesTest, EveryInstanceCompilesAndLinksForEveryTarget) {
  FLASHC_NEED_TOOLKIT();
  const std::vector<TemplateInstance> instances = allTemplateInstances();
  size_t kernels = 0;
  for (const TemplateInstance &instance : instances)
    kernels += instance.of->kernels.size();
  std::vector<std::pair<std::string, std::future<size_t>>> targets;
  for (const TargetInfo &target : allTargets())
    if (target.kind == TargetKind::GPU)
      targets.emplace_back(target.name, std::async(std::launch::async, [&instances, &target] {
                             return countLinked(instances, std::string(target.name));
                           }));
  size_t linked = 0;
  for (auto &[arch, found] : targets) {
    const size_t count = found.get();
    EXPECT_EQ(count, kernels) << arch;
    linked += count;
  }
  std::printf(
      "%zu instances of %zu templates, compiled for %zu targets: %zu; kernels linked beside "
      "the compiler's: %zu\n",
      instances.size(), allTemplates().size(), targets.size(), instances.size() * targets.size(),
      linked);
  EXPECT_GE(targets.size(), 7u);
}

TEST(TemplatesTest, CompilerPTXAndATemplateMakeOneCubin) {
  FLASHC_NEED_TOOLKIT();
  const CudaSource combine = instantiateTemplate("SplitCombine", {"bf16"}).source();
  const std::string cubin =
      asText(cubinFor(kernelPTX("sm_80"), "sm_80", 0, {&combine, 1}, DiskCache("", 0)));
  EXPECT_THAT(cubin, HasSubstr(".text.attention"));
  EXPECT_THAT(cubin, HasSubstr(".text.flashc_split_combine_bf16"));
}

} // namespace
