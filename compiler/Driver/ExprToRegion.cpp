//===- ExprToRegion.cpp - expressions become region ops -------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/ExprToRegion.h"
#include "dialects/Flash/IR/Flash.h"

using namespace mlir;
using namespace flashc;

mlir::Type flashc::storageType(MLIRContext *context, DType type) {
  Builder builder(context);
  switch (type) {
  case DType::Bool:
  case DType::I8:
  case DType::U8:
    return builder.getI8Type();
  case DType::I16:
    return builder.getI16Type();
  case DType::I32:
    return builder.getI32Type();
  case DType::I64:
    return builder.getI64Type();
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::F32:
    return builder.getF32Type();
  case DType::F64:
    return builder.getF64Type();
  }
  llvm_unreachable("unknown element type");
}

RegionScope::RegionScope(Block &block, ExprKind kind)
    : builder(OpBuilder::atBlockEnd(&block)),
      loc(UnknownLoc::get(block.getArgument(0).getContext())), block(block),
      firstCoordinate(kind == ExprKind::Score ? 1 : 0) {
  static_assert(flash::kScoreArguments == flash::kMaskArguments + 1);
}

Value RegionScope::score() const { return block.getArgument(0); }

Value RegionScope::index(Variable variable) const {
  // Variable lists the score first, then the coordinates in the order of the region's arguments.
  return block.getArgument(firstCoordinate + unsigned(variable) - unsigned(Variable::B));
}

Value RegionScope::coordinate(Variable variable) {
  Value &cast = casts[size_t(variable)];
  if (!cast) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    cast = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index(variable));
  }
  return cast;
}

Value RegionScope::capture(unsigned number) const {
  return block.getArgument(firstCoordinate + flash::kMaskArguments + number);
}

Value RegionScope::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value RegionScope::constant(float value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}

Value RegionScope::emit(const TypedExpr &expr, unsigned first, Value score) {
  firstCapture = first;
  captures = expr.captures;
  currentScore = score;
  return emitNode(*expr.root);
}

Value RegionScope::emitRead(const Node &node) {
  SmallVector<Value> indices;
  for (const NodePtr &operand : node.operands) {
    // A bare coordinate is an index already.
    if (operand->op == Op::Variable)
      indices.push_back(index(operand->variable));
    else
      indices.push_back(
          arith::IndexCastOp::create(builder, loc, builder.getIndexType(), emitNode(*operand)));
  }
  mlir::Type type = node.type == flashc::Type::Float ? mlir::Type(builder.getF32Type())
                                                     : mlir::Type(builder.getI64Type());
  Value element =
      flash::ReadOp::create(builder, loc, type, capture(firstCapture + node.captureIndex), indices);
  // Truth values are any non-zero byte, and the unsigned type is held in a signed one.
  switch (captures[node.captureIndex].dtype) {
  case DType::Bool: {
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, element,
                                        constant(int64_t(0)));
    return arith::ExtUIOp::create(builder, loc, type, isSet);
  }
  case DType::U8:
    return arith::AndIOp::create(builder, loc, element, constant(int64_t(255)));
  default:
    return element;
  }
}

Value RegionScope::emitCompare(const Node &node, Value lhs, Value rhs) {
  using I = arith::CmpIPredicate;
  using F = arith::CmpFPredicate;
  auto compare = [&](I ofInts, F ofFloats) -> Value {
    if (lhs.getType().isF32())
      return arith::CmpFOp::create(builder, loc, ofFloats, lhs, rhs);
    return arith::CmpIOp::create(builder, loc, ofInts, lhs, rhs);
  };
  switch (node.op) {
  case Op::Eq:
    return compare(I::eq, F::OEQ);
  case Op::Ne:
    return compare(I::ne, F::UNE);
  case Op::Lt:
    return compare(I::slt, F::OLT);
  case Op::Le:
    return compare(I::sle, F::OLE);
  case Op::Gt:
    return compare(I::sgt, F::OGT);
  default:
    return compare(I::sge, F::OGE);
  }
}

Value RegionScope::emitNode(const Node &node) {
  if (node.op == Op::Capture)
    return emitRead(node);
  SmallVector<Value, 3> x;
  for (const NodePtr &operand : node.operands)
    x.push_back(emitNode(*operand));
  bool isFloat = node.type == flashc::Type::Float;
  mlir::Type i64 = builder.getI64Type(), f32 = builder.getF32Type();
  auto unary = [&]<typename T>() -> Value { return T::create(builder, loc, x[0]); };
  auto binary = [&]<typename T>() -> Value { return T::create(builder, loc, x[0], x[1]); };
  auto either = [&]<typename OfInts, typename OfFloats>() -> Value {
    return isFloat ? binary.operator()<OfFloats>() : binary.operator()<OfInts>();
  };
  switch (node.op) {
  case Op::IntLiteral:
    return constant(node.intValue);
  case Op::FloatLiteral:
    return constant(static_cast<float>(node.floatValue));
  case Op::Variable:
    return node.variable == Variable::S ? currentScore : coordinate(node.variable);
  case Op::Capture:
    break; // above
  case Op::BoolToInt:
    return arith::ExtUIOp::create(builder, loc, i64, x[0]);
  case Op::IntToFloat:
    return arith::SIToFPOp::create(builder, loc, f32, x[0]);
  case Op::FloatToInt:
    return arith::FPToSIOp::create(builder, loc, i64, x[0]);
  case Op::LogicalNot:
    return arith::XOrIOp::create(builder, loc, x[0],
                                 arith::ConstantIntOp::create(builder, loc, 1, 1));
  case Op::LogicalAnd:
  case Op::BitAnd:
    return binary.operator()<arith::AndIOp>();
  case Op::LogicalOr:
  case Op::BitOr:
    return binary.operator()<arith::OrIOp>();
  case Op::BitXor:
    return binary.operator()<arith::XOrIOp>();
  case Op::BitNot:
    return arith::XOrIOp::create(builder, loc, x[0], constant(int64_t(-1)));
  case Op::Shl:
    return binary.operator()<arith::ShLIOp>();
  case Op::Shr:
    return binary.operator()<arith::ShRSIOp>();
  case Op::Rem:
    return binary.operator()<arith::RemSIOp>();
  case Op::Neg:
    if (isFloat)
      return unary.operator()<arith::NegFOp>();
    return arith::SubIOp::create(builder, loc, constant(int64_t(0)), x[0]);
  case Op::Add:
    return either.operator()<arith::AddIOp, arith::AddFOp>();
  case Op::Sub:
    return either.operator()<arith::SubIOp, arith::SubFOp>();
  case Op::Mul:
    return either.operator()<arith::MulIOp, arith::MulFOp>();
  case Op::Div:
    return either.operator()<arith::DivSIOp, arith::DivFOp>();
  case Op::Min:
    return either.operator()<arith::MinSIOp, arith::MinimumFOp>();
  case Op::Max:
    return either.operator()<arith::MaxSIOp, arith::MaximumFOp>();
  case Op::Abs:
    return isFloat ? unary.operator()<math::AbsFOp>() : unary.operator()<math::AbsIOp>();
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return emitCompare(node, x[0], x[1]);
  case Op::Exp:
    return unary.operator()<math::ExpOp>();
  case Op::Log:
    return unary.operator()<math::LogOp>();
  case Op::Tanh:
    return unary.operator()<math::TanhOp>();
  case Op::Sqrt:
    return unary.operator()<math::SqrtOp>();
  case Op::Floor:
    return unary.operator()<math::FloorOp>();
  case Op::Select:
    return arith::SelectOp::create(builder, loc, x[0], x[1], x[2]);
  }
  llvm_unreachable("unknown operation");
}
