//===- ThreadBuilder.h - arithmetic and instructions of a thread -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Short names for what a thread of a GPU kernel computes: i32 addresses, index arithmetic, and the
// instructions of PTX by their LLVM intrinsics.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_THREADBUILDER_H
#define FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_THREADBUILDER_H

#include "compiler/Target/TargetInfo.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace flashc {

/// The alignment of a block's shared memory: permuted chunks are addressed by exclusive or within 128 bytes,
/// eight rows of them in 1024.
constexpr int64_t kSharedAlignment = 1024;
constexpr llvm::StringLiteral kSharedSymbol = "flashc_shared";

class ThreadBuilder {
public:
  ThreadBuilder(mlir::OpBuilder builder, mlir::Location loc);

  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Value rareThreadId;
  mlir::Type i1, i16, i32, i64, f32, index, global, shared;
  /// Whether loads stay where they are among what has side effects, as behind a wait for another launch; else they are
  /// expressions of addresses.
  bool hasOrderedLoads = false;

  //===--- i32 ---===//
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y); ///< unsigned
  mlir::Value rem(mlir::Value x, int64_t y); ///< unsigned
  mlir::Value bitAnd(mlir::Value x, int64_t y);
  mlir::Value bitOr(mlir::Value x, mlir::Value y);
  mlir::Value bitXor(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y); ///< signed
  mlir::Value toI32(mlir::Value index);
  mlir::Value toIndex(mlir::Value i32);
  mlir::Value zext(mlir::Value i1);

  //===--- index ---===//
  mlir::Value indexConstant(int64_t value);
  mlir::Value indexAdd(mlir::Value x, mlir::Value y);
  mlir::Value indexAdd(mlir::Value x, int64_t y);
  mlir::Value indexMul(mlir::Value x, mlir::Value y);
  mlir::Value indexLess(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y);

  //===--- f32 ---===//
  mlir::Value f32Constant(float value);
  /// A step of a reduction.
  mlir::Value reduce(tile::ReduceKind kind, mlir::Value x, mlir::Value y);

  //===--- Addresses ---===//
  /// `pointer` (global) plus `offset` elements of `type`.
  mlir::Value gep(mlir::Value pointer, mlir::Value offset, mlir::Type type);
  /// The shared pointer at an i32 address plus a constant.
  mlir::Value sharedPointer(mlir::Value address, int64_t offset = 0);

  //===--- Instructions ---===//
  mlir::Value call(llvm::StringRef intrinsic, mlir::Type type, mlir::ValueRange arguments);
  void callVoid(llvm::StringRef intrinsic, mlir::ValueRange arguments);
  llvm::SmallVector<mlir::Value> unpack(mlir::Value structure, unsigned count);
  mlir::Value threadId();
  /// Within its life, threadId() is a value of its own, so that nothing computed from it is kept from before.
  class RareScope {
  public:
    explicit RareScope(ThreadBuilder &t) : t(t), outer(t.rareThreadId) {
      t.rareThreadId = t.threadIdHere();
    }
    ~RareScope() { t.rareThreadId = outer; }

  private:
    ThreadBuilder &t;
    mlir::Value outer;
  };
  /// The same, of which nothing that depends on it is computed earlier.
  mlir::Value threadIdHere();
  mlir::Value blockId();
  void barrier();
  /// In the body of a loop: keeps ptxas from unrolling it.
  void keepRolled();
  mlir::Value barrierAnd(mlir::Value condition);
  void syncWarp();
  /// `value` (f32 or i32) of the lane whose number differs in the bits of `mask`.
  mlir::Value shuffleXor(mlir::Value value, int32_t mask);
  /// `value` (i32) of lane `lane` (i32).
  mlir::Value shuffle(mlir::Value value, mlir::Value lane);
  /// Loads a scalar from global memory where `condition` holds, else 0. Never touches memory otherwise.
  mlir::Value loadIf(mlir::Value condition, mlir::Value pointer, mlir::Type type);
  void storeIf(mlir::Value condition, mlir::Value pointer, mlir::Value value);
  /// Begins to copy 16 bytes to shared memory, or zeros where `ignored` is given and holds.
  void copyChunk(mlir::Value dest, mlir::Value source, mlir::Value ignored);
  /// Four words from and to 16 bytes of global memory, under a condition; zeros otherwise.
  llvm::SmallVector<mlir::Value> loadChunkIf(mlir::Value condition, mlir::Value pointer);
  void storeChunkIf(mlir::Value condition, mlir::Value pointer, mlir::ValueRange words);
};

} // namespace flashc

#endif // FLASHC_COMPILER_CONVERSION_NVTILETOLLVM_THREADBUILDER_H
