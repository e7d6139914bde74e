//===- KernelImage.cpp - the part of a file that this machine runs -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/KernelImage.h"
#include "compiler/Target/TargetInfo.h"
#include "runtime/API/KernelInfo.h"
#include "runtime/API/Status.h"
#include "runtime/Bundle/Bundle.h"
#include "runtime/CPU/HostCPU.h"
#include "runtime/CPU/ObjectLoader.h"
#include "runtime/CUDA/Device.h"

#include <algorithm>

namespace flashc {
namespace {

/// What this machine has; the GPUs are only asked for when an image is for one.
class Machine {
public:
  explicit Machine(const std::string &wanted) : wanted(wanted) {}

  bool runs(const BundleImage &image) {
    const TargetInfo *target = lookupTarget(image.target);
    if (!target)
      return false;
    if (image.kind == BundleImage::Kind::Object)
      return HostCPU::get().canRun(*target);
    // A kernel is described in its PTX; a cubin of it only spares compiling.
    if (image.kind != BundleImage::Kind::PTX || devices().empty())
      return false;
    const auto runsOn = [&](const cuda::DeviceFacts &device) {
      return cuda::canRun(device.capability, image.target);
    };
    return wanted == image.target ? std::any_of(found.begin(), found.end(), runsOn)
                                  : runsOn(found.front());
  }

  std::string describe() const {
    std::string text = HostCPU::get().brand();
    for (const cuda::DeviceFacts &device : found)
      text += concat(", ", device.name);
    return text + (whyNone.empty() ? "" : "; no GPU: " + whyNone);
  }

private:
  const std::vector<cuda::DeviceFacts> &devices() {
    if (!asked) {
      asked = true;
      if (const cuda::Driver *driver = cuda::Driver::find(whyNone))
        found = cuda::listDevices(*driver);
    }
    return found;
  }

  const std::string &wanted;
  bool asked = false;
  std::vector<cuda::DeviceFacts> found;
  std::string whyNone;
};

/// The type of q of a kernel for a CPU.
DType typeOfQueries(const BundleImage &image) {
  const auto loaded = LoadedObject::load(image.bytes);
  const KernelInfo info = KernelInfo::parse(loaded->text("flashc_kernel_info"));
  return info.arguments.empty() ? DType::F32 : info.arguments.front().dtype;
}

} // namespace

KernelImage selectImage(std::span<const std::byte> file, const std::string &wanted) {
  if (!isBundle(file))
    return {file, {}};
  const std::vector<BundleImage> images = readBundle(file);
  Machine machine(wanted);
  BundleChoice choice = {[&](const BundleImage &each) { return machine.runs(each); }, wanted};
  const BundleImage *image = chooseImage(images, choice);
  const auto isChoice = [&](const BundleImage &each) {
    return each.kind == BundleImage::Kind::Object && machine.runs(each);
  };
  if (image && isChoice(*image) && std::ranges::count_if(images, isChoice) > 1) {
    // The most capable target is not always the fastest.
    choice.processors = HostCPU::get().targetsFor(typeOfQueries(*image));
    image = chooseImage(images, choice);
  }
  if (image) {
    KernelImage result = {image->bytes, {}};
    for (const BundleImage &other : images)
      if (other.kind == BundleImage::Kind::Cubin && other.target == image->target)
        result.cubin = other.bytes;
    return result;
  }
  throw StatusError(FLASHC_ERROR_UNSUPPORTED,
                    concat("expected a bundle with an image that this machine (",
                           machine.describe(), ") runs",
                           wanted.empty() ? "" : " for target " + wanted.substr(0, 100), ", got ",
                           listImages(images), "; compile it for another target"));
}

} // namespace flashc
