/*===- peak.c - the most that this machine does -----------------------------===*\
|*
|* Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
|*
|* Multiply-add peaks per instruction set and the bandwidth of reads, all
|* threads at once:
|*
|*   peak THREADS [SECONDS [MIB]]     SECONDS per window (0.1), MIB per thread (512)
|*
|* Prints one JSON object: GFLOP/s of "avx2" and "avx512" (f32 FMA), "vdpbf16ps"
|* and "tdpbf16ps" (bf16 products, f32 sums) where the processor has them,
|* GB/s of "read" (the better of one and of four streams per thread). Each is
|* the median of seven windows after one to warm up.
|*
|* Built with clang or gcc: cc -O2 -pthread peak.c -o peak
|*
\*===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kWindows = 7, kMaxThreads = 1024 };

/* What a thread does once: returns the operations (or bytes) of it. */
typedef double (*Work)(void *state);

/* The values are hidden from the compiler, so that it neither folds nor drops a multiply-add. */
#define TIMES_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TIMES_24(X)                                                                                \
  TIMES_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

__attribute__((target("avx2,fma"))) static double workAVX2(void *state) {
  (void)state;
  __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
#define DECLARE(n) __m256 c##n = _mm256_set1_ps(n);
  TIMES_12(DECLARE)
#undef DECLARE
  for (int i = 0; i < 20000; ++i) {
#define STEP(n) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(c##n) : "x"(a), "x"(b));
    TIMES_12(STEP)
#undef STEP
  }
  return 20000.0 * 12 * 8 * 2;
}

__attribute__((target("avx512f"))) static double workAVX512(void *state) {
  (void)state;
  __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
#define DECLARE(n) __m512 c##n = _mm512_set1_ps(n);
  TIMES_24(DECLARE)
#undef DECLARE
  for (int i = 0; i < 10000; ++i) {
#define STEP(n) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(c##n) : "v"(a), "v"(b));
    TIMES_24(STEP)
#undef STEP
  }
  return 10000.0 * 24 * 16 * 2;
}

__attribute__((target("avx512f"))) static double workDots(void *state) {
  (void)state;
  __m512 a = _mm512_setzero_ps(), b = _mm512_setzero_ps();
#define DECLARE(n) __m512 c##n = _mm512_set1_ps(n);
  TIMES_24(DECLARE)
#undef DECLARE
  for (int i = 0; i < 10000; ++i) {
#define STEP(n) __asm__ volatile("vdpbf16ps %1, %2, %0" : "+v"(c##n) : "v"(a), "v"(b));
    TIMES_24(STEP)
#undef STEP
  }
  return 10000.0 * 24 * 32 * 2;
}

struct TileConfig {
  uint8_t palette, startRow, reserved[14];
  uint16_t columnBytes[16];
  uint8_t rows[16];
};

/* Tiles of 16 x 64 bytes: 16 x 16 sums of 32 products a multiplication. */
static double workTiles(void *state) {
  (void)state;
  struct TileConfig config __attribute__((aligned(64)));
  memset(&config, 0, sizeof config);
  config.palette = 1;
  for (int n = 0; n < 8; ++n) {
    config.columnBytes[n] = 64;
    config.rows[n] = 16;
  }
  __asm__ volatile("ldtilecfg %0\n tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n"
                   "tilezero %%tmm3\n tilezero %%tmm4\n tilezero %%tmm5\n tilezero %%tmm6\n"
                   "tilezero %%tmm7" ::"m"(config));
  for (int i = 0; i < 5000; ++i)
    __asm__ volatile("tdpbf16ps %tmm6, %tmm4, %tmm0\n tdpbf16ps %tmm7, %tmm4, %tmm1\n"
                     "tdpbf16ps %tmm6, %tmm5, %tmm2\n tdpbf16ps %tmm7, %tmm5, %tmm3");
  __asm__ volatile("tilerelease");
  return 5000.0 * 4 * 16 * 16 * 32 * 2;
}

struct Memory {
  const char *bytes;
  size_t size;
};

/* Reads through `streams` parts of the array at once: several keep more of the prefetchers busy, but
 * not on every machine. */
__attribute__((target("avx2"), always_inline)) static inline double
readStreams(const struct Memory *memory, int streams) {
  const size_t part = memory->size / (size_t)streams & ~(size_t)63;
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                     _mm256_setzero_si256()};
  for (size_t n = 0; n < part; n += 64)
    for (int stream = 0; stream < streams; ++stream) {
      const char *at = memory->bytes + (size_t)stream * part + n;
      _mm_prefetch(at + 1024, _MM_HINT_T0);
      const __m256i low = _mm256_load_si256((const __m256i *)at);
      const __m256i high = _mm256_load_si256((const __m256i *)(at + 32));
      sums[stream] = _mm256_or_si256(sums[stream], _mm256_or_si256(low, high));
    }
  for (int stream = 0; stream < 4; ++stream)
    __asm__ volatile("" ::"x"(sums[stream]));
  return (double)(part * (size_t)streams);
}

__attribute__((target("avx2"))) static double workRead(void *state) {
  return readStreams(state, 1);
}

__attribute__((target("avx2"))) static double workReadStreams(void *state) {
  return readStreams(state, 4);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct Thread {
  pthread_t handle;
  pthread_barrier_t *barrier;
  Work work;
  void *state;
  double seconds;             /* of a window, at least */
  double rates[kWindows + 1]; /* per second, by this thread's clock */
};

static void *runThread(void *argument) {
  struct Thread *thread = argument;
  for (int window = 0; window <= kWindows; ++window) {
    pthread_barrier_wait(thread->barrier);
    const double begin = now();
    double done = 0, elapsed;
    do {
      done += thread->work(thread->state);
      elapsed = now() - begin;
    } while (elapsed < thread->seconds);
    thread->rates[window] = done / elapsed;
  }
  return NULL;
}

static int compareDoubles(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The median over windows of the sum over threads, in 1e9 per second. */
static double measure(Work work, int count, double seconds, struct Memory *memory) {
  static struct Thread threads[kMaxThreads];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int n = 0; n < count; ++n) {
    threads[n] = (struct Thread){.barrier = &barrier, .work = work, .seconds = seconds};
    threads[n].state = memory ? &memory[n] : NULL;
    if (pthread_create(&threads[n].handle, NULL, runThread, &threads[n])) {
      fprintf(stderr, "error: expected to start %d threads\n", count);
      exit(1);
    }
  }
  double sums[kWindows] = {0};
  for (int n = 0; n < count; ++n) {
    pthread_join(threads[n].handle, NULL);
    for (int window = 0; window < kWindows; ++window)
      sums[window] += threads[n].rates[window + 1];
  }
  pthread_barrier_destroy(&barrier);
  qsort(sums, kWindows, sizeof *sums, compareDoubles);
  return sums[kWindows / 2] * 1e-9;
}

/* Whether a word stands in /proc/cpuinfo's flags: what the kernel lets programs use. */
static int hasFlag(const char *flag) {
  static char line[1 << 16];
  FILE *file = fopen("/proc/cpuinfo", "r");
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file)) {
    if (strncmp(line, "flags", 5))
      continue;
    for (char *word = strtok(line, " \t\n:"); word && !found; word = strtok(NULL, " \t\n:"))
      found = !strcmp(word, flag);
    break;
  }
  if (file)
    fclose(file);
  return found;
}

/* Tiles need the kernel's permission, for all threads started afterwards. */
static int allowTiles(void) {
  enum { kRequestPermission = 0x1023, kTileData = 18 };
  return !syscall(SYS_arch_prctl, kRequestPermission, kTileData);
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? atof(argv[2]) : 0.1;
  const size_t size = (size_t)(argc > 3 ? atoi(argv[3]) : 512) << 20;
  if (threads < 1 || threads > kMaxThreads || seconds <= 0 || size == 0) {
    fprintf(stderr, "usage: peak THREADS [SECONDS [MIB]]\n");
    return 2;
  }
  static struct Memory memory[kMaxThreads];
  for (int n = 0; n < threads; ++n) {
    char *bytes = aligned_alloc(1 << 21, (size + (1 << 21) - 1) & ~(size_t)((1 << 21) - 1));
    if (!bytes) {
      fprintf(stderr, "error: expected %zu MiB of memory for each thread\n", size >> 20);
      return 1;
    }
    memset(bytes, n + 1, size);
    memory[n] = (struct Memory){bytes, size - 4096}; /* the prefetches stay inside */
  }
  printf("{\"threads\": %d, \"avx2\": %.6g", threads, measure(workAVX2, threads, seconds, NULL));
  if (hasFlag("avx512f"))
    printf(", \"avx512\": %.6g", measure(workAVX512, threads, seconds, NULL));
  if (hasFlag("avx512_bf16"))
    printf(", \"vdpbf16ps\": %.6g", measure(workDots, threads, seconds, NULL));
  if (hasFlag("amx_bf16") && allowTiles())
    printf(", \"tdpbf16ps\": %.6g", measure(workTiles, threads, seconds, NULL));
  const double one = measure(workRead, threads, seconds, memory);
  const double four = measure(workReadStreams, threads, seconds, memory);
  printf(", \"read\": %.6g}\n", one > four ? one : four);
  return 0;
}
