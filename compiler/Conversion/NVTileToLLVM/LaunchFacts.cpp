//===- LaunchFacts.cpp - what the host computes for a kernel --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/NVTileToLLVM/LaunchFacts.h"
#include "compiler/Conversion/NVTileToLLVM/HostExpression.h"
#include "dialects/Flash/IR/Flash.h"
#include "dialects/Flash/Transforms/KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace flashc;

/// Bytes of parameters that every driver takes.
static constexpr size_t kMostParameterBytes = 4096;

/// A quotient or remainder of indices whose divisor is no constant.
static bool isDivision(Operation *op) {
  return isa_and_nonnull<arith::DivUIOp, arith::RemUIOp>(op) &&
         op->getResult(0).getType().isIndex() && !matchPattern(op->getOperand(1), m_Constant());
}

/// Parameters of the kernel's arguments: of each an address, sizes and strides.
static size_t countParameters(func::FuncOp kernel) {
  size_t count = 0;
  for (Type type : kernel.getArgumentTypes())
    count += 1 + 2 * cast<MemRefType>(type).getRank();
  return count;
}

void LaunchFacts::add(Numbers &numbers, Value value, llvm::json::Value expression, size_t most) {
  auto known = llvm::find(expressions, expression);
  if (known == expressions.end() && expressions.size() >= most)
    return;
  numbers[value] = known - expressions.begin();
  if (known == expressions.end())
    expressions.push_back(std::move(expression));
}

LaunchFacts LaunchFacts::find(func::FuncOp kernel) {
  LaunchFacts facts;
  // Other kernels work for so long that it does not show; they keep the code that was measured.
  auto schedule = kernel->getAttrOfType<flash::ScheduleAttr>(flash::kScheduleAttrName);
  if (!schedule.getSplit())
    return facts;
  const size_t parameters = countParameters(kernel), room = kMostParameterBytes / sizeof(int64_t);
  const size_t most = parameters < room ? room - parameters : 0;
  HostExpressions host;
  // Values that take a division; ops come after their operands.
  llvm::SetVector<Value> divided;
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && host.contains(op->getResult(0)) &&
        (isDivision(op) ||
         llvm::any_of(op->getOperands(), [&](Value operand) { return divided.contains(operand); })))
      divided.insert(op->getResult(0));
  });
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && divided.contains(op->getResult(0))) {
      // Where it serves a value that the host computes too, that one is the fact.
      bool isNeeded = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return user->getNumResults() != 1 || !divided.contains(user->getResult(0));
      });
      if (isNeeded)
        facts.add(facts.values, op->getResult(0), host.get(op->getResult(0)), most);
    } else if (isDivision(op) && op->hasAttr(flash::kSmallAttrName) &&
               host.contains(op->getOperand(1))) {
      llvm::json::Value quotient =
          llvm::json::Array{"div", int64_t(1) << kReciprocalBits, host.get(op->getOperand(1))};
      facts.add(facts.reciprocals, op->getOperand(1),
                llvm::json::Array{"add", std::move(quotient), 1}, most);
    }
  });
  auto isDone = [&](Operation *user) {
    return user->getNumResults() == 1 &&
           (facts.numberOf(user->getResult(0)) || facts.serves(user->getResult(0)));
  };
  for (Value value : llvm::reverse(divided))
    if (!facts.numberOf(value) && llvm::all_of(value.getUsers(), isDone))
      facts.serving.insert(value);
  return facts;
}
