//===- Templates.h - flashc's CUDA C++, ready to be compiled -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The files of templates/ are part of the library. An instance is a file with
// values for its parameters; cubinFor compiles it, alone or beside the
// compiler's PTX. What its kernels take stands in templates/Arguments.h: one
// structure, by value, on a one-dimensional grid of the size given there.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_TEMPLATES_H
#define FLASHC_RUNTIME_CUDA_TEMPLATES_H

#include "runtime/CUDA/NVRTC.h"
#include "templates/Arguments.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

struct TemplateParameter {
  std::string_view name, meaning;
};

struct TemplateKernel {
  std::string_view name; ///< without prefix and suffix: "fill_normal"
  int threads;           ///< of a block
};

struct CudaTemplate {
  std::string_view name; ///< "Fill", of templates/Fill.cu
  std::string_view summary;
  std::vector<TemplateParameter> parameters;
  std::vector<TemplateKernel> kernels;
  /// The values that flashc uses, in the parameters' order. All of them compile for every GPU
  /// target.
  std::vector<std::vector<std::string>> instances;
};

/// All templates.
std::span<const CudaTemplate> allTemplates();

/// A template with values for its parameters.
struct TemplateInstance {
  const CudaTemplate *of = nullptr;
  std::vector<std::string> values;

  /// What NVRTC compiles.
  CudaSource source() const;

  /// The symbol of the kernel `name` ("fill_normal"): "flashc_fill_normal_f16". Throws Error where
  /// the template has no such kernel.
  std::string symbol(std::string_view name) const;

  /// The values, joined: "f16_f64_double".
  std::string suffix() const;
};

/// The instance of the template `name`. Throws Error where there is no such template, or flashc has
/// no such instance of it.
TemplateInstance instantiateTemplate(std::string_view name, std::vector<std::string> values);

/// All instances of all templates.
std::vector<TemplateInstance> allTemplateInstances();

} // namespace flashc

#endif // FLASHC_RUNTIME_CUDA_TEMPLATES_H
