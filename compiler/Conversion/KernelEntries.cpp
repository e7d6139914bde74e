//===- KernelEntries.cpp - the functions a kernel object exports ----------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelEntries.h"
#include "compiler/Conversion/KernelInfo.h"
#include "compiler/Conversion/KernelPrologue.h"
#include "compiler/Conversion/TileToVector/TileToVector.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace flashc;

namespace {

class EntryBuilder {
public:
  explicit EntryBuilder(ModuleOp module)
      : module(module), b(module.getBodyRegion()), converter(module.getContext()),
        loc(module.getLoc()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult run() {
    FailureOr<KernelFunctions> found = KernelFunctions::find(module);
    if (failed(found))
      return failure();
    functions = std::move(*found);
    for (auto func : module.getOps<func::FuncOp>())
      func.setPrivate();
    b.setInsertionPointToEnd(module.getBody());
    emitInfo();
    emitGrid();
    emitWorkspace();
    emitRun();
    return success();
  }

private:
  func::FuncOp create(StringRef name, ArrayRef<Type> inputs, TypeRange results) {
    b.setInsertionPointToEnd(module.getBody());
    auto func = func::FuncOp::create(b, loc, name, b.getFunctionType(inputs, results));
    b.setInsertionPointToStart(func.addEntryBlock());
    return func;
  }

  /// The arguments that all kernels share, from an array of pointers to descriptors. A descriptor in memory has
  /// the words of the struct that memrefs lower to.
  SmallVector<Value> unpack(Value array, Value workspace) {
    func::FuncOp kernel = functions.grids.begin()->second;
    SmallVector<Value> values;
    for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes().drop_back())) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, array,
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
      Value address = LLVM::LoadOp::create(b, loc, pointer, slot);
      Value descriptor = LLVM::LoadOp::create(b, loc, converter.convertType(type), address);
      values.push_back(toMemRef(type, descriptor));
    }
    values.push_back(bytes(kernel.getArgumentTypes().back(), workspace));
    return values;
  }

  Value toMemRef(Type type, Value descriptor) {
    return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
  }

  /// memref<?xi8> from a pointer.
  Value bytes(Type type, Value address) {
    Type structure = converter.convertType(type);
    Value result = LLVM::PoisonOp::create(b, loc, structure);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      result = LLVM::InsertValueOp::create(b, loc, result, value, position);
    };
    auto constant = [&](int64_t value) {
      return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
    };
    insert(address, 0);
    insert(address, 1);
    insert(constant(0), 2);
    insert(constant(std::numeric_limits<int64_t>::max()), {3, 0});
    insert(constant(1), {4, 0});
    return toMemRef(type, result);
  }

  Value nullPointer() { return LLVM::ZeroOp::create(b, loc, pointer); }

  Value toI64(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }
  Value toIndex(Value value) { return arith::IndexCastOp::create(b, loc, b.getIndexType(), value); }

  Value isPhase(Value phase, int64_t number) {
    Value constant = arith::ConstantIntOp::create(b, loc, b.getI64Type(), number);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, phase, constant);
  }

  void emitInfo() {
    int64_t scratch = 0;
    for (auto &[phase, func] : functions.kernels)
      if (auto needed = func->getAttrOfType<IntegerAttr>(kScratchAttrName))
        scratch = std::max(scratch, needed.getInt());
    llvm::json::Object json = describeKernels(module, functions);
    json["scratch_bytes"] = scratch;
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(json));
    text.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                           "flashc_kernel_info", b.getStringAttr(text));
  }

  void emitGrid() {
    auto func = create("flashc_kernel_grid", {pointer, b.getI64Type()}, b.getI64Type());
    SmallVector<Value> arguments = unpack(func.getArgument(0), nullPointer());
    Value points = arith::ConstantIndexOp::create(b, loc, 0);
    for (auto &[phase, grid] : functions.grids) {
      auto branch =
          scf::IfOp::create(b, loc, b.getIndexType(), isPhase(func.getArgument(1), phase), true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, points);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, func::CallOp::create(b, loc, grid, arguments).getResults());
      points = branch.getResult(0);
    }
    func::ReturnOp::create(b, loc, toI64(points));
  }

  void emitWorkspace() {
    auto func = create("flashc_kernel_workspace", {pointer}, b.getI64Type());
    Value size = arith::ConstantIndexOp::create(b, loc, 0);
    if (functions.workspaceSize)
      size = func::CallOp::create(b, loc, functions.workspaceSize,
                                  unpack(func.getArgument(0), nullPointer()))
                 .getResult(0);
    func::ReturnOp::create(b, loc, toI64(size));
  }

  void emitRun() {
    Type i64 = b.getI64Type();
    auto func = create("flashc_kernel_run", {pointer, i64, i64, pointer, pointer}, {});
    SmallVector<Value> arguments = unpack(func.getArgument(0), func.getArgument(4));
    arguments.push_back(toIndex(func.getArgument(2)));
    arguments.push_back(
        bytes(functions.kernels.begin()->second.getArgumentTypes().back(), func.getArgument(3)));
    for (auto &[phase, kernel] : functions.kernels) {
      auto branch = scf::IfOp::create(b, loc, isPhase(func.getArgument(1), phase), false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      func::CallOp::create(b, loc, kernel, arguments);
    }
    func::ReturnOp::create(b, loc);
  }

  ModuleOp module;
  OpBuilder b;
  LLVMTypeConverter converter;
  Location loc;
  Type pointer;
  KernelFunctions functions;
};

struct KernelEntries : PassWrapper<KernelEntries, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelEntries)

  StringRef getArgument() const override { return "flash-kernel-entries"; }
  StringRef getDescription() const override {
    return "Adds the functions that the runtime calls in a kernel object";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>();
  }
  void runOnOperation() override {
    if (failed(EntryBuilder(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> flashc::createKernelEntriesPass() {
  return std::make_unique<KernelEntries>();
}
void flashc::registerKernelEntriesPass() { PassRegistration<KernelEntries>(); }
