// Causal attention on an NVIDIA GPU, queued on the caller's stream.
#include <flashc/flashc.hpp>

flashc::Kernel makeAttention(int device) {
  flashc::AttentionDesc desc(flashc::DType::BF16, 128);
  desc.causal(flashc::Causal::BottomRight);
  flashc::Kernel kernel = flashc::compile(desc, "cuda");
  kernel.prepare(device); // loads the code, at the latest before a CUDA graph captures a run
  return kernel;
}

/// q, k, v and o are addresses in the device's memory, dense [batch, tokens, heads, 128].
void attend(const flashc::Kernel &kernel, const void *q, const void *k, const void *v, void *o,
            const std::vector<int64_t> &shape, int device, void *stream) {
  const auto tensor = [&](const void *data) {
    return flashc::Tensor(data, flashc::DType::BF16, shape).on(kDLCUDA, device);
  };
  flashc::RunOptions options;
  options.stream = stream; // a cudaStream_t or CUstream
  kernel.run({{"q", tensor(q)}, {"k", tensor(k)}, {"v", tensor(v)}, {"o", tensor(o)}}, options);
}
