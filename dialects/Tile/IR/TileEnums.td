//===- TileEnums.td - enumerations of the tile dialect ------*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Apart from the ops, for the dialects that have them too.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_TILE_IR_TILEENUMS_TD
#define FLASHC_DIALECTS_TILE_IR_TILEENUMS_TD

include "mlir/IR/EnumAttr.td"

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum", 1, "sum">,
    I32EnumAttrCase<"MaxNum", 2, "maxnum">]> {
  let cppNamespace = "::flashc::tile";
}

#endif
