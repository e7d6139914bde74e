//===- ToOnline.cpp - flash.attention to the softmax state ----------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/Flash/Transforms/Passes.h"
#include "dialects/Flash/Transforms/Schedules.h"
#include "mlir/IR/Builders.h"

namespace flashc::flash {
#define GEN_PASS_DEF_FLASHTOONLINE
#include "dialects/Flash/Transforms/Passes.h.inc"
} // namespace flashc::flash

using namespace mlir;
using namespace flashc;
using namespace flashc::flash;

namespace {

/// GPUs have an instruction for exp2 only; on CPUs exp costs one operation more and is more accurate.
int32_t exponentBase(Operation *op) { return isFor(op, TargetKind::GPU) ? 2 : 0; }

void rewrite(AttentionOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto q = cast<RankedTensorType>(op.getQ().getType());
  auto v = cast<RankedTensorType>(op.getV().getType());
  SmallVector<int64_t> rows = {q.getDimSize(0), q.getDimSize(2), q.getDimSize(1)};
  auto rowType = RankedTensorType::get(rows, b.getF32Type());
  rows.push_back(v.getDimSize(3));
  auto accType = RankedTensorType::get(rows, b.getF32Type());
  int32_t base = exponentBase(op);

  SmallVector<Type> stateTypes = {rowType, rowType, accType}, onlineTypes = stateTypes;
  if (op.getRowMax())
    onlineTypes.push_back(rowType);
  auto online =
      OnlineAttentionOp::create(b, loc, onlineTypes, op.getQ(), op.getK(), op.getV(),
                                /*init=*/ValueRange{}, /*at=*/ValueRange{}, op.getCuSeqlensQ(),
                                op.getCuSeqlensK(), op.getSequsedK(), op.getPageTable(),
                                op.getCaptures(), op.getScaleAttr(), b.getI32IntegerAttr(base),
                                /*boundary=*/nullptr, /*heads=*/nullptr, /*fixed=*/nullptr,
                                /*bands=*/nullptr, op.getScheduleAttr());
  online.getScore().takeBody(op.getScore());
  online.getMask().takeBody(op.getMask());
  ValueRange state = online.getResults();
  if (op.getSinks()) {
    auto sink = SinkStateOp::create(b, loc, stateTypes, op.getSinks());
    state = MergeOp::create(b, loc, stateTypes, state[0], state[1], state[2], sink.getM(),
                            sink.getL(), sink.getAcc(), b.getI32IntegerAttr(base))
                .getResults();
  }
  auto finalize = FinalizeOp::create(b, loc, TypeRange{op.getO().getType(), rowType}, state[0],
                                     state[1], state[2]);
  op.getO().replaceAllUsesWith(finalize.getO());
  auto replace = [&](Value old, Value value) {
    if (!old)
      return;
    if (old.getType() != value.getType())
      value = tensor::CastOp::create(b, loc, old.getType(), value);
    old.replaceAllUsesWith(value);
  };
  replace(op.getLse(), finalize.getLse());
  replace(op.getRowMax(), online.getRowMax());
  op.erase();
}

struct ToOnline : flash::impl::FlashToOnlineBase<ToOnline> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) {
      if (!op.getSchedule() || op.getSchedule()->getStrategy() == Strategy::Online)
        ops.push_back(op);
    });
    for (AttentionOp op : ops)
      rewrite(op);
  }
};

} // namespace
