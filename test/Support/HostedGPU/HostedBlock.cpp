//===- HostedBlock.cpp - the threads of a GPU's block on the host ---------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "test/Support/HostedGPU/HostedBlock.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/Half.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace flashc::test {
namespace {

constexpr size_t stackBytes = 256 << 10, sharedRoom = 256 << 10;
constexpr unsigned warpSize = 32;

enum class Meeting { None, Warp, Block };

struct Copy {
  uint32_t to;
  const void *from;
  uint32_t bytes; ///< of 16; the rest is zeros
};

using Words = std::array<uint32_t, 10>;

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stackBytes]};
  bool isDone = false;
  Meeting waitsFor = Meeting::None;
  /// What the others of the warp or the block may see, and how often they have: what is shown is there until all have
  /// met twice more.
  Words shown[2][2];
  unsigned exchanges[2] = {};
  std::vector<Copy> open; ///< copies since the last commit
  std::deque<std::vector<Copy>> committed;
};

ucontext_t scheduler;
std::vector<Thread> threads;
unsigned count = 0, current = 0, block = 0;
const std::function<void()> *kernel = nullptr;

Thread &self() { return threads[current]; }

void meet(Meeting meeting) {
  self().waitsFor = meeting;
  swapcontext(&self().context, &scheduler);
}

void runThread() {
  (*kernel)();
  self().isDone = true;
  swapcontext(&self().context, &scheduler); // never comes back
}

template <typename T> T *pointer(uint32_t shared) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(shared));
}
template <typename T = void> T *pointer(const uint32_t *words) {
  return reinterpret_cast<T *>(words[0] | static_cast<uint64_t>(words[1]) << 32);
}

/// Shows words to the others, and gives a function of a thread's number for what that one shows, once all have.
auto exchange(Meeting meeting, const uint32_t *words, size_t number) {
  const size_t kind = meeting == Meeting::Block, turn = self().exchanges[kind]++ % 2;
  std::copy_n(words, number, self().shown[kind][turn].begin());
  meet(meeting);
  return [=](unsigned thread) -> const Words & { return threads[thread].shown[kind][turn]; };
}

unsigned firstOfWarp() { return current / warpSize * warpSize; }

/// Of a lane whose number differs in the bits of in[2], or that is in[2].
template <bool isButterfly>
void shuffle(const uint32_t *in, uint32_t *out) { // mask, value, lane, clamp
  const auto shown = exchange(Meeting::Warp, in + 1, 1);
  out[0] = shown(isButterfly ? current ^ in[2] : firstOfWarp() + in[2] % warpSize)[0];
}

void voteAny(const uint32_t *in, uint32_t *out) { // mask, vote
  const auto shown = exchange(Meeting::Warp, in + 1, 1);
  out[0] = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    out[0] |= shown(firstOfWarp() + lane)[0] != 0;
}

void barrierAnd(const uint32_t *in, uint32_t *out) { // barrier, vote
  const auto shown = exchange(Meeting::Block, in + 1, 1);
  out[0] = 1;
  for (unsigned thread = 0; thread < count; ++thread)
    out[0] &= shown(thread)[0] != 0;
}

/// Each lane gives the address of a row of 8 elements: lane 8 m + r that of row r of matrix m.
template <bool isTransposed> void loadMatrix(const uint32_t *in, uint32_t *out) {
  const auto shown = exchange(Meeting::Warp, in, 1);
  const unsigned first = firstOfWarp(), lane = current - first;
  for (unsigned m = 0; m < 4; ++m) {
    out[m] = 0;
    for (unsigned n = 0; n < 2; ++n) {
      const unsigned row = lane / 4, column = lane % 4 * 2 + n;
      const uint32_t address = shown(first + 8 * m + (isTransposed ? column : row))[0];
      out[m] |= uint32_t(pointer<uint16_t>(address)[isTransposed ? row : column]) << (16 * n);
    }
  }
}

/// mma.sync.m16n8k(8 * depthBlocks): the left operand's words, the right one's, the sums.
template <bool isBF16, unsigned depthBlocks> void multiply(const uint32_t *in, uint32_t *out) {
  constexpr unsigned right = 2 * depthBlocks, sums = right + depthBlocks;
  const auto shown = exchange(Meeting::Warp, in, sums);
  const unsigned first = firstOfWarp(), lane = current - first;
  const auto element = [&](unsigned from, unsigned word, unsigned half) {
    const auto bits = static_cast<uint16_t>(shown(first + from)[word] >> (16 * half));
    return isBF16 ? bfloatToFloat(bits) : halfToFloat(bits);
  };
  for (unsigned n = 0; n < 4; ++n) {
    const unsigned rowBlock = n / 2, column = lane % 4 * 2 + n % 2;
    double sum = 0;
    for (unsigned k = 0; k < 8 * depthBlocks; ++k)
      sum += double(element(lane / 4 * 4 + k % 8 / 2, rowBlock + k / 8 * 2, k % 2)) *
             element(column * 4 + k % 8 / 2, right + k / 8, k % 2);
    out[n] = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<float>(in[sums + n]) + sum));
  }
}

void arrive(const Copy &copy) {
  std::memset(pointer<char>(copy.to), 0, 16);
  std::memcpy(pointer<char>(copy.to), copy.from, copy.bytes);
}

bool copiesArriveAtOnce = false;

void issue(const Copy &copy) {
  if (copiesArriveAtOnce)
    arrive(copy);
  else
    self().open.push_back(copy);
}

void commit(const uint32_t *, uint32_t *) {
  self().committed.push_back(std::move(self().open));
  self().open.clear();
}

void waitForCopies(const uint32_t *in, uint32_t *) { // groups that may be pending
  for (auto &groups = self().committed; groups.size() > in[0]; groups.pop_front())
    std::ranges::for_each(groups.front(), arrive);
}

template <typename T> void loadIf(const uint32_t *in, uint32_t *out) { // address, condition
  T value = {};
  if (in[2])
    std::memcpy(&value, pointer(in), sizeof(T));
  std::memcpy(out, &value, sizeof(T));
}

void loadByteIf(const uint32_t *in, uint32_t *out) { // widened
  out[0] = in[2] ? *pointer<uint8_t>(in) : 0;
}

template <typename T> void storeIf(const uint32_t *in, uint32_t *) { // address, words, condition
  if (in[2 + (sizeof(T) + 3) / 4])
    std::memcpy(pointer(in), in + 2, sizeof(T));
}

template <float function(float)> void apply(const uint32_t *in, uint32_t *out) {
  out[0] = std::bit_cast<uint32_t>(function(std::bit_cast<float>(in[0])));
}
float exponential(float x) { return std::exp2(x); }
float reciprocal(float x) { return 1 / x; }

struct NamedOp {
  std::string_view text;
  HostedOp op;
};
using Words4 = std::array<uint32_t, 4>;

constexpr NamedOp ops[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", [](auto, auto out) { out[0] = current; }},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", [](auto, auto out) { out[0] = block; }},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", [](auto, auto) { meet(Meeting::Block); }},
    {"llvm.nvvm.barrier.cta.red.and.aligned.all", barrierAnd},
    {"llvm.nvvm.bar.warp.sync", [](auto, auto) { meet(Meeting::Warp); }},
    {"llvm.nvvm.shfl.sync.bfly.f32", shuffle<true>},
    {"llvm.nvvm.shfl.sync.bfly.i32", shuffle<true>},
    {"llvm.nvvm.shfl.sync.idx.i32", shuffle<false>},
    {"llvm.nvvm.vote.any.sync", voteAny},
    {"llvm.nvvm.ex2.approx.ftz.f32", apply<exponential>},
    {"llvm.nvvm.rcp.approx.ftz.f", apply<reciprocal>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", loadMatrix<false>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", loadMatrix<true>},
    {"llvm.nvvm.mma.m16n8k16.row.col.bf16", multiply<true, 2>},
    {"llvm.nvvm.mma.m16n8k16.row.col.f32.f32", multiply<false, 2>},
    {"llvm.nvvm.mma.m16n8k8.row.col.f32.f32", multiply<false, 1>},
    {"llvm.nvvm.cp.async.cg.shared.global.16",
     [](auto in, auto) { issue({in[0], pointer(in + 1), 16}); }},
    {"llvm.nvvm.cp.async.cg.shared.global.16.s",
     [](auto in, auto) { issue({in[0], pointer(in + 1), in[3]}); }},
    {"llvm.nvvm.cp.async.commit.group", commit},
    {"llvm.nvvm.cp.async.wait.group", waitForCopies},
    // Launches run one after another.
    {"llvm.nvvm.griddepcontrol.launch.dependents", [](auto, auto) {}},
    {"llvm.nvvm.griddepcontrol.wait", [](auto, auto) {}},
};

/// Inline assembly, by a part of its text.
constexpr NamedOp assembly[] = {
    {"%tid.x", [](auto, auto out) { out[0] = current; }},
    {"ld.global.u8", loadByteIf},
    {"ld.global.b16", loadIf<uint16_t>},
    {"ld.global.b64", loadIf<uint64_t>},
    {"ld.global.b32", loadIf<uint32_t>},
    {"ld.global.v4.b32", loadIf<Words4>},
    {"st.global.b16", storeIf<uint16_t>},
    {"st.global.b32", storeIf<uint32_t>},
    {"st.global.v4.b32", storeIf<Words4>},
    // Where the predicate holds the source is ignored.
    {"cp.async.cg.shared.global [$0], [$1], 16, p;",
     [](auto in, auto) { issue({in[0], pointer(in + 1), in[3] ? 0u : 16u}); }},
    {".pragma", [](auto, auto) {}},
};

/// Lets those go on who have all met; false where nobody can.
bool releaseThreads() {
  const auto all = [](unsigned first, unsigned number, Meeting meeting) {
    return std::all_of(
        threads.begin() + first, threads.begin() + first + number,
        [&](const Thread &thread) { return thread.waitsFor == meeting && !thread.isDone; });
  };
  bool any = false;
  const auto release = [&](unsigned first, unsigned number, Meeting meeting) {
    if (!all(first, number, meeting))
      return;
    for (unsigned n = first; n < first + number; ++n)
      threads[n].waitsFor = Meeting::None;
    any = true;
  };
  for (unsigned first = 0; first < count; first += warpSize)
    release(first, warpSize, Meeting::Warp);
  release(0, count, Meeting::Block);
  return any;
}

void runBlock(std::minstd_rand &random) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (unsigned n = 0; n < count; ++n) {
    Thread &thread = threads[n];
    thread.isDone = false;
    thread.waitsFor = Meeting::None;
    thread.exchanges[0] = thread.exchanges[1] = 0;
    thread.open.clear();
    thread.committed.clear();
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = stackBytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, runThread, 0);
  }
  for (bool isOver = false; !isOver;) {
    std::ranges::shuffle(order, random);
    for (const unsigned n : order)
      if (!threads[n].isDone && threads[n].waitsFor == Meeting::None) {
        current = n;
        swapcontext(&scheduler, &threads[n].context);
      }
    isOver = std::all_of(threads.begin(), threads.begin() + count,
                         [](const Thread &thread) { return thread.isDone; });
    if (!isOver && !releaseThreads())
      fail("expected threads that meet, got some of block ", block,
           " that wait for others in vain");
  }
}

} // namespace

void setCopiesArriveAtOnce(bool value) { copiesArriveAtOnce = value; }

HostedOp findHostedOp(std::string_view text) {
  for (const NamedOp &named : ops)
    if (named.text == text)
      return named.op;
  for (const NamedOp &named : assembly)
    if (text.find(named.text) != std::string_view::npos)
      return named.op;
  return nullptr;
}

uint32_t hostedSharedMemory() {
  static const uint32_t address = [] {
    void *memory = mmap(nullptr, sharedRoom, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (memory == MAP_FAILED)
      fail("expected memory at an address of 32 bits, got none");
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(memory));
  }();
  return address;
}

void runHosted(int64_t blocks, unsigned number, unsigned sharedBytes,
               const std::function<void()> &body) {
  std::minstd_rand random(1);
  kernel = &body;
  count = number;
  while (threads.size() < count)
    threads.emplace_back();
  unsigned char *shared = pointer<unsigned char>(hostedSharedMemory());
  for (block = 0; block < blocks; ++block) {
    std::memset(shared, 0xff, sharedRoom);
    runBlock(random);
    if (std::any_of(shared + sharedBytes, shared + sharedRoom,
                    [](unsigned char byte) { return byte != 0xff; }))
      fail("expected writes to the ", sharedBytes, " bytes of shared memory, got one beyond them");
  }
}

} // namespace flashc::test
