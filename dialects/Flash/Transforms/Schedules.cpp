//===- Schedules.cpp - schedules as attributes ----------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Schedules.h"
#include "compiler/Target/TargetInfo.h"
#include "dialects/Flash/Transforms/KernelFrame.h"

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

ScheduleAttr flashc::flash::toAttribute(MLIRContext *context, const ScheduleSizes &sizes,
                                        Strategy strategy) {
  return ScheduleAttr::get(context, sizes.tile, sizes.micro, strategy,
                           sizes.rowsAreHeads ? RowKind::Heads : RowKind::Queries, sizes.split,
                           sizes.stages, sizes.across, sizes.bands, sizes.blocks, sizes.registers,
                           sizes.queriesInRegisters ? Placement::Registers : Placement::Shared,
                           toAttribute(sizes.values),
                           sizes.isOptimistic ? Reference::Optimistic : Reference::Exact);
}

ScheduleSizes flashc::flash::toSizes(ScheduleAttr schedule) {
  ScheduleSizes sizes;
  llvm::copy(schedule.getTile(), sizes.tile.begin());
  llvm::copy(schedule.getMicro(), sizes.micro.begin());
  sizes.rowsAreHeads = schedule.getRows() == RowKind::Heads;
  sizes.split = schedule.getSplit();
  sizes.stages = schedule.getStages();
  sizes.across = schedule.getAcross();
  sizes.bands = schedule.getBands();
  sizes.blocks = schedule.getBlocks();
  sizes.registers = schedule.getRegisters();
  sizes.queriesInRegisters = schedule.getQueries() == Placement::Registers;
  sizes.values = toSizes(schedule.getValues());
  sizes.isOptimistic = schedule.getReference() == Reference::Optimistic;
  return sizes;
}

ScheduleAttr flashc::flash::scheduleOf(Operation *op) {
  return op->getParentOfType<func::FuncOp>()->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
}

bool flashc::flash::isFor(Operation *op, TargetKind kind) {
  const TargetInfo *target = targetOf(op);
  return target && target->kind == kind;
}

ScheduleProblem flashc::flash::problemOf(AttentionOp op) {
  auto q = cast<RankedTensorType>(op.getQ().getType());
  ScheduleProblem problem;
  problem.headDim = q.getDimSize(3);
  problem.valueDim = cast<RankedTensorType>(op.getV().getType()).getDimSize(3);
  problem.isBF16 = q.getElementType().isBF16();
  problem.isF32 = q.getElementType().isF32();
  problem.isMasked = !op.getMask().empty();
  problem.hasRowMax = bool(op.getRowMax());
  problem.isStandard = op.getSchedule() && op.getSchedule()->getStrategy() == Strategy::Standard;
  return problem;
}
