//===- KernelPrologue.cpp - the grid of a kernel on tiles -----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelPrologue.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace flashc;

func::FuncOp flashc::createFromPrologue(OpBuilder &b, func::FuncOp kernel, scf::ForallOp forall,
                                        StringRef name, TypeRange extra, TypeRange results,
                                        IRMapping &map) {
  SmallVector<Type> types(kernel.getArgumentTypes());
  llvm::append_range(types, extra);
  auto func = func::FuncOp::create(b, kernel.getLoc(), name, b.getFunctionType(types, results));
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (DictionaryAttr attributes = kernel.getArgAttrDict(i))
      func.setArgAttrs(i, attributes);
  Block *entry = func.addEntryBlock();
  map.map(kernel.getArguments(), entry->getArguments().take_front(kernel.getNumArguments()));
  OpBuilder inner = OpBuilder::atBlockEnd(entry);
  for (Operation &op : kernel.getBody().front()) {
    if (&op == forall.getOperation())
      break;
    inner.clone(op, map);
  }
  return func;
}

func::FuncOp flashc::createGridFunction(OpBuilder &b, func::FuncOp kernel, scf::ForallOp forall) {
  Location loc = kernel.getLoc();
  IRMapping map;
  func::FuncOp grid = createFromPrologue(b, kernel, forall, kernel.getName().str() + "_grid", {},
                                         b.getIndexType(), map);
  grid->setAttr(kGridAttrName, kernel->getAttr(flash::kKernelAttrName));
  OpBuilder inner = OpBuilder::atBlockEnd(&grid.getBody().front());
  OpFoldResult bound = forall.getMixedUpperBound()[0];
  Value points = isa<Attribute>(bound)
                     ? Value(arith::ConstantIndexOp::create(
                           inner, loc, cast<IntegerAttr>(cast<Attribute>(bound)).getInt()))
                     : map.lookup(cast<Value>(bound));
  func::ReturnOp::create(inner, loc, points);
  return grid;
}
