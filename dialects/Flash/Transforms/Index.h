//===- Index.h - short names for index arithmetic ---------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Index arithmetic fills the lowering passes; this keeps it readable. Everything folds.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEX_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEX_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace flashc::flash {

/// Builds index arithmetic at the builder's insertion point. Sizes and indices are non-negative.
class Index {
public:
  Index(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return fold<mlir::arith::AddIOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return b ? add(a, constant(b)) : a; }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return fold<mlir::arith::SubIOp>(a, b); }
  mlir::Value sub(mlir::Value a, int64_t b) { return sub(a, constant(b)); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return fold<mlir::arith::MulIOp>(a, b); }
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, constant(b)); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return fold<mlir::arith::DivUIOp>(a, b); }
  mlir::Value div(mlir::Value a, int64_t b) { return div(a, constant(b)); }
  mlir::Value rem(mlir::Value a, mlir::Value b) { return fold<mlir::arith::RemUIOp>(a, b); }
  mlir::Value ceilDiv(mlir::Value a, int64_t b) { return div(add(a, b - 1), b); }
  mlir::Value roundDown(mlir::Value a, int64_t b) { return mul(div(a, b), b); }
  mlir::Value roundUp(mlir::Value a, int64_t b) { return mul(ceilDiv(a, b), b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return fold<mlir::arith::MinSIOp>(a, b); }
  mlir::Value min(mlir::Value a, int64_t b) { return min(a, constant(b)); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return fold<mlir::arith::MaxSIOp>(a, b); }
  mlir::Value lt(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value le(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::sle, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return fold<mlir::arith::AndIOp>(a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return fold<mlir::arith::OrIOp>(a, b); }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::SelectOp>(loc, c, a, b);
  }

private:
  template <typename Op> mlir::Value fold(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a, b);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_INDEX_H
