//===- ThreadBuilder.cpp - arithmetic and instructions of a thread --------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/ThreadBuilder.h"

using namespace mlir;
using namespace flashc;

ThreadBuilder::ThreadBuilder(OpBuilder builder, Location loc)
    : b(builder), loc(loc), i1(b.getI1Type()), i16(b.getI16Type()), i32(b.getI32Type()),
      i64(b.getI64Type()), f32(b.getF32Type()), index(b.getIndexType()),
      global(LLVM::LLVMPointerType::get(b.getContext(), 1)),
      shared(LLVM::LLVMPointerType::get(b.getContext(), 3)) {}

Value ThreadBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}
Value ThreadBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value ThreadBuilder::add(Value x, int64_t y) { return y ? add(x, constant(y)) : x; }
Value ThreadBuilder::mul(Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(loc, x, constant(y));
}
Value ThreadBuilder::div(Value x, int64_t y) {
  return b.createOrFold<arith::DivUIOp>(loc, x, constant(y));
}
Value ThreadBuilder::rem(Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(loc, x, constant(y));
}
Value ThreadBuilder::bitAnd(Value x, int64_t y) {
  return b.createOrFold<arith::AndIOp>(loc, x, constant(static_cast<int32_t>(y)));
}
Value ThreadBuilder::bitOr(Value x, Value y) { return b.createOrFold<arith::OrIOp>(loc, x, y); }
Value ThreadBuilder::bitXor(Value x, Value y) { return b.createOrFold<arith::XOrIOp>(loc, x, y); }
Value ThreadBuilder::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value ThreadBuilder::toI32(Value value) {
  return b.createOrFold<arith::IndexCastOp>(loc, i32, value);
}
Value ThreadBuilder::toIndex(Value value) {
  return b.createOrFold<arith::IndexCastOp>(loc, index, value);
}
Value ThreadBuilder::zext(Value value) { return b.createOrFold<arith::ExtUIOp>(loc, i32, value); }

Value ThreadBuilder::indexConstant(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value ThreadBuilder::indexAdd(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value ThreadBuilder::indexAdd(Value x, int64_t y) { return y ? indexAdd(x, indexConstant(y)) : x; }
Value ThreadBuilder::indexMul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
Value ThreadBuilder::indexLess(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value ThreadBuilder::both(Value x, Value y) { return b.createOrFold<arith::AndIOp>(loc, x, y); }
Value ThreadBuilder::select(Value c, Value x, Value y) {
  return b.createOrFold<arith::SelectOp>(loc, c, x, y);
}

Value ThreadBuilder::reduce(tile::ReduceKind kind, Value x, Value y) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return arith::AddFOp::create(b, loc, x, y);
  case tile::ReduceKind::MaxNum:
    return arith::MaxNumFOp::create(b, loc, x, y);
  case tile::ReduceKind::Max:
    return arith::MaximumFOp::create(b, loc, x, y);
  }
  llvm_unreachable("a kind of reduction");
}

Value ThreadBuilder::f32Constant(float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value ThreadBuilder::gep(Value pointer, Value offset, Type type) {
  if (offset.getType().isIndex())
    offset = arith::IndexCastOp::create(b, loc, i64, offset);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value ThreadBuilder::sharedPointer(Value address, int64_t offset) {
  Value pointer = LLVM::IntToPtrOp::create(b, loc, shared, address);
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(b, loc, shared, b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value ThreadBuilder::call(StringRef intrinsic, Type type, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(intrinsic), arguments)
      .getResults();
}

void ThreadBuilder::callVoid(StringRef intrinsic, ValueRange arguments) {
  LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(intrinsic), arguments);
}

SmallVector<Value> ThreadBuilder::unpack(Value structure, unsigned count) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, structure, i));
  return values;
}

Value ThreadBuilder::threadId() {
  if (rareThreadId)
    return rareThreadId;
  return call("llvm.nvvm.read.ptx.sreg.tid.x", i32, {});
}
Value ThreadBuilder::blockId() { return call("llvm.nvvm.read.ptx.sreg.ctaid.x", i32, {}); }

void ThreadBuilder::barrier() { callVoid("llvm.nvvm.barrier.cta.sync.aligned.all", constant(0)); }

Value ThreadBuilder::barrierAnd(Value condition) {
  return call("llvm.nvvm.barrier.cta.red.and.aligned.all", i1, {constant(0), condition});
}

void ThreadBuilder::syncWarp() { callVoid("llvm.nvvm.bar.warp.sync", constant(-1)); }

Value ThreadBuilder::shuffleXor(Value value, int32_t mask) {
  bool isFloat = value.getType().isF32();
  return call(isFloat ? "llvm.nvvm.shfl.sync.bfly.f32" : "llvm.nvvm.shfl.sync.bfly.i32",
              value.getType(), {constant(-1), value, constant(mask), constant(kWarpSize - 1)});
}

Value ThreadBuilder::shuffle(Value value, Value lane) {
  return call("llvm.nvvm.shfl.sync.idx.i32", i32,
              {constant(-1), value, lane, constant(kWarpSize - 1)});
}

/// The integer type of a register that holds `type`, and PTX's name and constraint of it.
static std::tuple<Type, StringRef, StringRef> registerOf(OpBuilder &b, Type type) {
  switch (type.getIntOrFloatBitWidth()) {
  case 1: // bool arrays have a byte per element
  case 8:
    return {b.getI16Type(), "u8", "h"};
  case 16:
    return {b.getI16Type(), "b16", "h"};
  case 32:
    return {b.getI32Type(), "b32", "r"};
  default:
    return {b.getI64Type(), "b64", "l"};
  }
}

static Value inlineAsm(ThreadBuilder &t, Type type, ValueRange operands, const Twine &text,
                       const Twine &constraints, bool hasSideEffects) {
  SmallVector<Type> types;
  if (type)
    types.push_back(type);
  auto op = LLVM::InlineAsmOp::create(
      t.b, t.loc, types, operands, text.str(), constraints.str(), hasSideEffects,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
      ArrayAttr());
  return type ? op.getResult(0) : Value();
}

Value ThreadBuilder::loadIf(Value condition, Value pointer, Type type) {
  auto [word, name, constraint] = registerOf(b, type);
  Value bits = inlineAsm(*this, word, {pointer, zext(condition)},
                         "{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b" +
                             Twine(word.getIntOrFloatBitWidth()) + " $0, 0; @p ld.global." + name +
                             " $0, [$1]; }",
                         "=" + constraint + ",l,r", hasOrderedLoads);
  unsigned width = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    return arith::BitcastOp::create(b, loc, type, bits);
  if (width < 16)
    return arith::TruncIOp::create(b, loc, type, bits);
  return bits;
}

void ThreadBuilder::storeIf(Value condition, Value pointer, Value value) {
  auto [word, name, constraint] = registerOf(b, value.getType());
  if (value.getType() != word)
    value = arith::BitcastOp::create(b, loc, word, value);
  inlineAsm(*this, Type(), {pointer, value, zext(condition)},
            "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global." + name + " [$0], $1; }",
            "l," + constraint + ",r", /*hasSideEffects=*/true);
}

SmallVector<Value> ThreadBuilder::loadChunkIf(Value condition, Value pointer) {
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32});
  Value words =
      inlineAsm(*this, type, {pointer, zext(condition)},
                "{ .reg .pred p; setp.ne.b32 p, $5, 0; mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 "
                "$2, 0; mov.b32 $3, 0; @p ld.global.v4.b32 {$0, $1, $2, $3}, [$4]; }",
                "=&r,=&r,=&r,=&r,l,r", hasOrderedLoads);
  return unpack(words, 4);
}

void ThreadBuilder::storeChunkIf(Value condition, Value pointer, ValueRange words) {
  SmallVector<Value> operands = {pointer};
  llvm::append_range(operands, words);
  operands.push_back(zext(condition));
  inlineAsm(*this, Type(), operands,
            "{ .reg .pred p; setp.ne.b32 p, $5, 0; @p st.global.v4.b32 [$0], {$1, $2, $3, $4}; }",
            "l,r,r,r,r,r", /*hasSideEffects=*/true);
}

void ThreadBuilder::copyChunk(Value dest, Value source, Value ignored) {
  if (!ignored) {
    callVoid("llvm.nvvm.cp.async.cg.shared.global.16", {dest, source});
    return;
  }
  // A predicate rather than a size: ptxas makes of it a bit of the instruction.
  Value address = LLVM::PtrToIntOp::create(b, loc, i32, dest);
  inlineAsm(*this, Type(), {address, source, zext(ignored)},
            "{ .reg .pred p; setp.ne.b32 p, $2, 0; cp.async.cg.shared.global [$0], [$1], 16, p; }",
            "r,l,r", /*hasSideEffects=*/true);
}

void ThreadBuilder::keepRolled() {
  inlineAsm(*this, Type(), {}, ".pragma \"nounroll\";", "", /*hasSideEffects=*/true);
}

Value ThreadBuilder::threadIdHere() {
  return inlineAsm(*this, i32, {}, "mov.u32 $0, %tid.x;", "=r", /*hasSideEffects=*/true);
}
