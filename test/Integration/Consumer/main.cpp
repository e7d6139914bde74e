// Causal attention over random tokens, compiled for the machine it runs on.
#include <flashc/flashc.hpp>

#include <cstdio>
#include <random>
#include <vector>

int main() try {
  const int64_t batch = 1, tokens = 8, heads = 2, dim = 64;
  const std::vector<int64_t> shape = {batch, tokens, heads, dim};
  std::vector<float> q(batch * tokens * heads * dim), k(q.size()), v(q.size()), o(q.size());

  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  for (auto *values : {&q, &k, &v})
    for (float &value : *values)
      value = normal(random);

  flashc::AttentionDesc desc(flashc::DType::F32, dim);
  desc.causal(flashc::Causal::BottomRight);
  flashc::Kernel kernel = flashc::compile(desc);
  kernel.run({{"q", {q, shape}}, {"k", {k, shape}}, {"v", {v, shape}}, {"o", {o, shape}}});

  // The first token sees itself alone, so its output is its own value.
  std::printf("v[0] = %f, o[0] = %f, o[last] = %f\n", v[0], o[0], o.back());
} catch (const flashc::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
