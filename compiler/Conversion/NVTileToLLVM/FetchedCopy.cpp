//===- FetchedCopy.cpp - copies to shared memory through registers --------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Without cp.async a copy is begun by loads to registers and completed by stores: at the end of a turn, so that
// the loads are on their way while the turn's products are computed. A copy in a branch leaves it as values.
// What is no whole chunks goes to shared memory at once, which nobody reads yet.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/Distributor.h"
#include "compiler/Target/SharedLayout.h"

using namespace mlir;
using namespace flashc;

static constexpr int64_t kWordBytes = 4, kChunkWords = kChunkBytes / kWordBytes;

static nvtile::SharedType destOf(nvtile::CopyOp op) {
  return cast<nvtile::SharedType>(op.getDest().getType());
}

void Distributor::fetch(nvtile::CopyOp op, const ThreadMemory &memory, Value origin,
                        const std::optional<Pages> &pages) {
  // A chunk is moved whole, so rows must consist of whole ones.
  if (destOf(op).getColumns() * memory.elementType.getIntOrFloatBitWidth() % (kChunkBytes * 8))
    return copyElements(op, memory, origin, pages);
  SmallVector<Type> types(chunksOf(destOf(op)).count() * kChunkWords, t.i32);
  Value chunked = isChunked(memory, op.getDims()[1]);
  auto branch = scf::IfOp::create(b, t.loc, types, chunked, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, t.loc, loadChunks(chunkSource(op, memory, origin, pages)));
    b.setInsertionPointToStart(branch.elseBlock());
    copyElements(op, memory, origin, pages);
    scf::YieldOp::create(b, t.loc, SmallVector<Value>(types.size(), t.constant(0)));
  }
  fetched.push_back({op.getDest(), op.getStage(), chunked, branch.getResults()});
}

SmallVector<Value> Distributor::loadChunks(const ChunkSource &source) {
  SmallVector<Value> words;
  const ChunkGrid &grid = source.grid;
  for (int64_t n = 0; n < grid.count(); ++n) {
    auto [row, chunk] = chunkPlace(grid, n);
    Value isInside = arith::ConstantIntOp::create(b, t.loc, t.i1, 1);
    if (!source.isTall)
      isInside = t.less(row, source.validRows);
    if (!grid.isFull(n))
      isInside = t.both(isInside, hasChunk(grid, n));
    Value address = source.pages ? pagedChunkAddress(source, row, chunk, isInside)
                                 : chunkAddress(source, n, row, chunk);
    if (source.isWide) {
      llvm::append_range(words, t.loadChunkIf(isInside, address));
      continue;
    }
    Value left = bytesInside(source, chunk, isInside);
    isInside = t.less(t.constant(0), left);
    SmallVector<Value> loaded = t.loadChunkIf(isInside, address);
    // What lies behind the last valid column of a chunk may be anything.
    if (!source.isWhole)
      for (auto [k, word] : llvm::enumerate(loaded)) {
        auto reaches = [&](int64_t bytes) {
          return t.less(t.constant(kWordBytes * k + bytes - 1), left);
        };
        Value half = t.select(reaches(kWordBytes / 2), t.bitAnd(word, 0xffff), t.constant(0));
        word = t.select(reaches(kWordBytes), word, half);
      }
    llvm::append_range(words, loaded);
  }
  return words;
}

void Distributor::storeFetched() {
  for (const FetchedCopy &copy : std::exchange(fetched, {}))
    storeFetched(copy);
}

void Distributor::storeFetched(const FetchedCopy &copy) {
  ChunkGrid grid = chunksOf(cast<nvtile::SharedType>(copy.dest.getType()));
  auto branch = scf::IfOp::create(b, t.loc, copy.isThere, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard outer(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (int64_t n = 0; n < grid.count(); ++n) {
    auto [row, chunk] = chunkPlace(grid, n);
    OpBuilder::InsertionGuard guard(b);
    if (!grid.isFull(n)) {
      auto isMine = scf::IfOp::create(b, t.loc, hasChunk(grid, n), /*withElseRegion=*/false);
      b.setInsertionPointToStart(isMine.thenBlock());
    }
    Value vector = LLVM::PoisonOp::create(b, t.loc, VectorType::get(kChunkWords, t.i32));
    for (int64_t k = 0; k < kChunkWords; ++k)
      vector = LLVM::InsertElementOp::create(b, t.loc, vector, copy.words[n * kChunkWords + k],
                                             t.constant(k));
    Value address = sharedAddress(copy.dest, scalar(copy.stage), row, chunk);
    LLVM::StoreOp::create(b, t.loc, vector, t.sharedPointer(address), /*alignment=*/kChunkBytes);
  }
}

SmallVector<nvtile::CopyOp> Distributor::escapingCopies(scf::IfOp branch) {
  SmallVector<nvtile::CopyOp> escaping;
  if (target.hasAsyncCopy)
    return escaping;
  auto add = [&](SmallVectorImpl<nvtile::CopyOp> &copies, nvtile::CopyOp copy) {
    bool isKnown = llvm::any_of(copies, [&](nvtile::CopyOp other) {
      return other.getDest() == copy.getDest() && other.getStage() == copy.getStage();
    });
    // What is known inside of the branch alone is stored there.
    if (!isKnown && !branch->isAncestor(copy.getStage().getParentBlock()->getParentOp()))
      copies.push_back(copy);
  };
  for (Region &region : branch->getRegions()) {
    SmallVector<nvtile::CopyOp> copies;
    for (Operation &op : region.getOps()) {
      if (auto copy = dyn_cast<nvtile::CopyOp>(op))
        add(copies, copy);
      else if (auto inner = dyn_cast<scf::IfOp>(op))
        for (nvtile::CopyOp copy : escapingCopies(inner))
          add(copies, copy);
      else if (isa<nvtile::WaitOp, nvtile::BarrierOp, scf::ForOp>(op))
        copies.clear(); // stored by then
    }
    for (nvtile::CopyOp copy : copies)
      add(escaping, copy);
  }
  return escaping;
}

SmallVector<Type> Distributor::fetchedTypes(ArrayRef<nvtile::CopyOp> escaping) {
  SmallVector<Type> types;
  for (nvtile::CopyOp copy : escaping) {
    types.push_back(t.i1);
    types.append(chunksOf(destOf(copy)).count() * kChunkWords, t.i32);
  }
  return types;
}

SmallVector<Value> Distributor::yieldFetched(ArrayRef<nvtile::CopyOp> escaping) {
  SmallVector<Value> values;
  for (nvtile::CopyOp copy : escaping) {
    auto it = llvm::find_if(fetched, [&](const FetchedCopy &other) {
      return other.dest == copy.getDest() && other.stage == copy.getStage();
    });
    if (it == fetched.end()) {
      values.push_back(arith::ConstantIntOp::create(b, t.loc, t.i1, 0));
      values.append(chunksOf(destOf(copy)).count() * kChunkWords, t.constant(0));
      continue;
    }
    values.push_back(it->isThere);
    llvm::append_range(values, it->words);
    fetched.erase(it);
  }
  storeFetched(); // what does not leave the block
  return values;
}

void Distributor::takeFetched(ArrayRef<nvtile::CopyOp> escaping, ValueRange values) {
  for (nvtile::CopyOp copy : escaping) {
    size_t count = chunksOf(destOf(copy)).count() * kChunkWords;
    fetched.push_back(
        {copy.getDest(), copy.getStage(), values.front(), llvm::to_vector(values.slice(1, count))});
    values = values.drop_front(1 + count);
  }
}
