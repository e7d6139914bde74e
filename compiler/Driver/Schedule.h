//===- Schedule.h - a description's schedule on its op ----------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_DRIVER_SCHEDULE_H
#define FLASHC_COMPILER_DRIVER_SCHEDULE_H

#include "compiler/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/API/AttentionDesc.h"

namespace flashc {

/// Sets the schedule of the module's attention ops: that of the target's table for "", the paper's for
/// "paper", else the text in the syntax of #flash.schedule, such as "tile=[192,64],micro=[6,64]", where
/// absent fields come from the table. Throws Error for what does not parse or does not fit the target.
void setSchedule(mlir::ModuleOp module, const AttentionDesc &desc, const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_SCHEDULE_H
