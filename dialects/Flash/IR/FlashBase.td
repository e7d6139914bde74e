//===- FlashBase.td - the flash dialect and its attributes -*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_IR_FLASHBASE_TD
#define FLASHC_DIALECTS_FLASH_IR_FLASHBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def FlashDialect : Dialect {
  let name = "flash";
  let cppNamespace = "::flashc::flash";
  let summary = "Exact attention as an algorithm: what is computed, not how.";
  let description = [{
    The `flash` dialect states attention on tensors `[batch, seq, heads, dim]`. `flash.attention` is the
    op that users write; the *online* ops (`online_attention`, `merge`, `sink_state`, `finalize`) restate
    it over the softmax state `(m, l, acc)`, first on whole tensors, then on tiles.

    **The state.** For a set K of kept keys with scores `s_j`, the state with reference `m` is
    `l = sum_j exp(s_j - m)`, `acc = sum_j exp(s_j - m) v_j`. States of disjoint key sets merge into the
    state of their union; the identity is `(-inf, 0, 0)`. This monoid is the only representation of
    partial attention in flashc (FlashAttention, section 3.1 and Theorem 1).

    **Region arithmetic.** Score and mask regions compute on `index` (64 bits, wrapping), `f32` and `i1`.
    `arith.divsi` and `arith.remsi` truncate as in C and give 0 where the divisor is 0; `arith.fptosi`
    saturates and maps NaN to 0; a shift by 64 or more gives 0, and by at least 63 for `arith.shrsi` the
    sign. Both operands of a select are evaluated. `flash.read` outside of its array gives 0 and touches
    no memory. Regions have no control flow and no side effects.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

class Flash_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<FlashDialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Flash_TargetAttr : Flash_Attr<"Target", "target"> {
  let summary = "The machine that code is generated for";
  let description = [{
    Names a row of flashc's table of machine facts (`compiler/Target/TargetInfo.h`). It stands once, on the
    module, as `flash.target`; no pass takes the target as an option.

    - (T1) the name is in the table.

    Example: `module attributes {flash.target = #flash.target<"x86-64-v4">} { ... }`
  }];
  let parameters = (ins StringRefParameter<"row of the target table">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
}

def Flash_Strategy : I32EnumAttr<"Strategy", "how the softmax is evaluated", [
    I32EnumAttrCase<"Online", 0, "online">,
    I32EnumAttrCase<"Standard", 1, "standard">]> {
  let cppNamespace = "::flashc::flash";
  let genSpecializedAttr = 0;
}

def Flash_RowKind : I32EnumAttr<"RowKind", "what the rows of a query tile are", [
    I32EnumAttrCase<"Queries", 0, "queries">,
    I32EnumAttrCase<"Heads", 1, "heads">]> {
  let cppNamespace = "::flashc::flash";
  let genSpecializedAttr = 0;
}

def Flash_Placement : I32EnumAttr<"Placement", "where the queries of a tile lie while keys pass by", [
    I32EnumAttrCase<"Shared", 0, "shared">,
    I32EnumAttrCase<"Registers", 1, "registers">]> {
  let cppNamespace = "::flashc::flash";
  let genSpecializedAttr = 0;
}

def Flash_Reference : I32EnumAttr<"Reference", "what the exponents are taken relative to", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"Optimistic", 1, "optimistic">]> {
  let cppNamespace = "::flashc::flash";
  let genSpecializedAttr = 0;
}

def Flash_ValueCopy : I32EnumAttr<"ValueCopy", "when the values of a tile of keys are copied", [
    I32EnumAttrCase<"Ahead", 0, "ahead">,
    I32EnumAttrCase<"Late", 1, "late">,
    I32EnumAttrCase<"Instead", 2, "instead">]> {
  let cppNamespace = "::flashc::flash";
  let genSpecializedAttr = 0;
}

def Flash_ScheduleAttr : Flash_Attr<"Schedule", "schedule"> {
  let summary = "How an attention op is executed";
  let description = [{
    - `tile = [Br, Bc]`: rows of queries and of keys per tile.
    - `micro = [mr, nr]`: rows and columns of the register micro-tile on CPUs; on GPUs the rows of a warp, and the
      keys whose scores a warp works on at a time.
    - `strategy = online | standard`: FlashAttention, or the unfused baseline that materialises S and P
      (the paper's Algorithm 0).
    - `rows = queries | heads`: a tile holds queries of one head, or the heads of a group that share keys, for one
      query (decoding: K and V are read once for the group).
    - `split = n`: the keys of a row are divided into parts of n, computed in parallel and merged; 0 is none. The
      size is fixed, so that a result does not depend on what else is computed.
    - `stages = n`: tiles of keys and values in shared memory, of which n - 1 are on their way (GPU; CPUs: 0).
    - `across = n`: warps that share rows, each with a part of the columns of O (GPU).
    - `bands = n`: a tile of keys is cut into n bands; the warps of each have a state of their own, and the states are
      merged after the last tile (GPU; 1: no cuts). Where rows are few, scores are then computed once.
    - `blocks = n`: blocks that should fit on a multiprocessor, which bounds a thread's registers (GPU; 0: no matter).
    - `registers = n`: registers of a thread at most, instead of as many as `blocks` leaves (GPU; 0: those). ptxas
      arranges a kernel's loops by what it has.
    - `queries = shared | registers`: where the tile of Q lies while the keys pass by (GPU).
    - `values = ahead | late | instead`: the tile of V travels with that of K; or has one stage, filled while the scores
      are computed; or lies in the memory of K, once the scores are computed (GPU).
    - `reference = exact | optimistic`: exponents relative to the running row maximum, or to that of the row's first
      tile, checked after the loop, with the exact strategy where that went wrong. On CPUs full tiles alone are visited
      optimistically.

    - (H1) tile and micro hold two positive sizes each.
    - (H2) Br is a multiple of mr.
    - (H3) split is 0 or a positive multiple of Bc.
    - (H4) rows, split and an optimistic reference are for the online strategy.
    - (H5) stages, blocks and registers are not negative, across is positive.
    - (H6) values instead of keys go with one stage.
    - (H7) bands are positive and Bc a multiple of them; more than one go with the online strategy and an exact
      reference.

    What a target can hold is checked where the schedule meets the target
    (`compiler/Target/Schedule.h`), with the reason of each rejection.

    Example: `#flash.schedule<tile = [192, 64], micro = [6, 64], strategy = online>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "tile sizes">:$tile,
                        ArrayRefParameter<"int64_t", "micro-tile sizes">:$micro,
                        "::flashc::flash::Strategy":$strategy,
                        DefaultValuedParameter<"::flashc::flash::RowKind",
                                               "::flashc::flash::RowKind::Queries">:$rows,
                        DefaultValuedParameter<"int64_t", "0">:$split,
                        DefaultValuedParameter<"int64_t", "0">:$stages,
                        DefaultValuedParameter<"int64_t", "1">:$across,
                        DefaultValuedParameter<"int64_t", "1">:$bands,
                        DefaultValuedParameter<"int64_t", "0">:$blocks,
                        DefaultValuedParameter<"int64_t", "0">:$registers,
                        DefaultValuedParameter<"::flashc::flash::Placement",
                                               "::flashc::flash::Placement::Shared">:$queries,
                        DefaultValuedParameter<"::flashc::flash::ValueCopy",
                                               "::flashc::flash::ValueCopy::Ahead">:$values,
                        DefaultValuedParameter<"::flashc::flash::Reference",
                                               "::flashc::flash::Reference::Exact">:$reference);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif
