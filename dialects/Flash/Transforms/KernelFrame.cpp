//===- KernelFrame.cpp - the frame of a kernel on memory ------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/KernelFrame.h"
#include "dialects/Flash/Transforms/Index.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace flashc::flash;

MemRefType flashc::flash::getMemoryType(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

func::FuncOp flashc::flash::createKernel(OpBuilder &builder, func::FuncOp source, int64_t phase,
                                         ScheduleAttr schedule) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto addTensor = [&](Type type, DictionaryAttr attribute, bool isOutput) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? Type(getMemoryType(tensor)) : type);
    SmallVector<NamedAttribute> list;
    if (attribute)
      list.assign(attribute.begin(), attribute.end());
    if (isOutput)
      list.push_back(builder.getNamedAttr(kOutputAttrName, builder.getUnitAttr()));
    attributes.push_back(builder.getDictionaryAttr(list));
  };
  for (auto [index, type] : llvm::enumerate(source.getArgumentTypes()))
    addTensor(type, source.getArgAttrDict(index), false);
  for (auto [index, type] : llvm::enumerate(source.getResultTypes()))
    addTensor(type, source.getResultAttrDict(index), true);
  types.push_back(MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()));
  attributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(kArgNameAttrName, builder.getStringAttr("workspace"))));

  std::string name = (source.getName() + "_phase" + Twine(phase)).str();
  auto kernel =
      func::FuncOp::create(builder, source.getLoc(), name, builder.getFunctionType(types, {}));
  kernel->setAttr(kKernelAttrName, builder.getI64IntegerAttr(phase));
  kernel->setAttr(kScheduleAttrName, schedule);
  kernel.setAllArgAttrs(attributes);
  kernel.addEntryBlock();
  return kernel;
}

func::FuncOp flashc::flash::createRescue(OpBuilder &builder, func::FuncOp source, int64_t phase,
                                         ScheduleAttr schedule) {
  func::FuncOp rescue = createKernel(builder, source, phase, schedule);
  rescue.setName((rescue.getName() + "_exact").str());
  rescue->removeAttr(kKernelAttrName);
  rescue->setAttr(kRescueAttrName, builder.getI64IntegerAttr(phase));
  (void)rescue.insertArgument(rescue.getNumArguments(), builder.getIndexType(), {},
                              source.getLoc());
  return rescue;
}

func::FuncOp flashc::flash::createSizer(OpBuilder &builder, func::FuncOp source,
                                        ScheduleAttr schedule) {
  func::FuncOp sizer = createKernel(builder, source, 0, schedule);
  sizer.setName((source.getName() + "_workspace").str());
  sizer->removeAttr(kKernelAttrName);
  sizer->setAttr(kWorkspaceAttrName, builder.getUnitAttr());
  sizer.setType(builder.getFunctionType(sizer.getArgumentTypes(), builder.getIndexType()));
  return sizer;
}

namespace {

/// Grid points of packed sequences on a device: a few for each multiprocessor of the largest.
constexpr int64_t kMostBlocks = 4096;
/// Parts of a sequence, over all heads, that keep a device busy; and parts that are merged quickly.
constexpr int64_t kBusyParts = 128, kFewParts = 16;

Value emitDim(OpBuilder &b, Location loc, Value memory, int64_t dim) {
  return b.createOrFold<memref::DimOp>(loc, memory, dim);
}

/// A length or an offset read from an i32 or i64 array.
Value emitLength(OpBuilder &b, Location loc, Value array, Value at) {
  Value value = memref::LoadOp::create(b, loc, array, at);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}

/// Where a packed sequence begins, and how long it is.
std::pair<Value, Value> emitExtent(OpBuilder &b, Location loc, Value cuSeqlens, Value sequence) {
  Index x(b, loc);
  Value begin = emitLength(b, loc, cuSeqlens, sequence);
  Value end = emitLength(b, loc, cuSeqlens, x.add(sequence, 1));
  return {begin, x.sub(end, begin)};
}

/// Counts tiles and parts, sequence by sequence where they are packed.
class Grid {
public:
  Grid(OpBuilder &b, Location loc, const AttentionMemory &memory, const GridShape &shape)
      : loc(loc), memory(memory), shape(shape), zero(Index(b, loc).constant(0)),
        one(Index(b, loc).constant(1)), heads(emitDim(b, loc, memory.q, 2)),
        kvHeads(emitDim(b, loc, memory.k, 2)) {
    Index x(b, loc);
    group = x.div(heads, x.max(kvHeads, one)); // there may be no heads
    small(group, shape.isOnDevice);
    isPacked = bool(memory.cuSeqlensQ);
    sequences =
        isPacked ? x.sub(emitDim(b, loc, memory.cuSeqlensQ, 0), 1) : emitDim(b, loc, memory.q, 0);
    // Where all sequences are alike there is no need to walk over them.
    // On a device, parts beyond the keys in use are empty instead of absent.
    isUniform = !isPacked && (shape.isOnDevice || !(memory.sequsedK && shape.split));
    if (isUniform)
      uniform = emitCounts(b, zero);
  }

  /// Of a sequence: its lengths and where its rows begin, tiles, and parts of each tile.
  struct Counts {
    Value qOffset, kOffset, sq, sk;
    Value groups; // tiles of heads (rows = heads), else heads
    Value tiles;  // of all heads
    Value parts;  // of a tile
  };

  Counts emitCounts(OpBuilder &b, Value sequence) {
    Index x(b, loc);
    Counts n;
    n.qOffset = n.kOffset = zero;
    if (isPacked) {
      std::tie(n.qOffset, n.sq) = emitExtent(b, loc, memory.cuSeqlensQ, sequence);
      std::tie(n.kOffset, n.sk) = emitExtent(b, loc, memory.cuSeqlensK, sequence);
    } else {
      n.sq = emitDim(b, loc, memory.q, 1);
      n.sk = emitKeys(b);
    }
    if (memory.sequsedK && !isUniform)
      n.sk = emitLength(b, loc, memory.sequsedK, sequence);
    if (shape.kind == RowKind::Heads) {
      n.groups = x.mul(kvHeads, x.ceilDiv(group, shape.rows));
      n.tiles = x.mul(n.groups, n.sq);
    } else {
      n.groups = heads;
      n.tiles = x.mul(heads, x.ceilDiv(n.sq, shape.rows));
    }
    n.parts = shape.split ? x.max(x.ceilDiv(n.sk, shape.split), one) : one;
    if (shape.split && shape.mostParts)
      n.parts = x.min(n.parts, mostParts(b));
    return n;
  }

  /// At least as many points as there are, from the shapes alone. Every sequence may end in the middle of a tile.
  Value emitBound(OpBuilder &b) {
    Index x(b, loc);
    Value queries = emitDim(b, loc, memory.q, 1);
    Value tiles;
    if (shape.kind == RowKind::Heads)
      tiles = x.mul(x.mul(kvHeads, x.ceilDiv(group, shape.rows)), queries);
    else
      tiles = x.mul(heads, x.add(x.div(queries, shape.rows), sequences));
    if (!shape.forEachPart)
      return tiles;
    Value parts = x.add(x.div(emitKeys(b), shape.split), 1);
    return x.mul(tiles, shape.mostParts ? x.min(parts, mostParts(b)) : parts);
  }

  bool isExact() const { return isUniform || !shape.isOnDevice; }

  /// `tiles` tiles as points.
  Value inPoints(OpBuilder &b, Value tiles) { return Index(b, loc).mul(tiles, pointsPerTile(b)); }

  /// Tiles and parts of all sequences.
  std::pair<Value, Value> emitTotals(OpBuilder &b) {
    Index x(b, loc);
    if (isUniform) {
      Value tiles = x.mul(sequences, uniform.tiles);
      return {tiles, x.mul(tiles, uniform.parts)};
    }
    auto loop = scf::ForOp::create(b, loc, zero, sequences, one, ValueRange{zero, zero},
                                   [&](OpBuilder &nested, Location, Value s, ValueRange carried) {
                                     Index y(nested, loc);
                                     Counts n = emitCounts(nested, s);
                                     Value tiles = y.add(carried[0], n.tiles);
                                     Value parts = y.add(carried[1], y.mul(n.tiles, n.parts));
                                     scf::YieldOp::create(nested, loc, ValueRange{tiles, parts});
                                   });
    return {loop.getResult(0), loop.getResult(1)};
  }

  GridPoint emitPoint(OpBuilder &b, Value point) {
    Index x(b, loc);
    bool isSmall = isExact() && shape.isOnDevice;
    auto div = [&](Value a, Value c) { return small(x.div(a, c), isSmall); };
    auto rem = [&](Value a, Value c) { return small(x.rem(a, c), isSmall); };
    GridPoint p;
    p.number = point;
    Value number = div(point, pointsPerTile(b));
    p.firstRow = x.mul(rem(point, pointsPerTile(b)), shape.pointRows);
    Value local; // number among the sequence's tiles or parts
    Value partsBefore = zero;
    Value knownHead, knownTile;
    Counts n;
    if (isUniform && shape.headsTogether > 1 && shape.kind == RowKind::Queries &&
        !shape.forEachPart) {
      // Sections of heads, in which tiles of one number follow one another.
      n = uniform;
      Value perHead = x.ceilDiv(n.sq, shape.rows), all = x.mul(sequences, heads);
      Value section = div(number, x.mul(perHead, x.min(all, shape.headsTogether)));
      Value first = x.mul(section, shape.headsTogether);
      Value count = x.min(x.sub(all, first), shape.headsTogether);
      Value inSection = x.sub(number, x.mul(first, perHead));
      Value head = x.add(first, rem(inSection, count));
      p.sequence = div(head, heads);
      if (memory.sequsedK)
        n.sk = emitLength(b, loc, memory.sequsedK, p.sequence);
      Value tile = div(inSection, count);
      local = x.add(x.mul(rem(head, heads), perHead), tile);
      partsBefore = x.mul(x.mul(p.sequence, n.tiles), n.parts);
      knownHead = rem(head, heads);
      knownTile = tile;
    } else if (isUniform) {
      n = uniform;
      Value perSequence = shape.forEachPart ? x.mul(n.tiles, n.parts) : n.tiles;
      p.sequence = div(number, perSequence);
      if (memory.sequsedK) // counts do not depend on it
        n.sk = emitLength(b, loc, memory.sequsedK, p.sequence);
      local = rem(number, perSequence);
      partsBefore = x.mul(x.mul(p.sequence, n.tiles), n.parts);
    } else {
      // The sequence is the one whose range of points holds `number`; ranges lie one after another.
      auto loop = scf::ForOp::create(
          b, loc, zero, sequences, one, ValueRange{zero, zero, zero, zero, zero},
          [&](OpBuilder &nested, Location, Value s, ValueRange carried) {
            Index y(nested, loc);
            Counts counts = emitCounts(nested, s);
            Value parts = y.mul(counts.tiles, counts.parts);
            Value begin = carried[3], end = y.add(begin, shape.forEachPart ? parts : counts.tiles);
            Value here = y.both(y.le(begin, number), y.lt(number, end));
            scf::YieldOp::create(
                nested, loc,
                ValueRange{y.select(here, s, carried[0]), y.select(here, begin, carried[1]),
                           y.select(here, carried[4], carried[2]), end, y.add(carried[4], parts)});
          });
      p.sequence = loop.getResult(0);
      local = x.sub(number, loop.getResult(1));
      partsBefore = loop.getResult(2);
      n = emitCounts(b, p.sequence);
    }
    Value tile = local, split = zero;
    if (shape.forEachPart) {
      tile = div(local, n.parts);
      split = rem(local, n.parts);
      if (!shape.isOnDevice) {
        // Heads that lie side by side share pages, which a core knows few of.
        auto layout = memref::ExtractStridedMetadataOp::create(b, loc, memory.k);
        Value areTogether = x.lt(layout.getStrides()[2], layout.getStrides()[1]);
        tile = x.select(areTogether, x.rem(local, n.tiles), tile);
        split = x.select(areTogether, x.div(local, n.tiles), split);
      }
    }
    p.memoryBatch = isPacked ? zero : p.sequence;
    p.qOffset = n.qOffset;
    p.kOffset = n.kOffset;
    p.sq = n.sq;
    p.sk = n.sk;
    if (shape.kind == RowKind::Heads) {
      // Tiles of a query's heads lie side by side.
      Value perGroup = x.ceilDiv(group, shape.rows);
      p.i0 = div(tile, n.groups);
      Value which = rem(tile, n.groups);
      p.kvHead = div(which, perGroup);
      Value first = x.mul(rem(which, perGroup), shape.rows);
      p.head = x.add(x.mul(p.kvHead, group), first);
      p.rows = x.min(x.sub(group, first), shape.rows);
    } else {
      Value perHead = x.ceilDiv(n.sq, shape.rows);
      p.head = knownHead ? knownHead : div(tile, perHead);
      p.kvHead = div(p.head, group);
      // From the last tile to the first: under a causal mask the last ones are the longest.
      Value inHead = knownTile ? knownTile : rem(tile, perHead);
      Value fromLast = x.sub(x.sub(perHead, one), inHead);
      p.i0 = x.mul(fromLast, shape.rows);
      p.rows = x.min(x.sub(p.sq, p.i0), shape.rows);
    }
    if (shape.pointRows) {
      (shape.kind == RowKind::Heads ? p.head : p.i0) =
          x.add(shape.kind == RowKind::Heads ? p.head : p.i0, p.firstRow);
      p.rows = x.max(x.min(x.sub(p.rows, p.firstRow), shape.pointRows), zero);
    }
    p.keyBegin = zero;
    p.keyEnd = p.sk;
    if (shape.split) {
      p.parts = n.parts;
      p.firstPart = x.add(partsBefore, x.mul(tile, n.parts));
      p.part = x.add(p.firstPart, split);
    }
    if (shape.forEachPart) {
      // The size of parts depends on the sequence alone, not on what else is in its batch.
      Value size = x.constant(shape.split);
      p.keyBegin = x.mul(split, size);
      if (shape
              .mostParts) { // on a device, where a sequence may have fewer parts than its shape says
        Value longest = div(x.add(p.sk, x.sub(mostParts(b), 1)), mostParts(b));
        size = x.max(size, x.roundUp(longest, shape.keyTile));
        p.keyBegin = x.min(x.mul(split, size), p.sk);
      }
      p.keyEnd = x.min(x.add(p.keyBegin, size), p.sk);
    }
    return p;
  }

private:
  /// Notes of a quotient or remainder whether all of its operands are small: sizes are, where memory holds them, and
  /// so is what multiplies to the number of a grid's points.
  static Value small(Value value, bool isSmall) {
    Operation *op = value.getDefiningOp();
    if (isSmall && isa_and_nonnull<arith::DivUIOp, arith::RemUIOp>(op))
      op->setAttr(kSmallAttrName, UnitAttr::get(op->getContext()));
    return value;
  }

  /// Points that share a tile: so many that they have the rows that any tile can have.
  Value pointsPerTile(OpBuilder &b) {
    Index x(b, loc);
    if (!shape.pointRows)
      return one;
    if (shape.kind == RowKind::Queries)
      return x.constant(llvm::divideCeil(shape.rows, shape.pointRows));
    return x.max(x.ceilDiv(x.min(group, shape.rows), shape.pointRows), one);
  }

  /// Parts of a sequence at most: with all heads of keys they keep a device busy, and no more are to be merged.
  Value mostParts(OpBuilder &b) {
    Index x(b, loc);
    Value few = small(x.div(x.constant(kBusyParts), x.max(kvHeads, one)), shape.isOnDevice);
    return x.min(x.max(few, x.constant(kFewParts)), shape.mostParts);
  }

  /// The keys that a sequence has room for, or all keys where they are packed.
  Value emitKeys(OpBuilder &b) {
    Value rows = emitDim(b, loc, memory.k, 1);
    return memory.pageTable ? Index(b, loc).mul(emitDim(b, loc, memory.pageTable, 1), rows) : rows;
  }

  Location loc;
  const AttentionMemory &memory;
  const GridShape &shape;
  Value zero, one, heads, kvHeads, group, sequences;
  bool isPacked, isUniform;
  Counts uniform;
};

} // namespace

void flashc::flash::emitGrid(OpBuilder &b, Location loc, const AttentionMemory &memory,
                             const GridShape &shape,
                             llvm::function_ref<void(OpBuilder &, const GridPoint &)> body) {
  Grid grid(b, loc, memory, shape);
  auto emitForall = [&](Value points) {
    return scf::ForallOp::create(b, loc, ArrayRef<OpFoldResult>{points},
                                 /*outputs=*/ValueRange{}, /*mapping=*/std::nullopt);
  };
  auto emitBody = [&](OpBuilder &inner, Value number) {
    body(inner, grid.emitPoint(inner, number));
  };
  auto countPoints = [&](OpBuilder &builder) {
    auto [tiles, parts] = grid.emitTotals(builder);
    return grid.inPoints(builder, shape.forEachPart ? parts : tiles);
  };
  if (grid.isExact()) {
    auto forall = emitForall(countPoints(b));
    OpBuilder inner(forall.getBody(), forall.getBody()->begin());
    return emitBody(inner, forall.getInductionVar(0));
  }
  // The bound may be far from the true number: no more points than keep a device busy, each of which works for
  // as many others as it takes.
  Index x(b, loc);
  Value launched = x.min(grid.inPoints(b, grid.emitBound(b)), kMostBlocks);
  auto forall = emitForall(launched);
  OpBuilder inner(forall.getBody(), forall.getBody()->begin());
  scf::ForOp::create(inner, loc, forall.getInductionVar(0), countPoints(inner), launched,
                     ValueRange(), [&](OpBuilder &nested, Location, Value number, ValueRange) {
                       emitBody(nested, number);
                       scf::YieldOp::create(nested, loc);
                     });
}

GridPoint flashc::flash::emitGridPoint(OpBuilder &b, Location loc, const AttentionMemory &memory,
                                       const GridShape &shape, Value number) {
  return Grid(b, loc, memory, shape).emitPoint(b, number);
}

Value flashc::flash::emitPartCount(OpBuilder &b, Location loc, const AttentionMemory &memory,
                                   const GridShape &shape, bool isForHost) {
  Grid grid(b, loc, memory, shape);
  return isForHost && !grid.isExact() ? grid.emitBound(b) : grid.emitTotals(b).second;
}
