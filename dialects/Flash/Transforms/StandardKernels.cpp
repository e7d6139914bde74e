//===- StandardKernels.cpp - attention with S and P in memory -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The strategy `standard`: the paper's Algorithm 0, three kernels with S and P materialised in the
// workspace. It is the baseline that FlashAttention is measured against.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Index.h"
#include "dialects/Flash/Transforms/KernelBuilder.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "dialects/Flash/Transforms/TileMath.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// The workspace's matrices [batch, Hq, Sq, Sk], S in f32 and P in the input type, and its row max
/// [batch, Hq, Sq] in f32, dense.
class Workspace {
public:
  Workspace(OpBuilder &b, Location loc, const AttentionMemory &memory) : b(b), loc(loc) {
    for (auto [value, dim] : {std::pair(memory.q, 0), std::pair(memory.q, 2),
                              std::pair(memory.q, 1), std::pair(memory.k, 1)}) {
      sizes.push_back(memref::DimOp::create(b, loc, value, dim));
      rows = elements;
      elements = elements ? Index(b, loc).mul(elements, sizes.back()) : sizes.back();
    }
  }

  Value scores(Value memory) {
    return view(memory, Index(b, loc).constant(0), b.getF32Type(), sizes);
  }
  Value probabilities(Value memory, Type type) { return view(memory, scoreBytes(), type, sizes); }
  /// With a last dimension of size 1 where `rank` is 4.
  Value rowMax(Value memory, Type type, unsigned rank) {
    SmallVector<Value> extents(sizes);
    extents.back() = Index(b, loc).constant(1);
    extents.resize(rank);
    return view(memory, matrixBytes(type), b.getF32Type(), extents);
  }
  Value bytes(Type type) {
    Index x(b, loc);
    return x.add(matrixBytes(type), x.mul(rows, 4));
  }

private:
  Value scoreBytes() {
    Index x(b, loc);
    return x.roundUp(x.mul(elements, 4), 64);
  }
  Value matrixBytes(Type type) {
    Index x(b, loc);
    return x.add(scoreBytes(), x.roundUp(x.mul(elements, type.getIntOrFloatBitWidth() / 8), 64));
  }
  Value view(Value memory, Value offset, Type element, ValueRange extents) {
    SmallVector<int64_t> dynamic(extents.size(), ShapedType::kDynamic);
    return memref::ViewOp::create(b, loc, MemRefType::get(dynamic, element), memory, offset,
                                  extents);
  }

  OpBuilder &b;
  Location loc;
  SmallVector<Value> sizes;
  Value rows, elements;
};

class StandardKernels {
public:
  StandardKernels(func::FuncOp func, AttentionOp op)
      : func(func), op(op), loc(op.getLoc()), tile(op.getSchedule()->getTile()), base(0),
        element(cast<RankedTensorType>(op.getQ().getType()).getElementType()) {
    auto results = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperands();
    for (auto [index, result] : llvm::enumerate(results))
      resultIndex.insert({result, index});
  }

  void emit() {
    // Phase 0: S = score(Q K^T), dropped pairs as -inf.
    emitPhase(0, [&](OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
                     Workspace &workspace) {
      Value matrix = workspace.scores(memory.workspace);
      Value q = kernel.loadQueries();
      kernel.forEachKeyTile({}, [&](OpBuilder &n, const KeyTile &keys, ValueRange) {
        ScoresOp scores = emitScores(n, kernel, memory, q, keys);
        kernel.storeMatrix(n, scores.getS(), matrix, keys);
        return SmallVector<Value>();
      });
    });
    // Phase 1: P = softmax(S) by rows, with LSE and row max.
    emitPhase(1, [&](OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
                     Workspace &workspace) { emitSoftmax(b, kernel, memory, workspace); });
    // Phase 2: O = P V.
    emitPhase(2, [&](OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
                     Workspace &workspace) {
      Value matrix = workspace.probabilities(memory.workspace, element);
      TileMath math(b, loc, base);
      int64_t valueDim = cast<RankedTensorType>(op.getV().getType()).getDimSize(3);
      Type accType = tileOf({tile[0], valueDim}, b.getF32Type());
      Value q = kernel.loadQueries();
      ValueRange acc = kernel.forEachKeyTile(
          math.constant(accType, 0.0), [&](OpBuilder &n, const KeyTile &keys, ValueRange carried) {
            // Only `keep` is used here, so the product of q and k is dead.
            ScoresOp scores = emitScores(n, kernel, memory, q, keys);
            Value p = kernel.loadMatrix(n, matrix, keys);
            Value v = kernel.loadValues(n, keys);
            Value next = tile::DotOp::create(n, loc, accType, p, v, carried[0], scores.getKeep(),
                                             /*transpose_b=*/false);
            return SmallVector<Value>{next};
          });
      // A row whose kept scores are all -inf is empty, whatever the values hold: 0 times NaN is NaN.
      Value m =
          tile::ReduceOp::create(b, loc, tileOf({tile[0]}, b.getF32Type()), tile::ReduceKind::Max,
                                 kernel.loadColumn(workspace.rowMax(memory.workspace, element, 4)));
      Value isEmpty = math.isNegativeInfinity(m);
      Value o = arith::SelectOp::create(b, loc, math.broadcast(isEmpty, acc[0]),
                                        math.constant(accType, 0.0), acc[0]);
      kernel.store(math.round(o, element), memory.o);
    });
    emitWorkspaceSize();
  }

private:
  using Body =
      llvm::function_ref<void(OpBuilder &, KernelBuilder &, const AttentionMemory &, Workspace &)>;

  void emitPhase(int64_t phase, Body body) {
    OpBuilder b(func);
    func::FuncOp kernel = createKernel(b, func, phase, *op.getSchedule());
    b.setInsertionPointToStart(&kernel.getBody().front());
    AttentionMemory memory = lookupAll(kernel);
    Workspace workspace(b, loc, memory);
    emitGrid(b, loc, memory, {tile[0]}, [&](OpBuilder &inner, const GridPoint &point) {
      KernelBuilder builder(inner, loc, memory, point, *op.getSchedule());
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(inner.getInsertionBlock()->getParentOp());
      body(inner, builder, memory, workspace);
    });
    func::ReturnOp::create(b, loc);
  }

  AttentionMemory lookupAll(func::FuncOp kernel) {
    MemoryMap map(func, kernel);
    AttentionMemory memory = lookupInputs(map, op);
    if (op.getSinks())
      memory.sinks = map.lookup(op.getSinks());
    auto output = [&](Value result) {
      auto found = resultIndex.find(result);
      return result && found != resultIndex.end() ? map.output(found->second) : Value();
    };
    memory.o = output(op.getO());
    memory.lse = output(op.getLse());
    memory.rowMax = output(op.getRowMax());
    return memory;
  }

  ScoresOp emitScores(OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory, Value q,
                      const KeyTile &keys) {
    Value k = kernel.loadKeys(b, keys);
    auto scores =
        ScoresOp::create(b, loc, tileOf(tile, b.getF32Type()), tileOf(tile, b.getI1Type()), q, k,
                         kernel.at(keys), memory.captures, op.getScaleAttr(), b.getUnitAttr());
    cloneRegionOnMemory(op.getScore(), scores.getScore(), memory.captures);
    cloneRegionOnMemory(op.getMask(), scores.getMask(), memory.captures);
    return scores;
  }

  void emitSoftmax(OpBuilder &b, KernelBuilder &kernel, const AttentionMemory &memory,
                   Workspace &workspace) {
    Value scores = workspace.scores(memory.workspace);
    Value probabilities = workspace.probabilities(memory.workspace, element);
    TileMath math(b, loc, base);
    Type rows = tileOf({tile[0]}, b.getF32Type());
    // Columns past the sequence are no scores.
    auto loadScores = [&](OpBuilder &n, const KeyTile &keys) -> Value {
      Value s = kernel.loadMatrix(n, scores, keys);
      Value column = tile::CoordsOp::create(n, loc, tileOf(tile, n.getIndexType()),
                                            Index(n, loc).constant(0), 1);
      TileMath local(n, loc, base);
      Value inside = arith::CmpIOp::create(n, loc, arith::CmpIPredicate::slt, column,
                                           local.splat(keys.columns, tile));
      return arith::SelectOp::create(n, loc, inside, s, local.negativeInfinity(s.getType()));
    };
    Value m = kernel.forEachKeyTile(
        math.negativeInfinity(rows), [&](OpBuilder &n, const KeyTile &keys, ValueRange carried) {
          Value here =
              tile::ReduceOp::create(n, loc, rows, tile::ReduceKind::Max, loadScores(n, keys));
          return SmallVector<Value>{arith::MaximumFOp::create(n, loc, carried[0], here)};
        })[0];
    kernel.store(m, workspace.rowMax(memory.workspace, element, 3));
    if (memory.rowMax)
      kernel.store(m, memory.rowMax);
    Value sink = memory.sinks ? math.splat(kernel.loadSink(), {tile[0]}) : Value();
    if (sink)
      m = arith::MaximumFOp::create(b, loc, m, sink);
    Value reference = math.safeReference(m);
    auto exponential = [&](OpBuilder &n, const KeyTile &keys) -> Value {
      Value s = loadScores(n, keys);
      TileMath local(n, loc, base);
      return local.exp(arith::SubFOp::create(n, loc, s, local.broadcast(reference, s)));
    };
    Value first = sink ? math.rescale(sink, reference) : math.constant(rows, 0.0);
    Value l =
        kernel.forEachKeyTile(first, [&](OpBuilder &n, const KeyTile &keys, ValueRange carried) {
          Value here =
              tile::ReduceOp::create(n, loc, rows, tile::ReduceKind::Sum, exponential(n, keys));
          return SmallVector<Value>{arith::AddFOp::create(n, loc, carried[0], here)};
        })[0];
    Value divisor =
        arith::SelectOp::create(b, loc, math.isNegativeInfinity(m), math.constant(rows, 1.0), l);
    kernel.forEachKeyTile({}, [&](OpBuilder &n, const KeyTile &keys, ValueRange) {
      Value e = exponential(n, keys);
      TileMath local(n, loc, base);
      Value p = arith::DivFOp::create(n, loc, e, local.broadcast(divisor, e));
      kernel.storeMatrix(n, local.round(p, element), probabilities, keys);
      return SmallVector<Value>();
    });
    if (memory.lse)
      kernel.store(arith::AddFOp::create(b, loc, m, math::LogOp::create(b, loc, divisor)),
                   memory.lse);
  }

  /// A function that gives the workspace's size in bytes.
  void emitWorkspaceSize() {
    OpBuilder b(func);
    func::FuncOp sizer = createSizer(b, func, *op.getSchedule());
    b.setInsertionPointToStart(&sizer.getBody().front());
    Workspace workspace(b, loc, lookupAll(sizer));
    func::ReturnOp::create(b, loc, workspace.bytes(element));
  }

  func::FuncOp func;
  AttentionOp op;
  Location loc;
  ArrayRef<int64_t> tile;
  int32_t base;
  Type element;
  DenseMap<Value, unsigned> resultIndex;
};

} // namespace

LogicalResult flashc::flash::tileStandard(func::FuncOp func, AttentionOp op) {
  if (!op.getSchedule())
    return op.emitOpError() << "expected a schedule; run flash-set-schedule first";
  if (op.getPageTable())
    return op.emitOpError() << "expected the online strategy with page_table, got standard";
  // A matrix per sequence has a size that lengths say, which lie where the host cannot read them.
  if (op.getCuSeqlensQ() && isFor(op, TargetKind::GPU))
    return op.emitOpError() << "expected the online strategy for packed sequences on GPUs, got "
                               "standard; leave the strategy out";
  StandardKernels(func, op).emit();
  return success();
}
