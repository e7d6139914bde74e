//===- FlashOps.cpp - verifiers of the flash ops --------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The labels, (A1) and so on, are those of the op descriptions in FlashOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/IR/Flash.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace flashc::flash;

#define GET_OP_CLASSES
#include "dialects/Flash/IR/FlashOps.cpp.inc"

namespace {

using Shape = SmallVector<int64_t>;

bool compatible(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

bool compatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return compatible(std::get<0>(pair), std::get<1>(pair));
         });
}

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

std::string text(ArrayRef<int64_t> shape) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '[';
  llvm::interleaveComma(shape, os, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      os << '?';
    else
      os << size;
  });
  os << ']';
  return result;
}

LogicalResult expectShape(Operation *op, StringRef label, StringRef what, Value value,
                          ArrayRef<int64_t> expected) {
  if (compatible(tensorOf(value).getShape(), expected))
    return success();
  return op->emitOpError() << label << " expected " << what << " of shape " << text(expected)
                           << ", got " << text(tensorOf(value).getShape());
}

LogicalResult verifyHeadDims(Operation *op, int64_t d, int64_t dk, int64_t dv) {
  for (auto [name, size] : {std::pair("q", d), std::pair("k", dk), std::pair("v", dv)})
    if (ShapedType::isDynamic(size) || size < 1 || size > kMaxHeadDim)
      return op->emitOpError() << "(A2) expected a static head dim of " << name << " in 1.."
                               << kMaxHeadDim << ", got " << text({size});
  if (d != dk)
    return op->emitOpError() << "(A2) expected equal head dims of q and k, got " << d << " and "
                             << dk;
  return success();
}

/// Checks q, k and v of the whole-tensor form and returns the shape of the state's m.
FailureOr<Shape> verifyInputs(Operation *op, Value q, Value k, Value v, bool packed, bool paged) {
  RankedTensorType qt = tensorOf(q), kt = tensorOf(k), vt = tensorOf(v);
  for (auto [name, type] : {std::pair("q", qt), std::pair("k", kt), std::pair("v", vt)}) {
    if (type.getRank() != 4)
      return op->emitOpError() << "(A1) expected " << name
                               << " of rank 4 [batch, seq, heads, dim], got rank "
                               << type.getRank();
    if (type.getElementType() != qt.getElementType())
      return op->emitOpError() << "(A1) expected q, k and v of one element type, got "
                               << qt.getElementType() << " and " << type.getElementType();
  }
  if (failed(verifyHeadDims(op, qt.getDimSize(3), kt.getDimSize(3), vt.getDimSize(3))))
    return failure();
  bool sameBatch = paged || compatible(qt.getDimSize(0), kt.getDimSize(0)); // pages are no batches
  if (!sameBatch || !compatible(kt.getShape().take_front(3), vt.getShape().take_front(3)))
    return op->emitOpError() << "(A3) expected agreeing batch, key and kv head sizes, got q "
                             << text(qt.getShape()) << ", k " << text(kt.getShape()) << ", v "
                             << text(vt.getShape());
  int64_t hq = qt.getDimSize(2), hkv = kt.getDimSize(2);
  if (!ShapedType::isDynamic(hq) && !ShapedType::isDynamic(hkv) && (hkv == 0 || hq % hkv != 0))
    return op->emitOpError()
           << "(A4) expected query heads that are a multiple of the kv heads, got " << hq << " and "
           << hkv;
  if (packed && !compatible(qt.getDimSize(0), 1))
    return op->emitOpError() << "(A7) expected a batch size of 1 for packed sequences, got "
                             << qt.getDimSize(0);
  return Shape{qt.getDimSize(0), hq, qt.getDimSize(1)};
}

LogicalResult verifyPacked(Operation *op, Value cuQ, Value cuK) {
  if (!cuQ == !cuK)
    return success();
  return op->emitOpError() << "(A7) expected cu_seqlens_q and cu_seqlens_k together, got one";
}

LogicalResult verifyPageTable(Operation *op, StringRef label, Value table, Value q, Value used,
                              Value cuQ) {
  if (!table)
    return success();
  if (!used || cuQ)
    return op->emitOpError() << label
                             << " expected page_table with seqused_k and without cu_seqlens_q, got "
                             << (cuQ ? "cu_seqlens_q" : "no seqused_k");
  return expectShape(op, label, "page_table", table,
                     {tensorOf(q).getDimSize(0), ShapedType::kDynamic});
}

LogicalResult verifyState(Operation *op, StringRef label, Value m, Value l, Value acc) {
  Shape expected(tensorOf(m).getShape());
  if (failed(expectShape(op, label, "l", l, expected)))
    return failure();
  expected.push_back(ShapedType::kDynamic);
  return expectShape(op, label, "acc", acc, expected);
}

/// The lowerings recurse over the operands of a region's values.
constexpr int64_t kMaxRegionOps = 4096;

bool isInClosedList(Operation &op) {
  if (isa<ReadOp, YieldOp, math::ExpOp, math::Exp2Op, math::LogOp, math::TanhOp, math::AbsFOp,
          math::AbsIOp, math::FloorOp, math::SqrtOp>(op))
    return true;
  // Ops of arith that are undefined for some inputs have no total form here, or more than one result.
  return isa_and_nonnull<arith::ArithDialect>(op.getDialect()) && op.getNumResults() == 1 &&
         !isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp, arith::FPToUIOp>(op);
}

bool isRegionType(Type type) {
  return type.isIndex() || type.isF32() || type.isSignlessInteger(1) || type.isSignlessInteger(64);
}

LogicalResult verifyRegion(Operation *op, Region &region, StringRef name, bool isScore,
                           ValueRange captures) {
  if (region.empty())
    return success();
  Builder builder(op->getContext());
  SmallVector<Type> expected(isScore ? kScoreArguments : kMaskArguments, builder.getIndexType());
  if (isScore)
    expected[0] = builder.getF32Type();
  llvm::append_range(expected, captures.getTypes());
  if (!region.hasOneBlock() || region.getArgumentTypes() != TypeRange(expected))
    return op->emitOpError() << "(A9) expected a " << name
                             << " region of one block with arguments (" << expected << "), got ("
                             << region.getArgumentTypes() << ")";
  if (int64_t count = region.front().getOperations().size(); count > kMaxRegionOps)
    return op->emitOpError() << "(A11) expected a " << name << " region of at most "
                             << kMaxRegionOps << " ops, got " << count;
  for (Operation &inner : region.front())
    if (!isInClosedList(inner))
      return inner.emitOpError() << "(A10) expected an op of the closed list in a " << name
                                 << " region (arith, math exp exp2 log tanh absf absi floor sqrt, "
                                    "flash.read, flash.yield), got "
                                 << inner.getName();
  for (Operation &inner : region.front())
    for (Type type : llvm::concat<const Type>(inner.getOperandTypes(), inner.getResultTypes()))
      if (!isRegionType(type) && !isa<ReadOp>(inner))
        return inner.emitOpError() << "(A10) expected values of index, i64, f32 and i1 in a "
                                   << name << " region, got " << type;
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  Type want = isScore ? Type(builder.getF32Type()) : Type(builder.getI1Type());
  if (!yield || yield.getValue().getType() != want)
    return op->emitOpError() << "(A9) expected the " << name << " region to yield " << want;
  return success();
}

template <typename Op> LogicalResult verifyRegions(Op op) {
  return failure(failed(verifyRegion(op, op.getScore(), "score", true, op.getCaptures())) ||
                 failed(verifyRegion(op, op.getMask(), "mask", false, op.getCaptures())));
}

Block *addBlock(Region &region, bool isScore, ValueRange captures, Location loc) {
  Builder builder(region.getContext());
  Block *block = new Block;
  region.push_back(block);
  if (isScore)
    block->addArgument(builder.getF32Type(), loc);
  for (unsigned i = 0; i < kMaskArguments; ++i)
    block->addArgument(builder.getIndexType(), loc);
  for (Value capture : captures)
    block->addArgument(capture.getType(), loc);
  return block;
}

} // namespace

Block *flashc::flash::addScoreBlock(Region &region, ValueRange captures, Location loc) {
  return addBlock(region, true, captures, loc);
}

Block *flashc::flash::addMaskBlock(Region &region, ValueRange captures, Location loc) {
  return addBlock(region, false, captures, loc);
}

LogicalResult AttentionOp::verify() {
  FailureOr<Shape> state =
      verifyInputs(*this, getQ(), getK(), getV(), bool(getCuSeqlensQ()), bool(getPageTable()));
  if (failed(state) || failed(verifyPacked(*this, getCuSeqlensQ(), getCuSeqlensK())) ||
      failed(
          verifyPageTable(*this, "(A12)", getPageTable(), getQ(), getSequsedK(), getCuSeqlensQ())))
    return failure();
  RankedTensorType qt = tensorOf(getQ());
  Shape output(qt.getShape());
  output[3] = tensorOf(getV()).getDimSize(3);
  if (failed(expectShape(*this, "(A5)", "o", getO(), output)))
    return failure();
  if (tensorOf(getO()).getElementType() != qt.getElementType())
    return emitOpError() << "(A5) expected o in the element type of q, " << qt.getElementType()
                         << ", got " << tensorOf(getO()).getElementType();
  for (auto [name, value] : {std::pair("lse", getLse()), std::pair("row_max", getRowMax())})
    if (value && failed(expectShape(*this, "(A6)", name, value, *state)))
      return failure();
  if (getSinks())
    return expectShape(*this, "(A8)", "sinks", getSinks(), {(*state)[1]});
  return success();
}

LogicalResult AttentionOp::verifyRegions() { return ::verifyRegions(*this); }

LogicalResult OnlineAttentionOp::verify() {
  RankedTensorType qt = tensorOf(getQ()), kt = tensorOf(getK()), vt = tensorOf(getV());
  if (getBase() != 0 && getBase() != 2)
    return emitOpError() << "(O6) expected base 0 or 2, got " << getBase();
  if (getFixed() && (!isTile() || getInit().empty()))
    return emitOpError() << "(O7) expected a fixed reference on the tile form, with init";
  if (!getInit().empty() && getInit().getTypes() != (*this)->getResultTypes())
    return emitOpError() << "(O3) expected init (m, l, acc) in the types of the results, got "
                         << getInit().size() << " values";
  Shape row;
  if (isTile()) {
    if (getPageTable())
      return emitOpError() << "(O8) expected page_table on whole tensors only";
    if (getAt().size() != 6)
      return emitOpError() << "(O1) expected at(b, h, i0, j0, sq, sk), got " << getAt().size()
                           << " values";
    if (qt.getRank() != 2 || kt.getRank() != 2 || vt.getRank() != 2)
      return emitOpError() << "(O1) expected q, k and v of rank 2 with at, got ranks "
                           << qt.getRank() << ", " << kt.getRank() << ", " << vt.getRank();
    if (failed(verifyHeadDims(*this, qt.getDimSize(1), kt.getDimSize(1), vt.getDimSize(1))) ||
        failed(expectShape(*this, "(O2)", "v", getV(), {kt.getDimSize(0), vt.getDimSize(1)})))
      return failure();
    if (!qt.hasStaticShape() || !kt.hasStaticShape())
      return emitOpError() << "(O1) expected tiles of static shape, got " << qt << " and " << kt;
    int64_t bands = getBands();
    if (bands < 1 || kt.getDimSize(0) % bands != 0)
      return emitOpError() << "(O9) expected bands that divide the " << kt.getDimSize(0)
                           << " keys of a tile, got " << bands;
    row = {bands * qt.getDimSize(0)};
  } else {
    if (getBands() != 1)
      return emitOpError() << "(O9) expected bands on the tile form only, got " << getBands();
    if (getBoundary() || getHeads())
      return emitOpError() << "(O5) expected boundary and heads on the tile form only";
    FailureOr<Shape> state =
        verifyInputs(*this, getQ(), getK(), getV(), bool(getCuSeqlensQ()), bool(getPageTable()));
    if (failed(state) || failed(verifyPacked(*this, getCuSeqlensQ(), getCuSeqlensK())) ||
        failed(
            verifyPageTable(*this, "(O8)", getPageTable(), getQ(), getSequsedK(), getCuSeqlensQ())))
      return failure();
    row = *state;
  }
  if (failed(expectShape(*this, "(O2)", "m", getM(), row)) ||
      failed(expectShape(*this, "(O2)", "l", getL(), row)) ||
      (getRowMax() && failed(expectShape(*this, "(O2)", "row_max", getRowMax(), row))))
    return failure();
  row.push_back(vt.getShape().back());
  return expectShape(*this, "(O2)", "acc", getAcc(), row);
}

LogicalResult OnlineAttentionOp::verifyRegions() { return ::verifyRegions(*this); }

LogicalResult ScoresOp::verify() {
  if (getAt().size() != 6)
    return emitOpError() << "(S2) expected at(b, h, i0, j0, sq, sk), got " << getAt().size()
                         << " values";
  RankedTensorType q = tensorOf(getQ()), k = tensorOf(getK());
  if (q.getRank() != 2 || k.getRank() != 2 || q.getDimSize(1) != k.getDimSize(1) ||
      q.getElementType() != k.getElementType())
    return emitOpError() << "(S1) expected q [Br, D] and k [Bc, D] of one element type, got " << q
                         << " and " << k;
  if (!q.hasStaticShape() || !k.hasStaticShape())
    return emitOpError() << "(S1) expected tiles of static shape, got " << q << " and " << k;
  Shape tile = {q.getDimSize(0), k.getDimSize(0)};
  if (failed(expectShape(*this, "(S1)", "s", getS(), tile)))
    return failure();
  return expectShape(*this, "(S1)", "keep", getKeep(), tile);
}

LogicalResult ScoresOp::verifyRegions() { return ::verifyRegions(*this); }

LogicalResult MergeOp::verify() { return verifyState(*this, "(M2)", getM(), getL(), getAcc()); }

LogicalResult SinkStateOp::verify() {
  bool scalar = getSinks().getType().isF32() || getSinks().getType() == getM().getType();
  int64_t rank = tensorOf(getM()).getRank();
  if (rank != (scalar ? 1 : 3))
    return emitOpError() << "(K1) expected m of rank " << (scalar ? 1 : 3) << " for sinks of type "
                         << getSinks().getType() << ", got rank " << rank;
  return verifyState(*this, "(K2)", getM(), getL(), getAcc());
}

LogicalResult FinalizeOp::verify() {
  if (failed(verifyState(*this, "(F1)", getM(), getL(), getAcc())))
    return failure();
  if (getLse().getType() != getM().getType())
    return emitOpError() << "(F2) expected lse in the type of m, " << getM().getType() << ", got "
                         << getLse().getType();
  ArrayRef<int64_t> acc = tensorOf(getAcc()).getShape();
  if (acc.size() == 2)
    return expectShape(*this, "(F2)", "o", getO(), acc);
  if (acc.size() != 4)
    return emitOpError() << "(F2) expected a state of rank 1 or 3, got rank " << acc.size() - 1;
  return expectShape(*this, "(F2)", "o", getO(), {acc[0], acc[2], acc[1], acc[3]});
}

LogicalResult ReadOp::verify() {
  auto type = cast<ShapedType>(getArray().getType());
  if (!type.hasRank() || type.getRank() != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "(R1) expected as many indices as dimensions of " << type << ", got "
                         << getIndices().size();
  bool isFloat = isa<FloatType>(type.getElementType());
  if (getResult().getType().isF32() != isFloat)
    return emitOpError() << "(R2) expected a result of " << (isFloat ? "f32" : "i64") << " from "
                         << type.getElementType() << ", got " << getResult().getType();
  return success();
}
