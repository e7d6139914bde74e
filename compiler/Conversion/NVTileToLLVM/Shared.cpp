//===- Shared.cpp - addresses in shared memory ----------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Rows of 16-byte chunks, permuted or skewed as !nvtile.shared says. Addresses are i32: the parts that depend
// on the lane alone leave the loops.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Target/SharedLayout.h"

using namespace mlir;
using namespace flashc;

/// Chunks among which a permutation moves one.
static constexpr int64_t kPermuted = kChunksOfBanks;

static nvtile::SharedType typeOf(Value buffer) {
  return cast<nvtile::SharedType>(buffer.getType());
}

Value Distributor::sharedSymbol() {
  Value symbol = LLVM::AddressOfOp::create(b, t.loc, t.shared, kSharedSymbol);
  return LLVM::PtrToIntOp::create(b, t.loc, t.i32, symbol);
}

Value Distributor::stageAddress(Value buffer, Value stage) {
  Value address = t.add(sharedSymbol(), bufferOffsets.lookup(buffer));
  if (typeOf(buffer).getStages() == 1)
    return address;
  return t.add(address, t.mul(t.toI32(stage), typeOf(buffer).getStageBytes()));
}

Value Distributor::sharedAddress(Value buffer, Value stage, Value row, Value chunk) {
  nvtile::SharedType type = typeOf(buffer);
  if (type.isSwizzled())
    chunk = t.bitXor(chunk, t.bitAnd(row, kPermuted - 1));
  Value inStage = t.add(t.mul(row, type.getRowBytes()), t.mul(chunk, kChunkBytes));
  return t.add(inStage, stageAddress(buffer, stage));
}

SmallVector<Value> Distributor::loadMatrix(Value buffer, Value stage, Value laneRow,
                                           Value laneChunk, int64_t rowOffset, int64_t chunkOffset,
                                           bool isTransposed, bool isChunkSmall) {
  nvtile::SharedType type = typeOf(buffer);
  int64_t constant = rowOffset * type.getRowBytes();
  Value address;
  if (!type.isSwizzled()) {
    address = sharedAddress(buffer, stage, laneRow, laneChunk);
    constant += chunkOffset * kChunkBytes;
  } else if (isChunkSmall) {
    // The lane's chunk is 0 or 1, beside panels of 8, and the offset even: their exclusive ors commute. Row
    // offsets are multiples of 8, which the permutation does not see.
    address = sharedAddress(buffer, stage, laneRow, laneChunk);
    address = t.bitXor(address, t.constant(chunkOffset % kPermuted * kChunkBytes));
    constant += chunkOffset / kPermuted * kPermuted * kChunkBytes;
  } else {
    address = sharedAddress(buffer, stage, laneRow, t.add(laneChunk, chunkOffset));
  }
  Type words = LLVM::LLVMStructType::getLiteral(b.getContext(), {t.i32, t.i32, t.i32, t.i32});
  StringRef name = isTransposed ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
                                : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3";
  return t.unpack(t.call(name, words, t.sharedPointer(address, constant)), 4);
}
