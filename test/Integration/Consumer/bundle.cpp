// Runs a bundle compiled ahead of time: causal attention over random tokens, without a compiler.
#include <flashc/flashc.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

int main(int argc, char **argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE.bundle\n", argv[0]);
    return 1;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  const flashc::Kernel kernel = flashc::Kernel::load(file.data(), file.size(), "cpu");

  const int64_t batch = 1, tokens = 8, heads = 2, dim = 64;
  const std::vector<int64_t> shape = {batch, tokens, heads, dim};
  std::vector<float> q(batch * tokens * heads * dim), k(q.size()), v(q.size()), o(q.size());
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  for (auto *values : {&q, &k, &v})
    for (float &value : *values)
      value = normal(random);
  kernel.run({{"q", {q, shape}}, {"k", {k, shape}}, {"v", {v, shape}}, {"o", {o, shape}}});

  // The first token sees itself alone, so its output is its own value.
  std::printf("v[0] = %f, o[0] = %f, o[last] = %f\n", v[0], o[0], o.back());
} catch (const flashc::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
