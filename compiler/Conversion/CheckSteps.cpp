//===- CheckSteps.cpp - how long a kernel's expressions are ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/CheckSteps.h"
#include "dialects/Tile/IR/Tile.h"

using namespace mlir;

/// Steps of a chain of values: several times as many as the deepest score and mask expressions have.
static constexpr int64_t kMostSteps = 16384;
/// Elementwise ops are lowered without recursion, whatever their number. An op that lowerings recurse over counts for
/// so many of them, which leaves more than the deepest expressions have.
static constexpr int64_t kStepsOfRecursion = 16;

LogicalResult flashc::checkSteps(func::FuncOp func) {
  llvm::DenseMap<Value, int64_t> steps;
  WalkResult walked = func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    int64_t most = 0;
    for (Value operand : op->getOperands())
      most = std::max(most, steps.lookup(operand));
    most += isa<tile::GatherOp, tile::ReduceOp>(op) ? kStepsOfRecursion : 1;
    for (Value result : op->getResults())
      steps[result] = most;
    if (most <= kMostSteps)
      return WalkResult::advance();
    op->emitOpError() << "expected a value that is computed in at most " << kMostSteps
                      << " steps (a gather or reduction counts as " << kStepsOfRecursion << ")";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}
