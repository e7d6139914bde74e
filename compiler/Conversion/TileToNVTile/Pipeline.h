//===- Pipeline.h - software-pipelined copies of key tiles ------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Loops over key tiles that follow one another (the first tile, full ones, partial ones) are one stream of tiles: the
// copies of a tile are begun `stages - 1` tiles ahead, across the ends of loops.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETONVTILE_PIPELINE_H
#define FLASHC_COMPILER_CONVERSION_TILETONVTILE_PIPELINE_H

#include "dialects/Flash/IR/Flash.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace flashc {

/// Where a tile that products read lies: a shared buffer and the stage in it.
struct SharedTile {
  mlir::Value buffer, stage;
};

/// Loops that follow one another in a block, with bounds that are known before the first, and that load tiles of the
/// same memory for products.
struct LoopChain {
  /// A loop before the others that looks at the tiles of their first turn, at most, and leaves them (the attribute
  /// tile.peek); with its loads for products. Null where there is none.
  mlir::scf::ForOp peek;
  llvm::SmallVector<tile::LoadOp> peekLoads;
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// Per loop, the loads of its body whose tiles products read, in the order of the first loop.
  llvm::SmallVector<llvm::SmallVector<tile::LoadOp>> loads;

  llvm::SmallVector<llvm::ArrayRef<tile::LoadOp>> allLoads() const {
    llvm::SmallVector<llvm::ArrayRef<tile::LoadOp>> all(loads.begin(), loads.end());
    all.push_back(peekLoads);
    return all;
  }
  mlir::scf::ForOp first() const { return peek ? peek : loops.front(); }
};

/// Whether a product reads the result of `load`.
bool feedsProduct(tile::LoadOp load);

/// The chains of `block`, and of the blocks inside it, in order.
llvm::SmallVector<LoopChain> findChains(mlir::Block &block);

/// Shared buffers of a kernel by what they hold, so that chains that do not run at once share them.
class SharedBuffers {
public:
  explicit SharedBuffers(mlir::Block &entry) : entry(entry) {}
  /// A buffer for the tile of `load`, the n-th of its chain, with so many stages. Chains follow one another, so that
  /// their n-th buffers may share memory.
  mlir::Value get(tile::LoadOp load, int64_t stages, unsigned n);
  /// A buffer of `type` over the largest one where that has the room: for what comes after all chains.
  mlir::Value getOver(mlir::Location loc, nvtile::SharedType type);
  /// One of its own.
  mlir::Value getOwn(mlir::Location loc, nvtile::SharedType type);
  int64_t bytes() const { return total; }

private:
  mlir::Block &entry;
  llvm::DenseMap<unsigned, llvm::SmallVector<nvtile::AllocOp, 2>> buffers;
  int64_t total = 0;
};

/// Emits the copies of a chain and notes where its tiles lie. `values` says when the tiles are copied that meet what
/// the turn has computed from others.
void pipelineChain(LoopChain &chain, int64_t stages, flash::ValueCopy values,
                   SharedBuffers &buffers, llvm::DenseMap<mlir::Value, SharedTile> &tiles);

/// What says where the tile of `load` lies: offsets, the row of its page table where there is one, valid sizes.
llvm::SmallVector<mlir::Value> placeOf(tile::LoadOp load);

/// Emits the copy of the tile of `load`, but at `place` (see placeOf), to a stage, at the builder's place.
void emitCopy(mlir::OpBuilder &b, tile::LoadOp load, mlir::ValueRange place, const SharedTile &to);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETONVTILE_PIPELINE_H
