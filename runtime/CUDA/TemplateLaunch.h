//===- TemplateLaunch.h - flashc's CUDA C++ run on a device -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//   const DeviceTemplate fill(driver, ordinal, instantiateTemplate("Fill", {"bf16"}));
//   fill.launch("fill_normal", templates::fillGrid(arguments), arguments, stream);
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_CUDA_TEMPLATELAUNCH_H
#define FLASHC_RUNTIME_CUDA_TEMPLATELAUNCH_H

#include "runtime/CUDA/ModuleCache.h"
#include "runtime/CUDA/Templates.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace flashc::cuda {

/// An instance of a template that is loaded on a device, for good.
class DeviceTemplate {
public:
  /// Compiles the instance for the device, unless the user's cache has it, and loads it, unless this
  /// process has. Throws Error where there is no NVRTC, or it or the driver refuses the instance.
  DeviceTemplate(const Driver &driver, int ordinal, TemplateInstance instance);

  /// Launches the kernel `name` on `grid` blocks (0: nothing to do), as its template says. The
  /// arguments are copied; what they point to is the device's and must live until the kernel is done.
  template <typename Arguments>
  void launch(std::string_view name, int64_t grid, const Arguments &arguments,
              CUstream stream) const {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    launchWith(name, grid, &arguments, stream);
  }

private:
  void launchWith(std::string_view name, int64_t grid, const void *arguments,
                  CUstream stream) const;

  const Driver &driver;
  const int ordinal;
  const TemplateInstance instance;
  const Entries *entries; ///< in the order of the template's kernels
};

} // namespace flashc::cuda

#endif // FLASHC_RUNTIME_CUDA_TEMPLATELAUNCH_H
