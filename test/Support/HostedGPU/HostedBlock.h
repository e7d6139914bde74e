//===- HostedBlock.h - the threads of a GPU's block on the host -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Every thread of a block is a context of its own that gives way where threads meet: those of a warp at shuffles, votes
// and matrix instructions, all at barriers. Copies to shared memory arrive as late as they may. Shared memory begins as
// NaN, and what is written beyond its size is found.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDBLOCK_H
#define FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDBLOCK_H

#include <cstdint>
#include <functional>
#include <string_view>

namespace flashc::test {

/// What an instruction that the host lacks does: `in` are the words of its operands, one after another, `out` those of
/// its results.
using HostedOp = void (*)(const uint32_t *in, uint32_t *out);

/// The instruction of an intrinsic's name, or of the text of inline assembly; null where it is none that is known.
HostedOp findHostedOp(std::string_view text);

/// Where shared memory lies, at an address of 32 bits.
uint32_t hostedSharedMemory();

/// Whether copies to shared memory arrive as soon as they are begun, where a tile that is still read would be lost, or as
/// late as they may (the default), where a tile that is read too early is not there.
void setCopiesArriveAtOnce(bool value);

/// Runs `body` as every thread of every block. Throws Error where threads never meet, and where shared memory is
/// written beyond `sharedBytes`.
void runHosted(int64_t blocks, unsigned threads, unsigned sharedBytes,
               const std::function<void()> &body);

} // namespace flashc::test

#endif // FLASHC_TEST_SUPPORT_HOSTEDGPU_HOSTEDBLOCK_H
