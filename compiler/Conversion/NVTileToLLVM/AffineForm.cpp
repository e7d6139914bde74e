//===- AffineForm.cpp - integer tiles that grow evenly --------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/AffineForm.h"
#include "dialects/NVTile/IR/NVTile.h"
#include "dialects/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashc;

/// Constants up to here leave room for the sums of positions, whose sizes are below 2^40.
static constexpr int64_t kMostConstant = int64_t(1) << 40;
/// Sums in an expression of positions: more than grids and bounds of keys have, so that data would stand out.
static constexpr int64_t kMostDoublings = 64;

/// Steps of an expression of positions that are looked at, those of a value as often as it is used.
static constexpr int64_t kMostSteps = 256;

namespace {

/// Whether a scalar is a position, a length, or computed from such, rather than data.
class PositionCheck {
public:
  bool check(Value value) {
    if (!seen.insert(value).second)
      return true;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.getSignificantBits() <= 40;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop && argument == loop.getInductionVar();
    }
    return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
        .Case<memref::DimOp, nvtile::BlockIdOp>([](auto) { return true; })
        .Case([](memref::LoadOp load) { // a length or an offset
          return cast<MemRefType>(load.getMemRef().getType()).getElementType().isInteger(32);
        })
        .Case<arith::AddIOp, arith::SubIOp>([&](Operation *op) {
          return ++doublings <= kMostDoublings && checkAll(op->getOperands());
        })
        .Case<arith::MaxSIOp, arith::MinSIOp, arith::IndexCastOp, arith::DivUIOp, arith::RemUIOp>(
            [&](Operation *op) { return checkAll(op->getOperands()); })
        .Case([&](arith::SelectOp select) {
          return check(select.getTrueValue()) && check(select.getFalseValue());
        })
        .Case([&](arith::MulIOp product) {
          // Of a tile's number and its size, which undoes a division, or among numbers of grid points, all of
          // which are below 2^31, as extents on a GPU are.
          return checkAll(product->getOperands());
        })
        .Default([](Operation *) { return false; });
  }

private:
  bool checkAll(ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return check(value); });
  }

  llvm::SmallDenseSet<Value> seen;
  int64_t doublings = 0;
};

} // namespace

static std::optional<AffineForm> formOf(Value value, int64_t &budget);

static std::optional<AffineForm> combine(Value x, Value y, int64_t sign, int64_t &budget) {
  std::optional<AffineForm> a = formOf(x, budget);
  std::optional<AffineForm> b = a ? formOf(y, budget) : std::nullopt;
  if (!b || !a->isLike(*b))
    return {};
  a->bands = std::max(a->bands, b->bands);
  for (AffineForm::Term term : b->terms)
    a->terms.push_back({term.value, sign * term.sign});
  a->rows += sign * b->rows;
  a->columns += sign * b->columns;
  a->constant += sign * b->constant;
  return a;
}

AffineForm AffineForm::minus(const AffineForm &other) const {
  AffineForm result = *this;
  for (Term term : other.terms) {
    auto same = llvm::find_if(result.terms, [&](const Term &mine) {
      return mine.value == term.value && mine.sign == term.sign;
    });
    if (same != result.terms.end())
      result.terms.erase(same);
    else
      result.terms.push_back({term.value, -term.sign});
  }
  result.bands = std::max(bands, other.bands);
  result.rows -= other.rows;
  result.columns -= other.columns;
  result.constant -= other.constant;
  return result;
}

std::optional<AffineForm> flashc::affineForm(Value value) {
  int64_t budget = kMostSteps;
  return formOf(value, budget);
}

static std::optional<AffineForm> formOf(Value value, int64_t &budget) {
  if (budget-- == 0)
    return {};
  AffineForm form;
  APInt constant;
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
      isa<IntegerType, IndexType>(elements.getElementType())) {
    form.constant = elements.getSplatValue<APInt>().getSExtValue();
    return std::abs(form.constant) < kMostConstant ? std::optional(form) : std::nullopt;
  }
  if (!isa<RankedTensorType>(value.getType())) {
    if (matchPattern(value, m_ConstantInt(&constant)) && constant.getSignificantBits() <= 40)
      form.constant = constant.getSExtValue();
    else if (PositionCheck().check(value))
      form.terms.push_back({value, 1});
    else
      return {};
    return form;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  return llvm::TypeSwitch<Operation *, std::optional<AffineForm>>(op)
      .Case([&](tile::CoordsOp coords) -> std::optional<AffineForm> {
        std::optional<AffineForm> offset = formOf(coords.getOffset(), budget);
        if (offset) {
          (coords.getDim() == 0 ? offset->rows : offset->columns) += 1;
          offset->bands = coords.getBands();
        }
        return offset;
      })
      .Case([&](tensor::SplatOp splat) { return formOf(splat.getInput(), budget); })
      .Case([&](arith::IndexCastOp cast) -> std::optional<AffineForm> {
        auto width = [](Value v) {
          Type type = getElementTypeOrSelf(v.getType());
          return type.isIndex() ? 64u : type.getIntOrFloatBitWidth();
        };
        if (width(cast.getOut()) < 64 || width(cast.getIn()) < 64)
          return std::nullopt;
        return formOf(cast.getIn(), budget);
      })
      .Case([&](arith::AddIOp add) { return combine(add.getLhs(), add.getRhs(), 1, budget); })
      .Case([&](arith::SubIOp sub) { return combine(sub.getLhs(), sub.getRhs(), -1, budget); })
      .Default([](Operation *) { return std::nullopt; });
}
