//===- BlockLists.cu - lists of tiles from a mask's classes ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Which tiles of keys a tile of queries visits, built once on the device: those
// that the mask keeps whole and those where it must be evaluated, apart. A warp
// per row; a lane's place is the number of such tiles before it.
//
//===----------------------------------------------------------------------===//
#include "templates/Device.h"

namespace flashc {
namespace templates {

FLASHC_KERNEL(block_lists, blockListsThreads)(const BlockLists a) {
  const i64 row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned before = (1u << lane) - 1;
  int full = 0, partial = 0;
  for (i64 begin = 0; begin < a.columns; begin += blockListsThreads) {
    const i64 column = begin + lane;
    const int kind =
        column < a.columns ? a.classes[row * a.rowStride + column] : static_cast<int>(EmptyTile);
    const unsigned fulls = __ballot_sync(0xffffffffu, kind == FullTile);
    const unsigned partials = __ballot_sync(0xffffffffu, kind == PartialTile);
    if (kind == FullTile)
      a.full[row * a.listStride + full + __popc(fulls & before)] = static_cast<int>(column);
    if (kind == PartialTile)
      a.partial[row * a.listStride + partial + __popc(partials & before)] =
          static_cast<int>(column);
    full += __popc(fulls);
    partial += __popc(partials);
  }
  if (lane == 0) {
    a.fullCount[row] = full;
    a.partialCount[row] = partial;
  }
}

} // namespace templates
} // namespace flashc
