//===- Context.h - the state of a kernel's lowering to vectors --*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Tiles live in buffers of a scratch memory that is private to the thread; what is elementwise is never
// stored but evaluated where it is used, vector by vector. Floats narrower than f32 are kept as f32 with
// their rounding applied.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_TILETOVECTOR_CONTEXT_H
#define FLASHC_COMPILER_CONVERSION_TILETOVECTOR_CONTEXT_H

#include "compiler/Conversion/TileToVector/Demand.h"
#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace flashc {

using flash::Index;

struct Context;

/// What the elements of a buffer are: f32, or pairs of bf16 along the sum of a dot, in an i32. The left
/// operand of a dot holds pairs as [rows][pairs], the right one as [pairs][columns]. Bits hold a tile of i1 as
/// [rows][vectors], an integer of a bit per lane.
enum class Format { F32, LeftPairs, RightPairs, Bits };

/// Where a tile lives, in memory padded to whole vectors in both directions.
struct Buffer {
  mlir::Value memory; // memref<rows x columns x f32>, or memref<rows x f32> for a tile of rank 1
  mlir::Value halves; // of pairs: the same memory, twice as wide, as i16
  Format format = Format::F32;
  int64_t rows = 0;          // of the tile
  int64_t columns = 0;       // padded; of the tile where transposed
  bool isTransposed = false; // memory is [columns][rows]
  bool isInPlace = false;    // memory is the array's own where it can be, of its element type
  int64_t nextRows = 0; // where in place: so many rows further lies what is read next; 0: not known
  mlir::Value
      origin; // the row of the tile that lies at memory's first, where it holds but some rows
  bool isBlock = false; // memory is one block of rows (as many as lanes) that all blocks reuse

  /// The row of the memory that holds the tile's row `row`.
  mlir::Value rowIn(Context &c, mlir::Value row) const;
};

/// The rows [begin, end) of all tiles with so many rows, but for those that are needed as a whole.
struct ActiveRows {
  mlir::Value begin, end; // begin is a multiple of the micro-tile's rows
  int64_t rows = 0;
};

/// The tiles of a loop's body that are read where they lie and behind which their next ones lie, and how many of the dots
/// with them are lowered. Loads stand before the dots, which share the requests for the next tiles.
struct NextTiles {
  llvm::SmallVector<Buffer, 2> tiles;
  int64_t dots = 0;
};

/// The instructions that multiply bf16 tiles: none (they are widened), vdpbf16ps, or AMX.
enum class BF16Dots { None, Vector, AMX };

/// Dots of up to so many rows wait for memory: what they read once is not packed first.
constexpr int64_t kFewRows = 16;
/// So many parts of such a tile are read side by side. Each is in another page: a page's first lines take several
/// times as long as the others, and no one stream keeps the memory busy meanwhile.
constexpr int64_t kStreams = 4;

struct Context {
  Context(mlir::OpBuilder builder, mlir::Location loc, int64_t lanes, int64_t vectorRegisters,
          BF16Dots bf16Dots, int64_t microRows, int64_t microColumns)
      : b(builder), loc(loc), lanes(lanes), vectorRegisters(vectorRegisters), bf16Dots(bf16Dots),
        microRows(microRows), microColumns(microColumns) {}

  mlir::OpBuilder b;
  mlir::Location loc;
  int64_t lanes, vectorRegisters;
  BF16Dots bf16Dots;
  int64_t microRows, microColumns;
  mlir::Value scratch;                    // memref<?xi8>
  mlir::Operation *scratchUser = nullptr; // buffers are declared before it
  int64_t scratchBytes = 0;
  mlir::IRMapping scalars; // values that are no tiles
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> allFinite; // of loaded tiles: an i1
  NextTiles nextTiles;                                // of the loop body at hand
  const RowDemand *demand = nullptr;
  std::optional<ActiveRows> active; // of the loop body at hand; the other rows stay as they are
  int64_t activeCount = 0;          // the most of them that there are; 0: as many as the tile has

  int64_t padded(int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
  mlir::VectorType vectorOf(mlir::Type element) const {
    return mlir::VectorType::get({lanes}, element);
  }
  /// A new buffer for a tile of type `type`, at the start of a cache line.
  Buffer allocate(mlir::Type type, bool isTransposed = false, bool isBlock = false);
  /// A new buffer of pairs for an operand of a dot.
  Buffer allocatePairs(mlir::Type type, Format format, bool isTransposed);
  /// A new buffer of a format that rows have, F32 or LeftPairs, for the active rows of a tile of rank 2.
  Buffer allocateActive(mlir::Value tile, Format format);
  /// Whether the active rows are what is computed of `tile`.
  bool isActive(mlir::Value tile) const {
    return active &&
           active->rows == llvm::cast<mlir::RankedTensorType>(tile.getType()).getDimSize(0) &&
           demand->lookup(tile);
  }
  /// A new memory of rows of columns, without padding, for elements that are not widened.
  mlir::Value allocateRows(mlir::RankedTensorType type);
  /// A new buffer for a tile of i1.
  Buffer allocateBits(mlir::Type type);
  /// Whether a dot of few rows is computed as b * a^T in tile registers, for which the rows of b may stay where
  /// they lie; a is transposed instead, once for all tiles of keys.
  bool isProductTransposed(tile::DotOp dot) const;
  /// Whether a dot of few rows reads b where it lies, in tile registers whose pairs are neighbours of a row: one
  /// product gives the even columns, another one the odd ones.
  bool isProductByParity(tile::DotOp dot) const;
  /// The format of `tile`: pairs where it is an operand of bf16 dots and nothing else.
  Format formatOf(mlir::Value tile) const;
  /// The number of rows to compute of `tile`, an index value at the builder's insertion point.
  mlir::Value rowsOf(mlir::Value tile);
  /// The first row to compute of `tile`; rowsOf is the end.
  mlir::Value firstRowOf(mlir::Value tile);
  mlir::Value f32(double value);
  mlir::Value zeroVector();

private:
  mlir::Value declare(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t offset);
};

inline mlir::RankedTensorType tileType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline int64_t tileRows(mlir::Value value) { return tileType(value).getDimSize(0); }
inline int64_t tileColumns(mlir::Value value) {
  return tileType(value).getRank() == 2 ? tileType(value).getDimSize(1) : 1;
}
inline bool isMatrix(mlir::Value value) { return tileType(value).getRank() == 2; }

/// What a walk makes of a tile that an expression is computed from: it goes on to the operands, ends there, or ends
/// altogether.
enum class Walk { Inner, Leaf, Refused };

/// Calls `classify` with `tile` and the tiles that it is computed from, each once, operands in order after what is
/// computed from them; false where one is refused. Expressions may be long, and use a value more than once.
bool allSources(mlir::Value tile, llvm::function_ref<Walk(mlir::Value)> classify);

/// Whether `op` yields tiles that can be evaluated element by element from its operands.
bool isElementwise(mlir::Operation *op);

/// The type that holds a tile element of type `element` in registers.
mlir::Type carrierOf(mlir::Type element);

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_TILETOVECTOR_CONTEXT_H
