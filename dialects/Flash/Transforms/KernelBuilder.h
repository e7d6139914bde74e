//===- KernelBuilder.h - loads, stores and loops of kernels -----*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What the tiled and the standard kernels have in common: tiles of q, k, v at a grid point, the loop over
// key tiles, and the stores of the results.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELBUILDER_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELBUILDER_H

#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/Passes.h"

namespace flashc::flash {

/// A tile of keys: the first key, and how many there are.
struct KeyTile {
  mlir::Value j0, columns;
};

/// Emits the parts of a kernel at one grid point.
class KernelBuilder {
public:
  /// A point has the schedule's rows, or `pointRows` of them.
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, const AttentionMemory &memory,
                const GridPoint &point, ScheduleAttr schedule, int64_t pointRows = 0)
      : b(builder), loc(loc), memory(memory), point(point),
        br(pointRows ? pointRows : schedule.getTile()[0]), bc(schedule.getTile()[1]),
        rowsAreHeads(schedule.getRows() == RowKind::Heads) {}

  /// Rows of a tile.
  int64_t rows() const { return br; }

  mlir::Value loadQueries();
  mlir::Value loadKeys(mlir::OpBuilder &builder, const KeyTile &keys);
  mlir::Value loadValues(mlir::OpBuilder &builder, const KeyTile &keys);
  /// (b, h, i0, j0, sq, sk) of the tile ops.
  llvm::SmallVector<mlir::Value> at(const KeyTile &keys) const;
  /// The head's sink, an f32, or a tile of them where rows are heads.
  mlir::Value loadSink();

  /// The loop over the tiles of the keys at hand with carried values.
  mlir::ValueRange forEachKeyTile(mlir::ValueRange init,
                                  llvm::function_ref<llvm::SmallVector<mlir::Value>(
                                      mlir::OpBuilder &, const KeyTile &, mlir::ValueRange)>
                                      body);

  /// Stores a tile of O, or of LSE or row max (rank 1).
  void store(mlir::Value tile, mlir::Value dest);

  /// The tile of S or P, `matrix` [batch, head, query, key], at a key tile.
  mlir::Value loadMatrix(mlir::OpBuilder &builder, mlir::Value matrix, const KeyTile &keys);
  void storeMatrix(mlir::OpBuilder &builder, mlir::Value tile, mlir::Value matrix,
                   const KeyTile &keys);
  /// The tile [rows, 1] of a value per row, `column` [batch, head, query, 1].
  mlir::Value loadColumn(mlir::Value column);

private:
  mlir::Value loadKeyRows(mlir::OpBuilder &builder, mlir::Value source, const KeyTile &keys);
  mlir::Value loadRows(mlir::OpBuilder &builder, mlir::Value source, mlir::Value row,
                       mlir::Value head, mlir::Value rows, int64_t tileRows, int64_t rowDim = 1);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const AttentionMemory &memory;
  const GridPoint &point;
  int64_t br, bc;
  bool rowsAreHeads;
};

/// Turns a function with an attention op of the standard strategy into three kernels (Algorithm 0).
mlir::LogicalResult tileStandard(mlir::func::FuncOp func, AttentionOp op);

/// Maps the tensors of `source` (arguments, and results by position) to the arguments of `kernel`.
class MemoryMap {
public:
  MemoryMap(mlir::func::FuncOp source, mlir::func::FuncOp kernel);
  /// The memory of a function argument; null for a null value.
  mlir::Value lookup(mlir::Value tensor) const { return map.lookupOrNull(tensor); }
  mlir::Value output(unsigned index) const { return outputs[index]; }
  mlir::Value workspace() const { return workspaceMemory; }

private:
  mlir::IRMapping map;
  llvm::SmallVector<mlir::Value> outputs;
  mlir::Value workspaceMemory;
};

/// Memory of the inputs of `Op`, an attention op on whole tensors.
template <typename Op> AttentionMemory lookupInputs(const MemoryMap &map, Op op) {
  AttentionMemory memory;
  memory.q = map.lookup(op.getQ());
  memory.k = map.lookup(op.getK());
  memory.v = map.lookup(op.getV());
  if (op.getCuSeqlensQ()) {
    memory.cuSeqlensQ = map.lookup(op.getCuSeqlensQ());
    memory.cuSeqlensK = map.lookup(op.getCuSeqlensK());
  }
  if (op.getSequsedK())
    memory.sequsedK = map.lookup(op.getSequsedK());
  if (op.getPageTable())
    memory.pageTable = map.lookup(op.getPageTable());
  for (mlir::Value capture : op.getCaptures())
    memory.captures.push_back(map.lookup(capture));
  memory.workspace = map.workspace();
  return memory;
}

/// Clones `region`, whose captures are tensors, with captures in memory.
void cloneRegionOnMemory(mlir::Region &from, mlir::Region &to, mlir::ValueRange captures);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELBUILDER_H
