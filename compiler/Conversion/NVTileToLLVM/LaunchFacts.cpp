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

using namespace mlir;
using namespace flashc;

/// Bytes of parameters that every driver takes.
static constexpr size_t kMostParameterBytes = 4096;

bool flashc::isDivision(Operation *op) {
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

void LaunchFacts::add(Numbers &numbers, Value value, llvm::json::Value expression) {
  auto known = llvm::find(expressions, expression);
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
  HostExpressions host;
  // Ops come after their operands.
  auto isDivided = [&](Value value) { return facts.divided.contains(value); };
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && host.contains(op->getResult(0)) &&
        (isDivision(op) || llvm::any_of(op->getOperands(), isDivided)))
      facts.divided.insert(op->getResult(0));
  });
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isDivided(op->getResult(0))) {
      // Where it serves a value that the host computes too, that one is the fact.
      bool isNeeded = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return user->getNumResults() != 1 || !isDivided(user->getResult(0));
      });
      if (isNeeded)
        facts.add(facts.values, op->getResult(0), host.get(op->getResult(0)));
    } else if (isDivision(op) && op->hasAttr(flash::kSmallAttrName) &&
               host.contains(op->getOperand(1))) {
      llvm::json::Value quotient =
          llvm::json::Array{"div", int64_t(1) << kReciprocalBits, host.get(op->getOperand(1))};
      facts.add(facts.reciprocals, op->getOperand(1),
                llvm::json::Array{"add", std::move(quotient), 1});
    }
  });
  bool fits = (countParameters(kernel) + facts.size()) * sizeof(int64_t) <= kMostParameterBytes;
  return fits ? std::move(facts) : LaunchFacts();
}
