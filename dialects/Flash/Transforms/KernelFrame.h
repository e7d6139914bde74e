//===- KernelFrame.h - the frame of a kernel on memory ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// What all kernels of an attention op share: the signature on memory, the parallel loop over
// (sequence, head, query tile), and the lengths and offsets of the sequence at hand, dense or packed.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELFRAME_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELFRAME_H

#include "dialects/Flash/IR/Flash.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace flashc::flash {

/// Attributes of kernel functions and of their arguments.
constexpr llvm::StringLiteral kKernelAttrName = "flash.kernel";       // phase number, i64
constexpr llvm::StringLiteral kWorkspaceAttrName = "flash.workspace"; // unit, on functions
constexpr llvm::StringLiteral kArgNameAttrName = "flash.name";        // string, on arguments
constexpr llvm::StringLiteral kOutputAttrName = "flash.output";       // unit, on arguments
constexpr llvm::StringLiteral kScheduleAttrName = "flash.schedule";   // on kernels
/// On functions that compute a point of a kernel once more, with the exact strategy: the kernel's phase number, i64.
/// On calls of them: unit.
constexpr llvm::StringLiteral kRescueAttrName = "flash.rescue";
/// On divisions of which nothing is 2^31 or more where a grid has fewer points.
constexpr llvm::StringLiteral kSmallAttrName = "flash.small";

/// The inputs and outputs of an attention op as memory: memrefs with any strides, null where absent.
struct AttentionMemory {
  mlir::Value q, k, v, sinks, cuSeqlensQ, cuSeqlensK, sequsedK, pageTable, o, lse, rowMax;
  llvm::SmallVector<mlir::Value> captures;
  /// Bytes shared by all points of a run, memref<?xi8>.
  mlir::Value workspace;
};

/// One point of the parallel loop. All are index values. i and j of the sequence lie at rows
/// `qOffset + i` and `kOffset + j` of batch `memoryBatch` (0 when packed).
struct GridPoint {
  mlir::Value number; // among all points
  mlir::Value sequence, memoryBatch, head, kvHead;
  mlir::Value i0, rows;         // first query, and the number of queries or heads of the tile
  mlir::Value keyBegin, keyEnd; // the keys at hand: all, or those of a part
  mlir::Value parts, firstPart; // of the tile, where keys are split: their number, the first one's
  mlir::Value part;             // number among all tiles', and the number of the part at hand
  mlir::Value firstRow;         // of the tile, where a point has some of its rows
  mlir::Value qOffset, kOffset, sq, sk;
};

/// Memory with any strides and offset for a tensor type.
mlir::MemRefType getMemoryType(mlir::RankedTensorType type);

/// Creates kernel number `phase` with the signature of `source` on memory (results become trailing
/// arguments, a workspace comes last) and an open body; `values` maps the source's arguments and, by
/// position, its results to the kernel's arguments.
mlir::func::FuncOp createKernel(mlir::OpBuilder &builder, mlir::func::FuncOp source, int64_t phase,
                                ScheduleAttr schedule);

/// Creates the rescue of kernel number `phase`, with an open body: after the kernel's arguments it takes the number of
/// the point.
mlir::func::FuncOp createRescue(mlir::OpBuilder &builder, mlir::func::FuncOp source, int64_t phase,
                                ScheduleAttr schedule);

/// Creates the function that gives the size of the kernels' workspace in bytes, with an open body.
mlir::func::FuncOp createSizer(mlir::OpBuilder &builder, mlir::func::FuncOp source,
                               ScheduleAttr schedule);

/// What a grid point is: a tile of `rows` queries of a head, or of `rows` heads of a group for a query; all its
/// keys, or with `forEachPart` one part of `split` keys.
struct GridShape {
  int64_t rows;
  RowKind kind = RowKind::Queries;
  int64_t split = 0;
  bool forEachPart = false;
  /// Rows of a tile that a point has, where several points share one; 0: all.
  int64_t pointRows = 0;
  /// Parts that a sequence has at most, 0: any number; longer ones have longer parts, of a multiple of keyTile keys.
  int64_t mostParts = 0, keyTile = 1;
  /// Whether lengths lie in memory that the host cannot read when it counts grid points: the grid is then sized by
  /// shapes alone. Divisions of what a grid keeps small are noted as such (kSmallAttrName).
  bool isOnDevice = false;
  /// Heads whose tiles alternate, so that the longest tiles of all of them come first while they share a cache.
  int64_t headsTogether = 1;
};

/// Emits the parallel loop over all grid points and calls `body` inside it.
void emitGrid(mlir::OpBuilder &builder, mlir::Location loc, const AttentionMemory &memory,
              const GridShape &shape,
              llvm::function_ref<void(mlir::OpBuilder &, const GridPoint &)> body);

/// What such a loop computes for point `number`.
GridPoint emitGridPoint(mlir::OpBuilder &builder, mlir::Location loc, const AttentionMemory &memory,
                        const GridShape &shape, mlir::Value number);

/// The number of parts of all tiles together, an index. For the host, where it cannot read lengths, at least as many.
mlir::Value emitPartCount(mlir::OpBuilder &builder, mlir::Location loc,
                          const AttentionMemory &memory, const GridShape &shape,
                          bool isForHost = false);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_KERNELFRAME_H
