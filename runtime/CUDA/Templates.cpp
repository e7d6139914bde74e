//===- Templates.cpp - flashc's CUDA C++, ready to be compiled -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Templates.h"
#include "runtime/CUDA/EmbeddedTexts.h"
#include "runtime/Support/Error.h"

#include <algorithm>

namespace flashc {
namespace {

const std::vector<std::vector<std::string>> perElement = {{"f16"}, {"bf16"}, {"f32"}};

std::vector<CudaTemplate> makeTemplates() {
  return {
      {"StandardAttention",
       "unfused attention with all scores in memory: baseline, and oracle in double",
       {{"ELEMENT", "type of q, k and v"},
        {"RESULT", "type of o"},
        {"COMPUTE", "type of scores, probabilities, LSE and sums"}},
       {{"standard_scores", templates::standardThreads},
        {"standard_softmax", templates::standardThreads},
        {"standard_output", templates::standardThreads}},
       {{"f16", "f16", "float"},
        {"bf16", "bf16", "float"},
        {"f32", "f32", "float"},
        {"f16", "f64", "double"},
        {"bf16", "f64", "double"},
        {"f32", "f64", "double"}}},
      {"SplitCombine",
       "states of the parts of a row's keys merged into o and LSE",
       {{"ELEMENT", "type of o"}},
       {{"split_combine", templates::combineThreads}},
       perElement},
      {"BlockLists",
       "lists of full and partial tiles from the classes of all tiles",
       {},
       {{"block_lists", templates::blockListsThreads}},
       {{}}},
      {"Fill",
       "random tensors (Philox4x32-10) and poison",
       {{"ELEMENT", "type of the tensor"}},
       {{"fill_normal", templates::fillThreads},
        {"fill_uniform", templates::fillThreads},
        {"fill_bytes", templates::fillThreads}},
       perElement},
      {"Compare",
       "errors against an oracle, reduced on the device",
       {{"ELEMENT", "type of what is judged"}, {"ORACLE", "type of the oracle"}},
       {{"compare", templates::compareThreads}, {"compare_finish", templates::compareThreads}},
       {{"f16", "f32"},
        {"bf16", "f32"},
        {"f32", "f32"},
        {"f16", "f64"},
        {"bf16", "f64"},
        {"f32", "f64"}}},
      {"KVAppend",
       "new keys and values into a cache, paged or not, with rotary positions",
       {{"ELEMENT", "type of keys, values and queries"}},
       {{"kv_append", templates::appendThreads}, {"rotate", templates::appendThreads}},
       perElement},
  };
}

} // namespace

std::span<const CudaTemplate> allTemplates() {
  static const std::vector<CudaTemplate> &templates = *new std::vector(makeTemplates());
  return templates;
}

std::string TemplateInstance::suffix() const {
  std::string text;
  for (const std::string &value : values)
    text += (text.empty() ? "" : "_") + value;
  return text.empty() ? "all" : text;
}

std::string TemplateInstance::symbol(std::string_view name) const {
  for (const TemplateKernel &kernel : of->kernels)
    if (kernel.name == name)
      return concat("flashc_", name, '_', suffix());
  fail("template ", of->name, ": expected one of its kernels, got '", name, "'");
}

CudaSource TemplateInstance::source() const {
  CudaSource source;
  const std::string file = concat("templates/", of->name, ".cu");
  source.name = concat("templates/", of->name, '_', suffix(), ".cu");
  for (size_t n = 0; n < numEmbeddedTexts; ++n) {
    const std::string name = embeddedTexts[n].name;
    if (name == file)
      source.text = embeddedTexts[n].text;
    else if (name.ends_with(".h"))
      source.headers.emplace_back(name, embeddedTexts[n].text);
  }
  source.options = {"-DSUFFIX=" + suffix()};
  for (size_t n = 0; n < values.size(); ++n)
    source.options.push_back(concat("-D", of->parameters[n].name, '=', values[n]));
  return source;
}

TemplateInstance instantiateTemplate(std::string_view name, std::vector<std::string> values) {
  std::string names;
  for (const CudaTemplate &each : allTemplates()) {
    if (each.name == name) {
      if (std::find(each.instances.begin(), each.instances.end(), values) == each.instances.end())
        fail("template ", name, ": expected values of one of its instances, got '",
             TemplateInstance{&each, values}.suffix(), "'");
      return {&each, std::move(values)};
    }
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  fail("expected one of the templates ", names, ", got '", name, "'");
}

std::vector<TemplateInstance> allTemplateInstances() {
  std::vector<TemplateInstance> instances;
  for (const CudaTemplate &each : allTemplates())
    for (const std::vector<std::string> &values : each.instances)
      instances.push_back({&each, values});
  return instances;
}

} // namespace flashc
