//===- RandomNormal.cpp - the same random arrays on every machine ---------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/RandomNormal.h"
#include "runtime/CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <random>

// A fused multiply-add rounds once instead of twice.
#pragma STDC FP_CONTRACT OFF

namespace flashc::tool {
namespace {

constexpr int64_t blockSize = 65536;

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Pairs of normals.
class Normals {
public:
  explicit Normals(uint64_t seed) : engine(seed) {}

  double next() {
    if (hasSpare) {
      hasSpare = false;
      return spare;
    }
    double x, y, r;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      r = x * x + y * y;
    } while (r >= 1 || r == 0);
    const double factor = std::sqrt(-2 * portableLog(r) / r);
    spare = y * factor;
    hasSpare = true;
    return x * factor;
  }

private:
  double uniform() { return static_cast<double>(engine() >> 11) * 0x1p-53; }

  std::mt19937_64 engine;
  double spare = 0;
  bool hasSpare = false;
};

} // namespace

double portableLog(double x) {
  constexpr double ln2 = 0.693147180559945309417232121458;
  constexpr double sqrtHalf = 0.707106781186547524400844362105;
  int exponent;
  double m = std::frexp(x, &exponent);
  if (m < sqrtHalf) {
    m *= 2;
    --exponent;
  }
  // log m = 2 artanh z, with |z| below 0.172: the terms from z^23 on vanish.
  const double z = (m - 1) / (m + 1), square = z * z;
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2)
    sum = sum * square + 1.0 / n;
  return exponent * ln2 + 2 * z * sum;
}

void fillNormal(HostArray &array, uint64_t seed, uint64_t stream) {
  const int64_t count = array.numElements(), blocks = (count + blockSize - 1) / blockSize;
  const uint64_t key = mix(mix(seed) ^ stream);
  parallelFor(blocks, 0, [&](int64_t block, int) {
    Normals normals(mix(key ^ static_cast<uint64_t>(block)));
    const int64_t end = std::min(count, (block + 1) * blockSize);
    for (int64_t n = block * blockSize; n < end; ++n)
      array.set(n, normals.next());
  });
}

void fillUniform(HostArray &array, int64_t most, uint64_t seed, uint64_t stream) {
  std::mt19937_64 engine(mix(mix(seed) ^ stream));
  const uint64_t range = static_cast<uint64_t>(most) + 1;
  for (int64_t n = 0, count = array.numElements(); n < count; ++n)
    array.setInt(n, static_cast<int64_t>(engine() % range));
}

} // namespace flashc::tool
