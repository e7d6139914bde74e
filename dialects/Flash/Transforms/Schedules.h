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
/// The target of the module around `op`; null where it names none.
const TargetInfo *targetOf(mlir::Operation *op);
/// The schedule of the kernel around `op`; null where it has none.
ScheduleAttr scheduleOf(mlir::Operation *op);
/// What the schedule of `op` must serve.
ScheduleProblem problemOf(AttentionOp op);

} // namespace flashc::flash

#endif // FLASHC_DIALECTS_FLASH_TRANSFORMS_SCHEDULES_H
