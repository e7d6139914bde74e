//===- ExpandMath.cpp - math functions as arithmetic -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// All four functions reduce the argument exactly (or with fma), evaluate a
// minimax polynomial in Horner form, and put the result together such that the
// last operation contributes most of the rounding error. No branch, no table.
// The coefficients are printed by MinimaxCoefficients.py beside this file.
// Nothing here may be reassociated: the ops carry no fast-math flags.
//
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/ExpandMath.h"

#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

using namespace mlir;
using namespace flashc;

namespace {

// Lowest power first; see MinimaxCoefficients.py.

/// 2^f = 1 + f*P(f) on [-1/2, 1/2], relative error 6.4e-9.
constexpr float exp2Coefficients[] = {0x1.62e432p-1f, 0x1.ebfbe6p-3f,  0x1.c6ad6ep-5f,
                                      0x1.3b2508p-7f, 0x1.5fe1a4p-10f, 0x1.4862e8p-13f};
/// 2^f = 1 + f*P(f) on [0, 1], relative error 9.3e-8.
constexpr float exp2FractionCoefficients[] = {0x1.62e4bap-1f, 0x1.ebdb56p-3f, 0x1.c91ce6p-5f,
                                              0x1.277856p-7f, 0x1.e974fap-10f};
/// e^r = 1 + r + r^2*P(r) on |r| <= ln(2)/2 + 1e-4, relative error 3.7e-9.
constexpr float expCoefficients[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a00p-7f,
                                     0x1.6a2404p-10f};
/// log(1+f) = f - f^2/2 + f^3*P(f) on [sqrt(1/2)-1, sqrt(2)-1], relative error 1.5e-9.
constexpr float logCoefficients[] = {0x1.555548p-2f,  -0x1.00000ap-2f, 0x1.99a464p-3f,
                                     -0x1.555a96p-3f, 0x1.233cbap-3f,  -0x1.fc6a78p-4f,
                                     0x1.e6e862p-4f,  -0x1.dc66e6p-4f, 0x1.121a5cp-4f};
/// tanh(x) = x + x^3*P(x^2) on |x| <= 0.625, relative error 8.6e-9.
constexpr float tanhCoefficients[] = {-0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c5ap-5f,
                                      0x1.52269cp-6f, -0x1.75e1cep-8f};

constexpr float log2E = 0x1.715476p+0f;
constexpr float ln2Hi = 0x1.62e430p-1f; // ln 2 = hi + lo
constexpr float ln2Lo = -0x1.05c610p-29f;

/// Adding 1.5*2^23 leaves a float's nearest integer in its low mantissa bits, for |x| < 2^22.
constexpr float roundingMagic = 0x1.8p23f;
constexpr int32_t roundingMagicBits = 0x4b400000;
constexpr int32_t oneBits = 0x3f800000;
constexpr float exponentBias = 127.0f;
constexpr int32_t mantissaBits = 23;

/// Emits arithmetic on f32 values of one shape, and on i32 values of the same shape.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, Type type) : builder(builder), loc(loc), type(type) {
    integerType = builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      integerType = vector.clone(integerType);
  }

  Value constant(float value) { return constant(type, builder.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return constant(integerType, builder.getI32IntegerAttr(value)); }

  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value addi(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value subi(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value shl(Value a, int32_t bits) { return arith::ShLIOp::create(builder, loc, a, integer(bits)); }
  Value shr(Value a, int32_t bits) {
    return arith::ShRSIOp::create(builder, loc, a, integer(bits));
  }
  Value toBits(Value a) { return arith::BitcastOp::create(builder, loc, integerType, a); }
  Value fromBits(Value a) { return arith::BitcastOp::create(builder, loc, type, a); }
  Value toFloat(Value a) { return arith::SIToFPOp::create(builder, loc, type, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value copySign(Value magnitude, Value sign) {
    return math::CopySignOp::create(builder, loc, magnitude, sign);
  }

  /// a bounded below or above; a NaN passes. Operand order as in x86's maxps and minps, which
  /// return the second operand if one is NaN.
  Value atLeast(Value a, float low) {
    Value bound = constant(low);
    return select(compare(arith::CmpFPredicate::OGT, bound, a), bound, a);
  }
  Value atMost(Value a, float high) {
    Value bound = constant(high);
    return select(compare(arith::CmpFPredicate::OLT, bound, a), bound, a);
  }

  /// coefficients[0] + coefficients[1]*x + ...
  Value polynomial(ArrayRef<float> coefficients, Value x) {
    Value sum = constant(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  /// e^r for the reduced argument of expReduce.
  Value expPolynomial(Value r) {
    Value square = mul(r, r);
    return add(fma(square, polynomial(expCoefficients, r), r), constant(1.0f));
  }

  /// The same polynomial with an operation less, and up to half an ulp more of error.
  Value expHorner(Value r) {
    Value sum = polynomial(expCoefficients, r);
    return fma(fma(sum, r, constant(1.0f)), r, constant(1.0f));
  }

  /// y - floor(y), for a vector of 16.
  Value fractionByInstruction(Value y) {
    constexpr int32_t downwards = 9; // without an exception where it is not exact
    Value control = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(downwards));
    Value all = arith::ConstantOp::create(builder, loc, builder.getI16IntegerAttr(-1));
    Value current = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(4));
    return LLVM::CallIntrinsicOp::create(
               builder, loc, type, builder.getStringAttr("llvm.x86.avx512.mask.reduce.ps.512"),
               ValueRange{y, control, y, all, current})
        .getResult(0);
  }

  /// p*2^floor(n) where `lanes` are set and 0 elsewhere, for a vector of 16.
  Value scaleByInstruction(Value p, Value n, Value lanes) {
    auto word = VectorType::get({1}, builder.getI16Type());
    Value bits = vector::ExtractOp::create(
        builder, loc, vector::BitCastOp::create(builder, loc, word, lanes), ArrayRef<int64_t>{0});
    Value current = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(4));
    return LLVM::CallIntrinsicOp::create(
               builder, loc, type, builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
               ValueRange{p, n, constant(0.0f), bits, current})
        .getResult(0);
  }

  /// x = n*ln(2) + r with n the nearest integer, held as roundingMagic + n in the first result.
  /// `bias`, an integer, is added to what is held.
  std::pair<Value, Value> expReduce(Value x, float bias = 0.0f) {
    Value magic = constant(roundingMagic + bias);
    Value shifted = fma(x, constant(log2E), magic);
    Value n = sub(shifted, magic);
    Value r = fma(n, constant(-ln2Hi), x);
    return {shifted, fma(n, constant(-ln2Lo), r)};
  }

  /// p*2^n with one rounding for p in [1/2, 2), |n| <= 2*126, and n as roundingMagic + n. The two
  /// factors 2^(n/2) are normal numbers where their product is not; the first product is exact.
  Value scale(Value p, Value shifted) {
    Value n = subi(toBits(shifted), integer(roundingMagicBits));
    Value half = shr(n, 1);
    Value rest = subi(n, half);
    return mul(mul(p, powerOfTwo(half)), powerOfTwo(rest));
  }

  /// 2^n for -126 <= n <= 127. The bits above the low nine of n do not matter.
  Value powerOfTwo(Value n) { return fromBits(addi(shl(n, mantissaBits), integer(oneBits))); }

private:
  Value constant(Type constantType, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(constantType))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }

  OpBuilder &builder;
  Location loc;
  Type type, integerType;
};

/// 2^y by AVX-512's instructions, which split a number at its floor and multiply by 2 to the floor. A subnormal
/// result would take the latter over a hundred cycles, and a mask is full of them, so that what vanishes, below
/// `smallest` where `x` is what y came from, is left out. A NaN is not, for it is not below.
Value exp2ByInstruction(Emitter &e, Value y, Value x, float smallest) {
  Value remains = e.compare(arith::CmpFPredicate::UGE, x, e.constant(smallest));
  Value f = e.fractionByInstruction(y);
  Value p = e.fma(e.polynomial(exp2FractionCoefficients, f), f, e.constant(1.0f));
  return e.scaleByInstruction(p, y, remains);
}

Value expandExp2(Emitter &e, Value x) {
  // Beyond the bounds the result is 0 or inf anyway, and the integer part stays in range.
  x = e.atMost(e.atLeast(x, -151.0f), 129.0f);
  Value shifted = e.add(x, e.constant(roundingMagic));
  Value f = e.sub(x, e.sub(shifted, e.constant(roundingMagic))); // exact
  Value p = e.fma(e.polynomial(exp2Coefficients, f), f, e.constant(1.0f));
  return e.scale(p, shifted);
}

Value expandExp(Emitter &e, Value x) {
  x = e.atMost(e.atLeast(x, -104.0f), 89.0f);
  auto [shifted, r] = e.expReduce(x);
  return e.scale(e.expPolynomial(r), shifted);
}

/// e^x for x <= 0, as softmax has it: results under 2^-126 become 0, and so no bounds and one scaling
/// are needed.
Value expandSoftmaxExp(Emitter &e, Value x, bool hasScale) {
  constexpr float smallest = -87.33654f; // of the x with e^x >= 2^-126
  if (hasScale) {
    // Rounding x*log2(e) costs the result |x|*2^-24, least where it is largest.
    return exp2ByInstruction(e, e.mul(x, e.constant(log2E)), x, smallest);
  }
  // With the exponent's bias in place, a shift makes the power of two.
  auto [shifted, r] = e.expReduce(x, exponentBias);
  Value power = e.fromBits(e.shl(e.toBits(shifted), mantissaBits));
  Value result = e.mul(e.expHorner(r), power);
  // A NaN is not below the bound and passes; -inf made one in r, and is.
  Value vanishes = e.compare(arith::CmpFPredicate::OLT, x, e.constant(smallest));
  return e.select(vanishes, e.constant(0.0f), result);
}

/// 2^x, where results under 2^-126 may become 0.
Value expandSoftmaxExp2(Emitter &e, Value x, bool hasScale) {
  return hasScale ? exp2ByInstruction(e, x, x, -126.0f) : expandExp2(e, x);
}

Value expandLog(Emitter &e, Value x) {
  constexpr int32_t sqrtHalfBits = 0x3f3504f3;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value zero = e.constant(0.0f);
  // Subnormal numbers are scaled into the normal range first.
  Value isTiny = e.compare(arith::CmpFPredicate::OLT, x, e.constant(0x1p-126f));
  Value bits = e.toBits(e.select(isTiny, e.mul(x, e.constant(0x1p23f)), x));
  // x = 2^n * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  Value n = e.shr(e.subi(bits, e.integer(sqrtHalfBits)), mantissaBits);
  Value f = e.sub(e.fromBits(e.subi(bits, e.shl(n, mantissaBits))), e.constant(1.0f));
  Value exponent = e.add(e.toFloat(n), e.select(isTiny, e.constant(-23.0f), zero));
  // log x = n*ln2 + f - f^2/2 + f^3*P(f), the small terms first.
  Value square = e.mul(f, f);
  Value sum = e.mul(e.mul(square, f), e.polynomial(logCoefficients, f));
  sum = e.fma(exponent, e.constant(ln2Lo), sum);
  sum = e.fma(square, e.constant(-0.5f), sum);
  Value result = e.fma(exponent, e.constant(ln2Hi), e.add(f, sum));

  auto patch = [&](arith::CmpFPredicate predicate, float operand, float value) {
    Value condition = e.compare(predicate, x, e.constant(operand));
    result = e.select(condition, e.constant(value), result);
  };
  patch(arith::CmpFPredicate::OEQ, infinity, infinity);
  patch(arith::CmpFPredicate::OEQ, 0.0f, -infinity);
  patch(arith::CmpFPredicate::ULT, 0.0f, std::numeric_limits<float>::quiet_NaN());
  return result;
}

Value expandTanh(Emitter &e, Value x) {
  Value magnitude = e.abs(x);
  // Near 0: an odd polynomial, whose leading term keeps the relative accuracy.
  Value square = e.mul(magnitude, magnitude);
  Value cube = e.mul(magnitude, square);
  Value small = e.fma(cube, e.polynomial(tanhCoefficients, square), magnitude);
  // Else 1 - 2/(e^2|x| + 1), which rounds to 1 well before 10.
  Value bounded = e.atMost(magnitude, 10.0f);
  auto [shifted, r] = e.expReduce(e.add(bounded, bounded));
  Value exponential = e.mul(e.expPolynomial(r), e.powerOfTwo(e.toBits(shifted)));
  Value quotient = e.div(e.constant(2.0f), e.add(exponential, e.constant(1.0f)));
  Value large = e.sub(e.constant(1.0f), quotient);
  Value isSmall = e.compare(arith::CmpFPredicate::OLT, magnitude, e.constant(0.625f));
  return e.copySign(e.select(isSmall, small, large), x);
}

template <typename Op, Value (*expand)(Emitter &, Value)> struct ExpandF32 : OpRewritePattern<Op> {
  ExpandF32(MLIRContext *context, bool hasAVX512)
      : OpRewritePattern<Op>(context), hasAVX512(hasAVX512) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    auto vector = dyn_cast<VectorType>(type);
    if (!getElementTypeOrSelf(type).isF32() || (!vector && !isa<FloatType>(type)) ||
        (vector && vector.isScalable()))
      return rewriter.notifyMatchFailure(op, "not f32 or a fixed-size vector of f32");
    Emitter emitter(rewriter, op.getLoc(), type);
    bool isSoftmax = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
    bool hasScale = hasAVX512 && vector && vector.getShape() == ArrayRef<int64_t>{16};
    Value x = op.getOperand();
    if (isSoftmax && std::is_same_v<Op, math::ExpOp>)
      rewriter.replaceOp(op, expandSoftmaxExp(emitter, x, hasScale));
    else if (isSoftmax && std::is_same_v<Op, math::Exp2Op>)
      rewriter.replaceOp(op, expandSoftmaxExp2(emitter, x, hasScale));
    else
      rewriter.replaceOp(op, expand(emitter, x));
    return success();
  }

private:
  bool hasAVX512;
};

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  ExpandMathPass() = default;
  explicit ExpandMathPass(ExpandMathOptions options) { nativeBF16 = options.nativeBF16; }
  ExpandMathPass(const ExpandMathPass &other) : PassWrapper(other) {
    nativeBF16 = other.nativeBF16;
  }

  StringRef getArgument() const override { return "flash-expand-math"; }
  StringRef getDescription() const override {
    return "Rewrite f32 exp2, exp, log, tanh and bf16 conversions to basic arithmetic";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    const TargetInfo *target = flash::targetOf(getOperation());
    // GPUs before sm_80 convert in software, which LLVM expands by itself.
    bool isNative =
        nativeBF16 || (target && (target->hasBF16Dot || target->kind == TargetKind::GPU));
    populateExpandMathPatterns(
        patterns, {.nativeBF16 = isNative, .hasAVX512 = target && target->vectorBits == 512});
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  Option<bool> nativeBF16{*this, "native-bf16",
                          llvm::cl::desc("Keep f32 <-> bf16 conversions, as for a target "
                                         "with AVX-512 BF16"),
                          llvm::cl::init(false)};
};

} // namespace

void flashc::populateExpandMathPatterns(RewritePatternSet &patterns, ExpandMathOptions options) {
  patterns.add<ExpandF32<math::Exp2Op, expandExp2>, ExpandF32<math::ExpOp, expandExp>,
               ExpandF32<math::LogOp, expandLog>, ExpandF32<math::TanhOp, expandTanh>>(
      patterns.getContext(), options.hasAVX512);
  if (!options.nativeBF16)
    arith::populateExpandBFloat16Patterns(patterns);
}

std::unique_ptr<Pass> flashc::createExpandMathPass(ExpandMathOptions options) {
  return std::make_unique<ExpandMathPass>(options);
}

void flashc::registerExpandMathPass() { PassRegistration<ExpandMathPass>(); }
