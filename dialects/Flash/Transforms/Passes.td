//===- Passes.td - passes on the flash dialect --------------*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_TRANSFORMS_PASSES_TD
#define FLASHC_DIALECTS_FLASH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FlashSetSchedule : Pass<"flash-set-schedule", "::mlir::ModuleOp"> {
  let summary = "Chooses and checks the schedule of every attention op";
  let description = [{
    An attention op without a schedule takes the one of the target's table; a given one is checked against the
    target's limits, and refused with the reason.
  }];
}

def FlashToOnline : Pass<"flash-to-online", "::mlir::func::FuncOp"> {
  let summary = "Restates attention over the softmax state";
  let description = [{
    `flash.attention` becomes `flash.online_attention`, a `flash.merge` with the sink's state where there are sinks,
    and `flash.finalize`. Ops whose schedule asks
    for the standard strategy stay as they are.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FlashTile : Pass<"flash-tile", "::mlir::ModuleOp"> {
  let summary = "Makes kernels that loop over tiles of queries and keys";
  let description = [{
    A function on tensors becomes a kernel on memory: results become trailing arguments, and the body a parallel
    loop over (sequence, head, query tile), with a loop over key tiles that carries the softmax state. The standard
    strategy becomes three kernels with S and P in a workspace (the paper's Algorithm 0). Beside a kernel for a GPU with
    an optimistic reference stands a function that computes a point of it with the exact one (flash.rescue); the kernel
    calls it after the point's stores.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::flashc::tile::TileDialect"];
}

def FlashSplitMaskedTiles : Pass<"flash-split-masked-tiles", "::mlir::func::FuncOp"> {
  let summary = "Classifies key tiles by the mask and splits their loop";
  let description = [{
    Solves the mask for the keys that some query of the tile keeps and for those that all of them keep. The loop
    over all key tiles becomes two: full tiles without the mask, then the partial ones before and after them with it.
    Empty tiles are not visited. With an optimistic reference, results are stored where a check of them holds; else the
    call of what computes the point exactly is made, which so far was made always.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
                           "::flashc::tile::TileDialect"];
}

def FlashDecompose : Pass<"flash-decompose", "::mlir::func::FuncOp"> {
  let summary = "Lowers the flash ops on tiles to the tile dialect";
  let description = [{
    Inlines score and mask regions as elementwise ops on tiles, with region arithmetic made total, and writes the
    softmax update, merge and finalize out (FlashAttention, Algorithm 1, lines 9 to 13).
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::flashc::tile::TileDialect"];
}

#endif
