//===- Schedules.h - schedules as attributes --------------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The one translation between #flash.schedule and the LLVM-free sizes that the tables work with.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_SCHEDULES_H
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_SCHEDULES_H

#include "compiler/Target/ScheduleTable.h"
#include "dialects/Flash/IR/Flash.h"

namespace flashc::flash {

ScheduleAttr toAttribute(mlir::MLIRContext *context, const ScheduleSizes &sizes, Strategy strategy);
ScheduleSizes toSizes(ScheduleAttr schedule);

/// The tables have an enum of their own, since they are free of MLIR; its cases are the attribute's.
constexpr ScheduleSizes::ValueCopy toSizes(ValueCopy values) {
  return static_cast<ScheduleSizes::ValueCopy>(values);
}
constexpr ValueCopy toAttribute(ScheduleSizes::ValueCopy values) {
  return static_cast<ValueCopy>(values);
}
static_assert(toSizes(ValueCopy::Ahead) == ScheduleSizes::ValueCopy::Ahead &&
              toSizes(ValueCopy::Late) == ScheduleSizes::ValueCopy::Late &&
              toSizes(ValueCopy::Instead) == ScheduleSizes::ValueCopy::Instead &&
              getMaxEnumValForValueCopy() == static_cast<unsigned>(ValueCopy::Instead));

/// The schedule of the kernel around `op`; null where it has none.
ScheduleAttr scheduleOf(mlir::Operation *op);
/// Whether `op` is compiled for a target of `kind`; false where no target is named.
bool isFor(mlir::Operation *op, TargetKind kind);
/// What the schedule of `op` must serve.
ScheduleProblem problemOf(AttentionOp op);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_SCHEDULES_H
