//===- SetSchedule.cpp - the schedule of every attention op ---------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/ScheduleTable.h"
#include "dialects/Flash/Transforms/Passes.h"
#include "dialects/Flash/Transforms/Schedules.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHSETSCHEDULE
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

struct SetSchedule : flash::impl::FlashSetScheduleBase<SetSchedule> {
  void runOnOperation() override {
    const TargetInfo *target = targetOf(getOperation());
    if (!target) {
      getOperation().emitOpError() << "expected the module attribute " << kTargetAttrName
                                   << ", such as #flash.target<\"x86-64-v3\">";
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](AttentionOp op) {
      ScheduleProblem problem = problemOf(op);
      if (!op.getSchedule())
        op.setScheduleAttr(
            toAttribute(op.getContext(), chooseSchedule(*target, problem), Strategy::Online));
      ScheduleSizes sizes = toSizes(*op.getSchedule());
      std::string rejection = rejectSchedule(sizes, *target, problem);
      if (rejection.empty())
        return WalkResult::advance();
      op.emitOpError() << "schedule does not fit " << StringRef(target->name) << ": " << rejection;
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
