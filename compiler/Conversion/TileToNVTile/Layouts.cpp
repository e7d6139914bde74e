//===- Layouts.cpp - which thread holds what ------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Tiles that elementwise ops and loops tie together share a layout. A product ties its left operand to no
// other tile but asks for all of its columns in each warp, as a reduction of columns does; everything else is spread
// along the columns. Where a kernel has no product, rows are lines: a thread holds few of them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToNVTile/Layouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <numeric>

using namespace mlir;
using namespace flashc;

namespace {

bool isMatrix(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getRank() == 2;
}

class LayoutAssignment {
public:
  LayoutAssignment(func::FuncOp kernel, WarpGrid warps) : kernel(kernel), warps(warps) {}

  void run() {
    separateConstants();
    kernel.walk([&](Operation *op) { tie(op); });
    areLines = !kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
    kernel.walk([&](Operation *op) {
      for (Value result : op->getResults())
        assign(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            assign(argument);
    });
    kernel.walk([&](arith::ConstantOp constant) {
      if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(elements.reshape(cast<ShapedType>(constant.getType())));
    });
  }

private:
  /// A constant that several uses share must not tie them together.
  void separateConstants() {
    kernel.walk([&](arith::ConstantOp constant) {
      if (!isMatrix(constant.getResult()))
        return;
      OpBuilder b(constant);
      for (OpOperand &use : llvm::make_early_inc_range(constant->getUses()))
        if (&use != &*constant->use_begin())
          use.set(b.clone(*constant)->getResult(0));
    });
  }

  void unite(Value a, Value b) {
    if (isMatrix(a) && isMatrix(b))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  void tie(Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      whole.push_back(dot.getA());
      if (dot.getTransposeB())
        whole.push_back(dot.getResult()); // scores: what becomes of them is a left operand again
      if (dot.getInit())
        unite(dot.getInit(), dot.getResult());
      if (dot.getKeep())
        unite(dot.getKeep(), dot.getA());
      return;
    }
    if (isa<tile::FoldOp>(op))
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (unsigned i = 0; i < loop.getNumResults(); ++i) {
        unite(loop.getInitArgs()[i], loop.getRegionIterArg(i));
        unite(loop.getYieldedValues()[i], loop.getRegionIterArg(i));
        unite(loop.getResult(i), loop.getRegionIterArg(i));
      }
      return;
    }
    if (isa<scf::YieldOp>(op))
      return; // tied by the loop or branch around it
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (unsigned i = 0; i < branch.getNumResults(); ++i) {
        unite(branch.getResult(i), branch.thenYield().getOperand(i));
        unite(branch.getResult(i), branch.elseYield().getOperand(i));
      }
      return;
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) // of rows that are whole in a warp
      whole.push_back(reduce.getSource());
    Value first;
    auto visit = [&](Value value) {
      if (!isMatrix(value))
        return;
      if (first)
        unite(first, value);
      first = value;
    };
    for (Value operand : op->getOperands())
      visit(operand);
    for (Value result : op->getResults())
      visit(result);
  }

  bool isWhole(Value value) {
    if (!isMatrix(value))
      return true;
    return llvm::any_of(whole, [&](Value other) {
      return other == value ||
             classes.isEquivalent(other.getAsOpaquePointer(), value.getAsOpaquePointer());
    });
  }

  void assign(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor || tensor.getEncoding())
      return;
    value.setType(tensor.cloneWithEncoding(layoutOf(value, tensor.getDimSize(0))));
  }

  Attribute layoutOf(Value value, int64_t rows) {
    if (areLines)
      return nvtile::LinesAttr::get(kernel.getContext(), std::gcd(rows, warps.count()));
    int64_t bands = rows == warps.bands * warps.tileRows ? warps.bands : 1;
    int64_t columns = warps.columns * (warps.bands / bands);
    return nvtile::FragmentAttr::get(kernel.getContext(), warps.rows * bands,
                                     isWhole(value) ? 1 : columns);
  }

  func::FuncOp kernel;
  WarpGrid warps;
  bool areLines = false;
  llvm::EquivalenceClasses<void *> classes;
  SmallVector<Value> whole;
};

} // namespace

void flashc::assignLayouts(func::FuncOp kernel, WarpGrid warps) {
  LayoutAssignment(kernel, warps).run();
}
