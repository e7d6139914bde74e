//===- CApi.cpp - the C interface over the C++ classes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Nothing but translation: handles, texts that outlive the call, and exceptions
// turned into a status and a message.
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Binding.h"
#include "runtime/API/KernelCache.h"
#include "runtime/API/Status.h"
#include "runtime/API/flashc.h"

#include <atomic>
#include <new>

struct flashc_attention {
  flashc::AttentionDesc desc;
  std::string text; ///< what the last call gave out
};

struct flashc_kernel {
  explicit flashc_kernel(std::shared_ptr<const flashc::Kernel> shared)
      : kernel(std::move(shared)) {}
  const std::shared_ptr<const flashc::Kernel> kernel;
  std::atomic<int64_t> references{1};
};

namespace {

thread_local std::string lastError;

/// Stores the message; out of memory for it too, the status alone has to do.
flashc_status failed(flashc_status status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

/// Runs `body`; its exception becomes a status and a message.
template <typename Body> flashc_status guarded(Body body) noexcept {
  try {
    body();
    return FLASHC_OK;
  } catch (const flashc::StatusError &error) {
    return failed(error.status, error.what());
  } catch (const flashc::Error &error) {
    return failed(FLASHC_ERROR_INVALID, error.what());
  } catch (const std::bad_alloc &) {
    return failed(FLASHC_ERROR_MEMORY, "expected enough memory, got none; use smaller tensors");
  } catch (const std::exception &error) {
    return failed(FLASHC_ERROR_INTERNAL, error.what());
  } catch (...) {
    return failed(FLASHC_ERROR_INTERNAL, "unknown failure");
  }
}

void require(const void *pointer, const char *what) {
  if (!pointer)
    flashc::fail("expected ", what, ", got a null pointer");
}

std::span<const DLTensor *const> tensorSpan(const DLTensor *const *tensors, size_t count) {
  if (count)
    require(tensors, "an array of tensors");
  return {tensors, count};
}

std::string makeHelp() {
  std::string help;
  for (const flashc::AttentionField &field : flashc::attentionFields()) {
    std::string head = field.key;
    head +=
        field.kind == flashc::FieldKind::Flag ? " true|false" : " " + std::string(field.operand);
    head.resize(std::max<size_t>(head.size() + 2, 32), ' ');
    help += head + field.help + "\n";
  }
  return help;
}

} // namespace

extern "C" {

const char *flashc_version(void) { return FLASHC_VERSION; }

const char *flashc_last_error(void) { return lastError.c_str(); }

flashc_status flashc_attention_create(flashc_attention **desc) {
  return guarded([&] {
    require(desc, "a place for the description");
    *desc = new flashc_attention;
  });
}

flashc_status flashc_attention_from_json(const char *json, size_t size, flashc_attention **desc) {
  return guarded([&] {
    require(json, "a JSON text");
    require(desc, "a place for the description");
    *desc = new flashc_attention{flashc::AttentionDesc::fromJson({json, size}), ""};
  });
}

void flashc_attention_destroy(flashc_attention *desc) { delete desc; }

flashc_status flashc_attention_set(flashc_attention *desc, const char *key, const char *value) {
  return guarded([&] {
    require(desc, "a description");
    require(key, "a key");
    require(value, "a value");
    desc->desc.set(key, value);
  });
}

flashc_status flashc_attention_get(flashc_attention *desc, const char *key, const char **value) {
  return guarded([&] {
    require(desc, "a description");
    require(key, "a key");
    require(value, "a place for the value");
    desc->text = desc->desc.get(key);
    *value = desc->text.c_str();
  });
}

flashc_status flashc_attention_json(flashc_attention *desc, const char **json) {
  return guarded([&] {
    require(desc, "a description");
    require(json, "a place for the JSON text");
    desc->text = desc->desc.toJson();
    *json = desc->text.c_str();
  });
}

const char *flashc_attention_help(void) {
  static const std::string help = makeHelp();
  return help.c_str();
}

flashc_status flashc_compile(const flashc_attention *desc, flashc_kernel **kernel) {
  return guarded([&] {
    require(desc, "a description");
    require(kernel, "a place for the kernel");
    *kernel = new flashc_kernel(flashc::compileKernel(desc->desc));
  });
}

flashc_status flashc_load(const void *object, size_t size, flashc_kernel **kernel) {
  return flashc_load_for(object, size, "", kernel);
}

flashc_status flashc_load_for(const void *object, size_t size, const char *target,
                              flashc_kernel **kernel) {
  return guarded([&] {
    require(object, "a kernel object");
    require(target, "a target");
    require(kernel, "a place for the kernel");
    *kernel = new flashc_kernel(std::make_shared<const flashc::Kernel>(
        std::span(static_cast<const std::byte *>(object), size), target));
  });
}

flashc_status flashc_kernel_prepare(const flashc_kernel *kernel, DLDevice device) {
  return guarded([&] {
    require(kernel, "a kernel");
    kernel->kernel->prepare(device);
  });
}

flashc_kernel *flashc_kernel_retain(flashc_kernel *kernel) {
  if (kernel)
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  return kernel;
}

void flashc_kernel_release(flashc_kernel *kernel) {
  if (kernel && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete kernel;
}

flashc_status flashc_kernel_object(const flashc_kernel *kernel, const void **data, size_t *size) {
  return guarded([&] {
    require(kernel, "a kernel");
    require(data, "a place for the address");
    require(size, "a place for the size");
    *data = kernel->kernel->object().data();
    *size = kernel->kernel->object().size();
  });
}

const char *flashc_kernel_json(const flashc_kernel *kernel) {
  return kernel ? kernel->kernel->json().c_str() : "";
}

int32_t flashc_kernel_num_arguments(const flashc_kernel *kernel) {
  return kernel ? static_cast<int32_t>(kernel->kernel->info().arguments.size()) : 0;
}

flashc_status flashc_kernel_argument(const flashc_kernel *kernel, int32_t index,
                                     flashc_argument *argument) {
  return guarded([&] {
    require(kernel, "a kernel");
    require(argument, "a place for the argument");
    const auto &arguments = kernel->kernel->info().arguments;
    if (index < 0 || static_cast<size_t>(index) >= arguments.size())
      flashc::fail("expected an argument's index from 0 to ", arguments.size() - 1, ", got ",
                   index);
    const flashc::KernelArgument &from = arguments[index];
    *argument = {from.name.c_str(), flashc::toDLPack(from.dtype),
                 static_cast<int32_t>(from.shape.size()), from.isOutput, from.shape.data()};
  });
}

int32_t flashc_kernel_find_argument(const flashc_kernel *kernel, const char *name) {
  return kernel && name ? kernel->kernel->info().find(name) : -1;
}

flashc_status flashc_workspace_size(const flashc_kernel *kernel, const DLTensor *const *tensors,
                                    size_t count, size_t *bytes) {
  return guarded([&] {
    require(kernel, "a kernel");
    require(bytes, "a place for the size");
    *bytes = kernel->kernel->workspaceSize(tensorSpan(tensors, count));
  });
}

flashc_status flashc_run(const flashc_kernel *kernel, const DLTensor *const *tensors, size_t count,
                         void *workspace, size_t workspaceBytes, int32_t threads, void *stream) {
  return guarded([&] {
    require(kernel, "a kernel");
    kernel->kernel->run(tensorSpan(tensors, count), workspace, workspaceBytes, threads, stream);
  });
}

} // extern "C"
