//===- EmitObjectTest.cpp - objects are closed, correct, deterministic -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "Jit.h"

#include "runtime/CPU/HostCPU.h"
#include "runtime/Support/Half.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace flashc;
using namespace flashc::test;
using testing::HasSubstr;
using testing::Not;

namespace {

using Unary = void(const void *, void *);

const TargetInfo &v3() { return *lookupTarget("x86-64-v3"); }

const char *const targetNames[] = {"x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-amx"};

/// Everything that a kernel may contain must compile without a library call, at odd widths too.
TEST(EmitObject, CallsNoLibrary) {
  struct Op {
    const char *in, *out, *text; // $I, $O: the types
  };
  const Op ops[] = {
      {"f32", "f32", "%y = math.exp2 %x : $I"},
      {"f32", "f32", "%y = math.exp %x : $I"},
      {"f32", "f32", "%y = math.log %x : $I"},
      {"f32", "f32", "%y = math.tanh %x : $I"},
      {"f32", "f32", "%y = math.floor %x : $I"},
      {"f32", "f32", "%y = math.ceil %x : $I"},
      {"f32", "f32", "%y = math.trunc %x : $I"},
      {"f32", "f32", "%y = math.roundeven %x : $I"},
      {"f32", "f32", "%y = math.sqrt %x : $I"},
      {"f32", "f32", "%y = math.absf %x : $I"},
      {"f32", "f32", "%y = math.fma %x, %x, %x : $I"},
      {"f32", "f32", "%y = arith.maximumf %x, %x : $I"},
      {"f32", "f32", "%y = arith.minimumf %x, %x : $I"},
      {"f32", "f32", "%y = arith.maxnumf %x, %x : $I"},
      {"f32", "bf16", "%y = arith.truncf %x : $I to $O"},
      {"bf16", "f32", "%y = arith.extf %x : $I to $O"},
      {"f32", "f16", "%y = arith.truncf %x : $I to $O"},
      {"f16", "f32", "%y = arith.extf %x : $I to $O"},
      {"f64", "f32", "%y = arith.truncf %x : $I to $O"},
      {"f32", "i64", "%y = arith.fptosi %x : $I to $O"},
      {"i64", "f32", "%y = arith.sitofp %x : $I to $O"},
      {"i64", "i64", "%y = arith.divsi %x, %x : $I"},
      {"i64", "i64", "%y = arith.remsi %x, %x : $I"},
      {"i64", "i64", "%y = arith.muli %x, %x : $I"},
  };
  auto replaceAll = [](std::string text, const std::string &from, const std::string &to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
    return text;
  };
  Compiler compiler;
  for (const char *targetName : targetNames)
    for (const Op &op : ops)
      for (int width : {0, 1, 3, 7, 8, 13, 16, 32}) {
        auto typeOf = [&](const std::string &element) {
          return width ? "vector<" + std::to_string(width) + "x" + element + ">" : element;
        };
        std::string in = typeOf(op.in), out = typeOf(op.out);
        std::string body = replaceAll(replaceAll(op.text, "$I", in), "$O", out);
        std::string object = compiler.emit(unaryFunction(in, out, body), *lookupTarget(targetName),
                                           EmitKind::Object);
        ASSERT_FALSE(object.empty()) << targetName << ": " << body << "\n" << compiler.error;
        // The loader takes whatever the back end writes.
        LoadedObject::load(std::as_bytes(std::span(object)));
      }
}

TEST(EmitObject, NamesTheUndefinedSymbol) {
  Compiler compiler;
  std::string object = compiler.emit("llvm.func @malloc(i64) -> !llvm.ptr\n"
                                     "llvm.func @flashc_f() -> !llvm.ptr {\n"
                                     "  %n = llvm.mlir.constant(8 : i64) : i64\n"
                                     "  %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr\n"
                                     "  llvm.return %p : !llvm.ptr\n}\n",
                                     v3(), EmitKind::Object);
  EXPECT_TRUE(object.empty());
  EXPECT_THAT(compiler.error, HasSubstr("got undefined 'malloc'"));
}

TEST(EmitObject, RefusesOtherTargetsAndDialects) {
  Compiler compiler;
  EXPECT_EQ(compiler.emit("module {}", *lookupTarget("sm_80"), EmitKind::Object), "");
  EXPECT_THAT(compiler.error, HasSubstr("expected a CPU target, got 'sm_80'"));
  EXPECT_EQ(compiler.emit("func.func @flashc_f() { return }", v3(), EmitKind::Object,
                          /*lower=*/false),
            "");
  EXPECT_THAT(compiler.error, HasSubstr("expected a module in the LLVM dialect"));
}

/// memset and memcpy of unknown or large size become loops, not calls.
TEST(EmitObject, ExpandsMemoryIntrinsics) {
  Compiler compiler;
  auto object = compiler.load(
      R"(llvm.func @flashc_fill(%p: !llvm.ptr, %q: !llvm.ptr, %n: i64) {
        %v = llvm.mlir.constant(7 : i8) : i8
        %big = llvm.mlir.constant(1000 : i64) : i64
        "llvm.intr.memset"(%p, %v, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
        "llvm.intr.memcpy"(%q, %p, %big) <{isVolatile = false}>
          : (!llvm.ptr, !llvm.ptr, i64) -> ()
        "llvm.intr.memmove"(%q, %p, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
        llvm.return
      })",
      v3());
  ASSERT_TRUE(object) << compiler.error;
  std::string p(2000, 'p'), q(2000, 'q');
  object->function<void(char *, char *, int64_t)>("flashc_fill")(p.data(), q.data(), 1500);
  EXPECT_EQ(p, std::string(1500, 7) + std::string(500, 'p'));
  EXPECT_EQ(q, std::string(1500, 7) + std::string(500, 'q'));
}

/// Large frames, calls between functions, constant pools and a text constant, all in one object.
TEST(EmitObject, LoadsAndRuns) {
  const char *source = R"(
    llvm.mlir.global constant @flashc_kernel_info("{\"abi\":2}\00")
    llvm.mlir.global internal constant @table(dense<[3, 5, 7]> : tensor<3xi64>)
      : !llvm.array<3 x i64>
    llvm.mlir.global constant @flashc_pointer() : !llvm.ptr {
      %0 = llvm.mlir.addressof @table : !llvm.ptr
      llvm.return %0 : !llvm.ptr
    }
    llvm.func @helper(%i: i64) -> i64 attributes {passthrough = ["noinline"]} {
      %t = llvm.mlir.addressof @table : !llvm.ptr
      %p = llvm.getelementptr %t[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %v = llvm.load %p : !llvm.ptr -> i64
      llvm.return %v : i64
    }
    llvm.func @flashc_twice(%i: i64) -> i64 {
      %v = llvm.call @helper(%i) : (i64) -> i64
      %p = llvm.mlir.addressof @flashc_pointer : !llvm.ptr
      %q = llvm.load volatile %p : !llvm.ptr -> !llvm.ptr
      %w = llvm.load %q : !llvm.ptr -> i64
      %s = llvm.add %v, %w : i64
      llvm.return %s : i64
    }
    llvm.func @flashc_scale(%x: f64) -> f64 {
      %c = llvm.mlir.constant(1.25 : f64) : f64
      %y = llvm.fmul %x, %c : f64
      llvm.return %y : f64
    })";
  Compiler compiler;
  auto object = compiler.load(source, v3());
  ASSERT_TRUE(object) << compiler.error;
  EXPECT_EQ(object->text("flashc_kernel_info"), "{\"abi\":2}");
  EXPECT_EQ(object->function<int64_t(int64_t)>("flashc_twice")(2), 10);
  EXPECT_EQ(object->function<double(double)>("flashc_scale")(4), 5);
  EXPECT_EQ(object->lookup("helper"), nullptr) << "only flashc_* is visible";
}

TEST(EmitObject, RoundsToHalfLikeTheRuntime) {
  Compiler compiler;
  auto object =
      compiler.load(unaryFunction("vector<7xf32>", "vector<7xf16>",
                                  "%y = arith.truncf %x : vector<7xf32> to vector<7xf16>"),
                    v3());
  ASSERT_TRUE(object) << compiler.error;
  const float in[7] = {1.0f, -65519.0f, 65520.0f, 0x1p-25f, 0x1.8p-25f, INFINITY, 0.1f};
  uint16_t out[7];
  object->function<Unary>("flashc_apply")(in, out);
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(out[i], floatToHalf(in[i])) << in[i];
}

/// A product and a sum stay apart: results must not depend on the compiler's mood.
TEST(EmitObject, FusesOnlyWhereTheIRSaysSo) {
  Compiler compiler;
  std::string separate = compiler.emit(
      unaryFunction("f32", "f32", "%m = arith.mulf %x, %x : f32\n%y = arith.addf %m, %x : f32"),
      v3(), EmitKind::Assembly);
  EXPECT_THAT(separate, HasSubstr("vmulss"));
  EXPECT_THAT(separate, Not(HasSubstr("vfmadd")));
  std::string fused = compiler.emit(
      unaryFunction("vector<8xf32>", "vector<8xf32>", "%y = vector.fma %x, %x, %x : vector<8xf32>"),
      v3(), EmitKind::Assembly);
  EXPECT_THAT(fused, HasSubstr("vfmadd"));
}

TEST(EmitObject, UsesTheVectorsOfItsTarget) {
  std::string source =
      unaryFunction("vector<16xf32>", "vector<16xf32>", "%y = arith.addf %x, %x : vector<16xf32>");
  Compiler compiler;
  EXPECT_THAT(compiler.emit(source, v3(), EmitKind::Assembly), Not(HasSubstr("%zmm")));
  EXPECT_THAT(compiler.emit(source, *lookupTarget("x86-64-v4"), EmitKind::Assembly),
              HasSubstr("%zmm"));
  EXPECT_THAT(compiler.emit(source, v3(), EmitKind::LLVMIR), HasSubstr("<16 x float>"));
}

TEST(EmitObject, IsDeterministicAndThreadSafe) {
  std::string source =
      unaryFunction("vector<16xf32>", "vector<16xf32>", "%y = math.exp %x : vector<16xf32>");
  std::vector<std::string> objects(4);
  std::vector<std::thread> threads;
  for (std::string &object : objects)
    threads.emplace_back([&] {
      Compiler compiler;
      object = compiler.emit(source, v3(), EmitKind::Object);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(objects[0].empty());
  for (const std::string &object : objects)
    EXPECT_EQ(object, objects[0]);
}

} // namespace
