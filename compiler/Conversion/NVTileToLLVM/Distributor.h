//===- Distributor.h - what one thread does of a kernel ---------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A register tile becomes the scalars that a thread holds of it. They are computed when something needs them:
// what products read in slices is computed slice by slice, so that a warp's exponentials of one slice can
// overlap its products of another.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_DISTRIBUTOR_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_DISTRIBUTOR_H

#include "compiler/Conversion/NVTileToLLVM/AffineForm.h"
#include "compiler/Conversion/NVTileToLLVM/LaunchFacts.h"
#include "compiler/Conversion/NVTileToLLVM/ThreadBuilder.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace flashc {

/// The part of a register tile that one thread holds, by its encoding. Of fragments: `rowBlocks` blocks of 16 rows
/// with two of the thread's rows each (of 8 rows with one, where a warp has an odd number of 8 rows) and, at rank 2,
/// `columnBlocks` blocks of 8 columns with two of its columns each; element ((m, n), i) is row 16 m + 8 (i / 2), column
/// 8 n + i mod 2, from the thread's first row and column. Of lines:
/// all rows of the warp and, at rank 2, `laneColumns` columns; element (m, n) is row m, column 32 n.
struct ThreadTile {
  explicit ThreadTile(mlir::RankedTensorType type);

  bool isMatrix, isLines;
  int64_t rowBlocks, columnBlocks;
  /// Rows of a block that are the thread's.
  int64_t blockRows = 2;
  /// Rows of a warp, and columns of one, rounded up to 16; of tiles of at most 8 columns to 8.
  int64_t warpRows, warpColumns;
  int64_t rowWarps, columnWarps;
  /// Columns of a lane where rows are lines, and the lanes that share a row.
  int64_t laneColumns = 0, rowLanes = 4;

  unsigned size() const {
    if (isLines)
      return warpRows * (isMatrix ? laneColumns : 1);
    return rows() * (isMatrix ? columnBlocks * 2 : 1);
  }
  unsigned element(int64_t m, int64_t n, int64_t i) const {
    return (m * columnBlocks + n) * 2 * blockRows + i;
  }
  /// Of fragments: the thread's rows, and its first element of row r in block n of columns.
  int64_t rows() const { return rowBlocks * blockRows; }
  unsigned elementOfRow(int64_t r, int64_t n) const {
    return element(r / blockRows, n, r % blockRows * 2);
  }
  /// The number of the row, among the thread's, that an element lies in.
  unsigned rowOf(unsigned e) const {
    if (isLines)
      return isMatrix ? e / laneColumns : e;
    unsigned ofBlock = 2 * blockRows;
    return isMatrix ? e / ofBlock / columnBlocks * blockRows + e % ofBlock / 2 : e;
  }
  int64_t rowOffset(unsigned e) const { return isLines ? rowOf(e) : rowOf(e) * 8; }
  int64_t columnOffset(unsigned e) const {
    return isLines ? e % laneColumns * kWarpSize : e / (2 * blockRows) % columnBlocks * 8 + e % 2;
  }
};

/// Whether a thread holds elements of `value` rather than a scalar.
inline bool isRegisterTile(mlir::Value value) {
  return llvm::isa<mlir::RankedTensorType>(value.getType());
}

/// The 16-byte chunks of a tile in shared memory over a block's threads: one for each in every round.
struct ChunkGrid {
  int64_t threads = 0, perRow = 1, total = 0;
  mlir::Value thread, row0, chunk0; ///< i32, the latter of the thread's first chunk

  /// Whether a thread's chunks lie in one column.
  bool isRegular() const { return threads % perRow == 0; }
  int64_t rowStep(int64_t n) const { return n * (threads / perRow); }
  int64_t count() const { return (total + threads - 1) / threads; }
  /// Whether all threads have an n-th chunk.
  bool isFull(int64_t n) const { return (n + 1) * threads <= total; }
};

/// Memory of a kernel argument, or a view of one.
struct ThreadMemory {
  mlir::Value pointer;                           ///< !llvm.ptr<1>
  llvm::SmallVector<mlir::Value> sizes, strides; ///< index; strides in elements
  mlir::Type elementType;
};

/// The size that elements have in memory: a bool takes a byte.
inline int64_t bytesOf(mlir::Type type) {
  return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1);
}

/// Lowers the body of a kernel for one thread.
class Distributor {
public:
  /// `result` has the facts as parameters after those of the kernel's arguments.
  Distributor(mlir::func::FuncOp kernel, mlir::func::FuncOp result, const TargetInfo &target,
              flash::ScheduleAttr schedule, const LaunchFacts &facts);

  mlir::LogicalResult run();

private:
  //===--- Ops and values (Distributor.cpp) ---===//

  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lower(mlir::Operation &op);
  /// Lowers a quotient or remainder of indices; false where `op` is something else, or divides by a constant.
  bool divide(mlir::Operation *op);
  /// `x` / d as i32, by the i64 reciprocal of d.
  mlir::Value divideByReciprocal(mlir::Value x, mlir::Value reciprocal);
  /// The parameter that has a fact; i64.
  mlir::Value factAt(unsigned number) {
    return result.getArgument(result.getNumArguments() - facts.size() + number);
  }
  void lowerCall(mlir::func::CallOp call);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  /// The scalars of scalars and tiles, one after another; what they become; and their types.
  llvm::SmallVector<mlir::Value> flatten(mlir::ValueRange values);
  void spread(mlir::ValueRange values, mlir::ValueRange flat);
  llvm::SmallVector<mlir::Type> flatTypes(mlir::TypeRange types);

  /// What is used inside `op` and defined before it is computed here, where it is visible to both.
  void computeCaptures(mlir::Operation &op);
  void computeAll(mlir::Value tile);
  /// Whether all elements of a mask that the thread holds are true.
  mlir::Value computeConjunction(mlir::Value tile);
  /// Products read shared memory before the threads meet next, after which it may be written.
  void computeProductsBefore(mlir::Operation *op);

  /// Element `e` of a register tile.
  mlir::Value get(mlir::Value tile, unsigned e);
  mlir::Value compute(mlir::Value tile, unsigned e);
  /// The first operand that is to be computed before element `e` of `tile`; null where all are, or where that is for
  /// compute to say.
  mlir::Value unknownOperand(mlir::Value tile, unsigned e);
  mlir::Value computeElementwise(mlir::Operation *op, unsigned e);
  mlir::Value computeCoordinate(tile::CoordsOp op, unsigned e);
  /// Comparisons of positions, all of which must hold, as one of i32 with a constant; null where `keep` is something
  /// else.
  mlir::Value comparePositions(mlir::Value keep, unsigned e);
  /// Holds where first + rows * row + columns * column is negative, counted from the thread's first element.
  struct PositionBound {
    mlir::Value first; ///< i32
    int64_t rows, columns;
  };
  PositionBound boundOf(mlir::Value comparison, const AffineForm &form);
  /// The bounds that together are `keep`, of the same columns; none where it is something else.
  std::optional<llvm::SmallVector<PositionBound>> positionBounds(mlir::Value keep);
  /// Whether any element of a mask may hold in the warp; null where that is not known.
  mlir::Value mayKeep(mlir::Value keep);
  /// What a turn of a loop carries on; a warp that can keep nothing passes its values on.
  llvm::SmallVector<mlir::Value> computeTurn(mlir::scf::ForOp op, mlir::ValueRange carried);
  mlir::Value computeReduction(tile::ReduceOp op, unsigned row);
  /// Whether the thread is the first of those that share its rows.
  mlir::Value isFirstInRow(const ThreadTile &tile);
  /// The sum of the parts that the four lanes of a row hold.
  mlir::Value sumOverLanes(mlir::Value part);
  /// Either a tile's element or a scalar.
  mlir::Value operandAt(mlir::Value operand, unsigned e);

  void define(mlir::Value tile, unsigned e, mlir::Value value) { memo.back()[{tile, e}] = value; }
  void defineAll(mlir::Value tile, mlir::ValueRange values);
  mlir::Value lookup(mlir::Value tile, unsigned e) const;
  /// The scalar that a value without a tile has become.
  mlir::Value scalar(mlir::Value value) { return scalars.lookup(value); }

  /// The thread's first row of a tile, and its first column; index. With bands of rows, the row is that in its band, and
  /// columns go on from band to band (tile.coords).
  mlir::Value firstRow(const ThreadTile &tile, int64_t bands = 1);
  mlir::Value firstColumn(const ThreadTile &tile, int64_t bands = 1);
  /// The band that the thread's rows lie in; i32.
  mlir::Value bandOf(const ThreadTile &tile, int64_t bands);

  /// Reduces bands of rows through shared memory (Fold.cpp).
  void lowerFold(nvtile::FoldOp op);

  //===--- Memory (Memory.cpp) ---===//

  /// Rows that lie in pages: the table's entries of a sequence, its first row, and the pages' rows and strides.
  struct Pages {
    mlir::Value entries, entryStride;
    mlir::Type entryType;
    mlir::Value firstRow, rows, stride, rowStride;
  };

  ThreadMemory memoryOf(mlir::Value memref);
  std::optional<Pages> pagesOf(mlir::Value table, mlir::Value tableRow, mlir::Value firstRow,
                               const ThreadMemory &memory, llvm::ArrayRef<int64_t> dims);
  /// Where row `row` of the tile lies from the first page's first row on, in elements. The table is read where
  /// `isValid` only.
  mlir::Value pagedOffset(const Pages &pages, mlir::Value row, mlir::Value isValid);
  /// The address of the element at `indices`; the index in dimension `moving` changes the most.
  mlir::Value addressOf(const ThreadMemory &memory, mlir::ValueRange indices, int64_t moving = -1);
  mlir::Value computeLoad(tile::LoadOp op, unsigned e);
  mlir::Value computeGather(tile::GatherOp op, unsigned e);
  /// The indices of a load's or store's element (row, column).
  llvm::SmallVector<mlir::Value> elementIndices(llvm::ArrayRef<mlir::Value> offsets,
                                                llvm::ArrayRef<int64_t> dims, mlir::Value row,
                                                mlir::Value column);
  void lowerView(mlir::memref::ViewOp op);
  void lowerCopy(nvtile::CopyOp op);
  void copyChunks(nvtile::CopyOp op, const ThreadMemory &memory, mlir::Value origin,
                  const std::optional<Pages> &pages);
  /// Where the thread's chunks of a copy come from, and which of their bytes are there.
  struct ChunkSource {
    const ThreadMemory &memory;
    mlir::Value origin; ///< of regular grids without pages: of the thread's first chunk
    const std::optional<Pages> &pages;
    ChunkGrid grid;
    mlir::Value rowStride, validRows, validBytes;
    int64_t wholeChunks = 0;
    /// All rows are there; a chunk is there as a whole or not at all; all of them are.
    bool isTall = false, isWhole = false, isWide = false;
  };
  ChunkGrid chunksOf(nvtile::SharedType type);
  /// Row and chunk of the thread's n-th chunk; and whether it has one.
  std::pair<mlir::Value, mlir::Value> chunkPlace(const ChunkGrid &grid, int64_t n);
  mlir::Value hasChunk(const ChunkGrid &grid, int64_t n);
  ChunkSource chunkSource(nvtile::CopyOp op, const ThreadMemory &memory, mlir::Value origin,
                          const std::optional<Pages> &pages);
  mlir::Value chunkOffset(const ChunkSource &source, mlir::Value row, mlir::Value chunk);
  /// The address of the n-th chunk, null where pages are looked up; and that.
  mlir::Value chunkAddress(const ChunkSource &source, int64_t n, mlir::Value row,
                           mlir::Value chunk);
  mlir::Value pagedChunkAddress(const ChunkSource &source, mlir::Value row, mlir::Value chunk,
                                mlir::Value isInside);
  /// How many bytes of a chunk are there.
  mlir::Value bytesInside(const ChunkSource &source, mlir::Value chunk, mlir::Value isInside);
  void copyElements(nvtile::CopyOp op, const ThreadMemory &memory, mlir::Value origin,
                    const std::optional<Pages> &pages);
  /// Whether rows can be moved in 16-byte chunks: alignment, and neighbouring elements side by side.
  mlir::Value isChunked(const ThreadMemory &memory, int64_t columnDim);
  /// (row, column valid) of an element against the valid sizes of a load or store; i1.
  mlir::Value isValid(const ThreadTile &tile, mlir::ValueRange valid, unsigned e);

  //===--- Stores (Store.cpp) ---===//

  void lowerStore(tile::StoreOp op);
  void storeElements(tile::StoreOp op);
  /// Elements of 16 bits, two in a word, row after row of the thread's: to memory in whole chunks, or in any order.
  void storeChunks(tile::StoreOp op, llvm::ArrayRef<mlir::Value> words);
  void storeHalves(tile::StoreOp op, mlir::ValueRange words);
  /// Where a store's element goes.
  mlir::Value storeAddress(tile::StoreOp op, mlir::Value row, mlir::Value column);

  //===--- Copies through registers (FetchedCopy.cpp) ---===//

  /// A tile on its way to shared memory: its chunks in registers, where `isThere` holds.
  struct FetchedCopy {
    mlir::Value dest, stage; ///< of the copy op
    mlir::Value isThere;
    llvm::SmallVector<mlir::Value> words;
  };
  /// Begins a copy without cp.async: loads are issued, and what they give is stored by storeFetched.
  void fetch(nvtile::CopyOp op, const ThreadMemory &memory, mlir::Value origin,
             const std::optional<Pages> &pages);
  llvm::SmallVector<mlir::Value> loadChunks(const ChunkSource &source);
  /// Stores what is on its way, before threads meet or a loop begins or a turn ends.
  void storeFetched();
  void storeFetched(const FetchedCopy &copy);
  /// Copies that are on their way at the end of a block of a branch, and can be stored after it; one for each
  /// place that they go to.
  llvm::SmallVector<nvtile::CopyOp> escapingCopies(mlir::scf::IfOp branch);
  /// What a block yields of the copies that escape from it or the other; their types; and taking them up again.
  llvm::SmallVector<mlir::Value> yieldFetched(llvm::ArrayRef<nvtile::CopyOp> escaping);
  void takeFetched(llvm::ArrayRef<nvtile::CopyOp> escaping, mlir::ValueRange values);
  llvm::SmallVector<mlir::Type> fetchedTypes(llvm::ArrayRef<nvtile::CopyOp> escaping);
  llvm::SmallVector<FetchedCopy> fetched;

  //===--- Products (Product.cpp, KeptProduct.cpp, FMAProduct.cpp) ---===//

  void computeProduct(nvtile::DotOp op, unsigned e);
  /// Computes the products that columns [from, to) of a register tile come from, and nothing else.
  void touchProducts(mlir::Value tile, int64_t from, int64_t to);
  /// Products of a left operand that does not come from scores, some columns at a time.
  void computeColumns(nvtile::DotOp op, int64_t chunk);
  /// Products of scores, slice by slice of the keys, each as soon as its scores are there.
  void computeSlices(nvtile::DotOp op);
  /// The same where keep drops terms: whatever b holds there adds nothing.
  void computeKept(nvtile::DotOp op);
  using Fragments = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  /// acc += the terms that keep keeps, one after another, whatever b holds; `p` has the left operand's fragments.
  llvm::SmallVector<mlir::Value> multiplyTerms(nvtile::DotOp op, mlir::ValueRange acc,
                                               const Fragments &p);
  /// Term k of each of the thread's rows of the left operand, in f32.
  llvm::SmallVector<mlir::Value> leftTerm(nvtile::DotOp op, const Fragments &p, mlir::Value k);
  /// acc += a b for slice `slice`; `a` has a fragment per row block.
  void multiplySlice(nvtile::DotOp op, llvm::MutableArrayRef<mlir::Value> acc, const Fragments &a,
                     int64_t slice, int64_t fromColumn, int64_t toColumn);
  /// Accumulates one block of 16 x 8 x 16.
  void multiply(llvm::MutableArrayRef<mlir::Value> acc, mlir::ValueRange a, mlir::Value b0,
                mlir::Value b1, mlir::Type element);
  llvm::SmallVector<mlir::Value> initial(nvtile::DotOp op);
  bool usesTensorCores(mlir::Type element) const;
  /// Terms of each sum in slices of an mma.sync operand, rounded up.
  static int64_t sliceCount(nvtile::DotOp op);

  /// The four words of a left operand's block of 16 x 16.
  llvm::SmallVector<mlir::Value> leftFragment(nvtile::DotOp op, int64_t m, int64_t slice);
  /// The four words of blocks 2 n and 2 n + 1 of a right operand.
  llvm::SmallVector<mlir::Value> rightFragment(nvtile::DotOp op, int64_t n, int64_t slice);
  /// Two neighbouring elements of 16 bits in a word.
  mlir::Value packPair(mlir::Value tile, unsigned low, unsigned high);
  void lowerRead(nvtile::ReadOp op);
  mlir::Value lowerAllFinite(nvtile::AllFiniteOp op);

  void computeFMAProduct(nvtile::DotOp op);
  /// Writes the left operand to the warp's part of shared memory; returns the address of the thread's first row.
  mlir::Value spillLeft(nvtile::DotOp op);
  /// What keep drops or keeps of each of the thread's rows: a bit per term, of which a word has 32.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> keepBits(mlir::Value keep);
  /// Whether terms k and on, `count` of them in one word of a row's, are kept.
  llvm::SmallVector<mlir::Value> keptTerms(llvm::ArrayRef<mlir::Value> words, mlir::Value k,
                                           int64_t count);
  llvm::SmallVector<mlir::Value> loadSharedFloats(mlir::Value address, int64_t count,
                                                  mlir::Type element);
  /// Elements (row, column) and on of a shared buffer, in f32; the column is a multiple of the count.
  llvm::SmallVector<mlir::Value> loadTerms(mlir::Value buffer, mlir::Value stage, mlir::Value row,
                                           mlir::Value column, int64_t count);
  /// The row of b that the first term of the thread's band is multiplied with; i32.
  mlir::Value firstTerm(nvtile::DotOp op);
  /// Term k of columns `column`, which is even, and `column` + 1 of a right operand.
  llvm::SmallVector<mlir::Value> rightPair(nvtile::DotOp op, mlir::Value stage, mlir::Value k,
                                           mlir::Value column);

  //===--- Shared memory (Shared.cpp) ---===//

  mlir::Value sharedSymbol();
  /// The i32 address of a stage.
  mlir::Value stageAddress(mlir::Value buffer, mlir::Value stage);
  /// The i32 address of the 16-byte chunk `chunk` of `row`.
  mlir::Value sharedAddress(mlir::Value buffer, mlir::Value stage, mlir::Value row,
                            mlir::Value chunk);
  /// Four words by ldmatrix: each lane gives the row and chunk of its address, to which constants are added;
  /// `chunkOffset` is even. Eight lanes with successive rows lie in different banks.
  llvm::SmallVector<mlir::Value> loadMatrix(mlir::Value buffer, mlir::Value stage,
                                            mlir::Value laneRow, mlir::Value laneChunk,
                                            int64_t rowOffset, int64_t chunkOffset,
                                            bool isTransposed, bool isChunkSmall);

  mlir::func::FuncOp kernel, result;
  const TargetInfo &target;
  flash::ScheduleAttr schedule;
  const LaunchFacts &facts;
  int64_t chunkColumns;
  ThreadBuilder t;
  mlir::OpBuilder &b;
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, ThreadMemory> memories;
  llvm::DenseMap<mlir::Value, int64_t> bufferOffsets;
  int64_t sharedBytes = 0;
  /// Offset of the block's buffer for left operands of products on FMA units; -1: none yet.
  int64_t leftOffset = -1;
  int64_t leftPitch = 0;
  /// Sums whose lanes keep a part each, until the loop around them ends.
  llvm::DenseSet<mlir::Operation *> partial;
  llvm::SmallVector<llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value>> memo;
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_DISTRIBUTOR_H
