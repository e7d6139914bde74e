//===- FlashOps.td - the ops of the flash dialect ----------*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Constraints carry labels, (A1), (O1) and so on. The verifier's messages and the tests' names use them.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_FLASH_IR_FLASHOPS_TD
#define FLASHC_DIALECTS_FLASH_IR_FLASHOPS_TD

include "dialects/Flash/IR/FlashBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Prints region arguments under the names that the descriptions use.
def Flash_NamedArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>;

class Flash_Op<string mnemonic, list<Trait> traits = []>
    : Op<FlashDialect, mnemonic, traits>;

def Flash_Float : AnyTypeOf<[F32, BF16, F16]>;
def Flash_InputTensor : RankedTensorOf<[F32, BF16, F16]>;
def Flash_F32Tensor : RankedTensorOf<[F32]>;
def Flash_LengthTensor : 1DTensorOf<[I32, I64]>;
def Flash_PageTable : 2DTensorOf<[I32, I64]>;
// A captured array is a tensor, and a memref once the kernel works on memory.
def Flash_Capture : AnyTypeOf<[
    RankedTensorOf<[I8, I16, I32, I64, F16, BF16, F32, F64]>,
    MemRefOf<[I8, I16, I32, I64, F16, BF16, F32, F64]>], "tensor or memref of numbers">;

def Flash_AttentionOp : Flash_Op<"attention",
    [Pure, IsolatedFromAbove, AttrSizedOperandSegments, AttrSizedResultSegments, Flash_NamedArguments]> {
  let summary = "Exact attention";
  let description = [{
    For every batch b, query head h and query i, with kv head `g = h / (Hq / Hkv)`:

    ```
    s_j  = score(scale * <q[b,i,h,:], k[b,j,g,:]>, b, h, i, j)        for the j with mask(b, h, i, j)
    m    = max_j s_j          Z = sum_j exp(s_j - m) + exp(sink[h] - m)
    o    = sum_j exp(s_j - m) / Z * v[b,j,g,:]        lse = m + log Z        row_max = m
    ```

    Scores, sums and accumulators are f32 whatever the input type; `exp(s_j - m)` is rounded to the input
    type for the product with v, not for the sum. A row is empty when nothing is kept or only scores of
    -inf: then o = 0, row_max = -inf, and lse = -inf, or the sink's logit. A kept NaN or +inf score makes
    its row NaN. What a row masks never reaches it, NaN and inf included.

    Shapes: q `[B, Sq, Hq, D]`, k `[B, Sk, Hkv, D]`, v `[B, Sk, Hkv, Dv]`, o `[B, Sq, Hq, Dv]`,
    lse and row_max `[B, Hq, Sq]`, sinks `[Hq]`. With `cu_seqlens_q` and `cu_seqlens_k` (`[B + 1]` each)
    the sequences are packed: q `[1, total_q, Hq, D]` and so on, lse `[1, Hq, total_q]`, and b, i, j, sq, sk in
    regions are those of the sequence. `seqused_k` (`[B]`) overrides the number of keys of a sequence.

    With `page_table` (`[B, max_pages]`) keys and values lie in pages of P rows, k `[pages, P, Hkv, D]` and v
    `[pages, P, Hkv, Dv]`: key j of sequence b is row `j mod P` of page `page_table[b, j / P]`. P is any positive
    number. An entry that no key below `seqused_k[b]` needs may hold anything; one that is needed must be in
    `[0, pages)`. Nothing else changes: j stays the key's number in its sequence.

    The `score` region maps a scaled score to a score:
    `(%s: f32, %b, %h, %i, %j, %sq, %sk: index, captures...) -> f32`. The `mask` region keeps a pair or
    drops it: `(%b, %h, %i, %j, %sq, %sk: index, captures...) -> i1`. A missing region is the identity, or
    keeps all.

    - (A1) q, k, v have rank 4 and one element type.
    - (A2) the head dims of q and k are static and equal; they and v's lie in 1..576.
    - (A3) batch and sequence sizes agree where they are static.
    - (A4) Hq is a multiple of Hkv where both are static.
    - (A5) o has q's shape with v's head dim, in q's element type.
    - (A6) lse and row_max are `[B, Hq, Sq]` of f32.
    - (A7) cu_seqlens_q and cu_seqlens_k come together, and the batch size is then 1.
    - (A8) sinks are `[Hq]` of f32.
    - (A9) regions have the arguments named above and yield one f32 (score) or i1 (mask).
    - (A10) regions hold only ops of the closed list: arith (but ceildiv, floordiv and fptoui), math (exp, exp2,
      log, tanh, absf, absi, floor, sqrt), flash.read and flash.yield, on values of index, i64, f32 and i1.
    - (A11) a region has at most 4096 ops.
    - (A12) page_table comes with seqused_k and without cu_seqlens; its first size is q's batch, not that of k and v,
      whose sizes agree with each other.

    Example: causal attention with an ALiBi-like score.

    ```mlir
    %o = flash.attention %q, %k, %v captures(%slopes : tensor<?xf32>)
      score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
             %slope: tensor<?xf32>) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i64
        %df = arith.sitofp %di : i64 to f32
        %m = flash.read %slope[%h] : tensor<?xf32> -> f32
        %t = arith.mulf %m, %df : f32
        %r = arith.addf %s, %t : f32
        flash.yield %r : f32
      }
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
        %keep = arith.cmpi sle, %j, %i : index
        flash.yield %keep : i1
      }
      {scale = 1.250000e-01 : f32}
      : tensor<?x?x16x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x16x64xbf16>
    ```
  }];
  let arguments = (ins Flash_InputTensor:$q, Flash_InputTensor:$k, Flash_InputTensor:$v,
                       Optional<Flash_F32Tensor>:$sinks,
                       Optional<Flash_LengthTensor>:$cu_seqlens_q,
                       Optional<Flash_LengthTensor>:$cu_seqlens_k,
                       Optional<Flash_LengthTensor>:$seqused_k,
                       Optional<Flash_PageTable>:$page_table,
                       Variadic<Flash_Capture>:$captures,
                       F32Attr:$scale, OptionalAttr<Flash_ScheduleAttr>:$schedule);
  let results = (outs Flash_InputTensor:$o, Optional<Flash_F32Tensor>:$lse,
                      Optional<Flash_F32Tensor>:$row_max);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Flash_OnlineAttentionOp : Flash_Op<"online_attention",
    [Pure, IsolatedFromAbove, AttrSizedOperandSegments, Flash_NamedArguments]> {
  let summary = "The softmax state of attention over a set of keys";
  let description = [{
    The state `(m, l, acc)` of the keys at hand, with the running row max as reference, merged into `init`
    where it is given: the step of FlashAttention's inner loop (Algorithm 1, lines 9 to 13).

    It has two forms. On whole tensors shapes are those of `flash.attention`, and the state is
    m, l `[B, Hq, Sq]`, acc `[B, Hq, Sq, Dv]`, all f32. On tiles q is `[Br, D]`, k `[Bc, D]`, v `[Bc, Dv]`, the state m, l
    `[Br]`, acc `[Br, Dv]`; `at` gives `(b, h, i0, j0, sq, sk)`, the true indices of the tile's first element
    and the lengths of its sequence. With `boundary`, keys from sk on are dropped. With `heads` the rows are the
    heads from h on, all of query i0.

    With `bands` of n > 1 the tile of keys is cut into n bands of its rows, each of which has a state of its own: m and l
    are `[n Br]`, acc `[n Br, Dv]`, the first Br rows the state of the first band.

    `base` is the base of the exponentials that evaluate the state (2: exp2 of the argument times log2 e;
    0: exp).

    `row_max` is the maximum of the kept scores, NaN where one is NaN. It is a component of its own, carried only
    where it is asked for: the reference m may pass over NaNs, since they reach l.

    - (O1) the form is uniform: rank 4 without `at`, or rank 2 and static with six `at` operands.
    - (O2) shapes agree as above.
    - (O3) `init` is given whole (m, l, acc[, row_max]) or not at all, in the types of the results.
    - (O4) regions as in flash.attention (A9 to A11).
    - (O5) `boundary` and `heads` stand on the tile form only.
    - (O6) base is 0 or 2.
    - (O7) `fixed` stands on the tile form with init.
    - (O8) page_table is that of flash.attention (A12), on whole tensors only.
    - (O9) bands stand on the tile form only, and divide Bc.

    Example, on tiles:

    ```mlir
    %m1, %l1, %acc1 = flash.online_attention %qt, %kt, %vt
      init(%m, %l, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>) at(%b, %h, %i0, %j0, %sq, %sk)
      {base = 2 : i32, boundary, scale = 1.0 : f32}
      : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
      -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Flash_InputTensor:$q, Flash_InputTensor:$k, Flash_InputTensor:$v,
                       Variadic<Flash_F32Tensor>:$init,
                       Variadic<Index>:$at,
                       Optional<Flash_LengthTensor>:$cu_seqlens_q,
                       Optional<Flash_LengthTensor>:$cu_seqlens_k,
                       Optional<Flash_LengthTensor>:$seqused_k,
                       Optional<Flash_PageTable>:$page_table,
                       Variadic<Flash_Capture>:$captures,
                       F32Attr:$scale, DefaultValuedAttr<I32Attr, "2">:$base, UnitAttr:$boundary,
                       UnitAttr:$heads, UnitAttr:$fixed, DefaultValuedOptionalAttr<I64Attr, "1">:$bands,
                       OptionalAttr<Flash_ScheduleAttr>:$schedule);
  let results = (outs Flash_F32Tensor:$m, Flash_F32Tensor:$l, Flash_F32Tensor:$acc,
                      Optional<Flash_F32Tensor>:$row_max);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the op works on tiles (rank 2) rather than on whole tensors.
    bool isTile() { return !getAt().empty(); }
  }];
}

class Flash_SameType<string from, string to>
    : TypesMatchWith<"(M1) expected states of one type", from, to, "$_self">;

def Flash_MergeOp : Flash_Op<"merge",
    [Pure, Flash_SameType<"m", "m1">, Flash_SameType<"m", "m2">, Flash_SameType<"l", "l1">,
     Flash_SameType<"l", "l2">, Flash_SameType<"acc", "acc1">, Flash_SameType<"acc", "acc2">]> {
  let summary = "The state of the union of two disjoint key sets";
  let description = [{
    `m = max(m1, m2)`, `l = exp(m1 - m) l1 + exp(m2 - m) l2`, `acc` likewise. Associative and commutative;
    `(-inf, 0, 0)` is the identity (where `m = -inf` the factors are taken as 0).

    - (M1) both states and the result have the same types.
    - (M2) m and l have one shape, and acc that shape followed by Dv.

    Example: `%m, %l, %acc = flash.merge (%m1, %l1, %acc1), (%m2, %l2, %acc2) : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>`
  }];
  let arguments = (ins Flash_F32Tensor:$m1, Flash_F32Tensor:$l1, Flash_F32Tensor:$acc1,
                       Flash_F32Tensor:$m2, Flash_F32Tensor:$l2, Flash_F32Tensor:$acc2,
                       DefaultValuedAttr<I32Attr, "2">:$base);
  let results = (outs Flash_F32Tensor:$m, Flash_F32Tensor:$l, Flash_F32Tensor:$acc);
  let assemblyFormat = [{
    `(` $m1 `,` $l1 `,` $acc1 `)` `,` `(` $m2 `,` $l2 `,` $acc2 `)` attr-dict `:` type($m) `,` type($l) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Flash_SinkStateOp : Flash_Op<"sink_state", [Pure]> {
  let summary = "The state of an attention sink";
  let description = [{
    A sink is one more key whose logit is `sinks[h]` and whose value is 0: the state `(sinks[h], 1, 0)`. On whole
    tensors `sinks` is `[Hq]`; on tiles it is the head's logit, an f32, or one for each row where rows are heads.

    - (K1) sinks are `[Hq]` of f32 with a rank-3 m, or an f32 or m's type with a rank-1 m.
    - (K2) m and l have one shape, and acc that shape followed by Dv.

    Example: `%m, %l, %acc = flash.sink_state %sinks : tensor<?xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>`
  }];
  let arguments = (ins AnyTypeOf<[1DTensorOf<[F32]>, F32]>:$sinks);
  let results = (outs Flash_F32Tensor:$m, Flash_F32Tensor:$l, Flash_F32Tensor:$acc);
  let assemblyFormat = "$sinks attr-dict `:` type($sinks) `->` type($m) `,` type($l) `,` type($acc)";
  let hasVerifier = 1;
}

def Flash_FinalizeOp : Flash_Op<"finalize", [Pure]> {
  let summary = "Turns a state into the output and the log-sum-exp";
  let description = [{
    `o = acc / l` rounded to o's type and `lse = m + log l` (Algorithm 1, lines 12 and 13). Where `m = -inf` and
    `l = 0` the row is empty: o = 0 and lse = -inf. (A row whose kept scores are all NaN has l = NaN.)

    - (F1) m and l have one shape, and acc that shape followed by Dv.
    - (F2) o is `[B, Sq, Hq, Dv]` for a state of rank 3, `[Br, Dv]` for one of rank 1; lse has m's type.

    Example: `%o, %lse = flash.finalize %m, %l, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32> -> tensor<64x32xbf16>, tensor<64xf32>`
  }];
  let arguments = (ins Flash_F32Tensor:$m, Flash_F32Tensor:$l, Flash_F32Tensor:$acc);
  let results = (outs Flash_InputTensor:$o, Flash_F32Tensor:$lse);
  let assemblyFormat = [{
    $m `,` $l `,` $acc attr-dict `:` type($m) `,` type($l) `,` type($acc) `->` type($o) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def Flash_ScoresOp : Flash_Op<"scores", [Pure, IsolatedFromAbove, AttrSizedOperandSegments, Flash_NamedArguments]> {
  let summary = "The scores of a tile of queries against a tile of keys";
  let description = [{
    `s(r, c)` is the score of query i0 + r and key j0 + c after the score region, or -inf where the mask drops the
    pair; `keep(r, c)` says whether it is kept. `at` and `boundary` are those of flash.online_attention.

    - (S1) q is `[Br, D]`, k `[Bc, D]`, the results `[Br, Bc]`, of f32 and i1; all are static.
    - (S2) `at` gives (b, h, i0, j0, sq, sk).
    - (S3) regions as in flash.attention (A9 to A11).

    Example: `%s, %keep = flash.scores %q, %k at(%b, %h, %i0, %j0, %sq, %sk) {scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x64xi1>`
  }];
  let arguments = (ins Flash_InputTensor:$q, Flash_InputTensor:$k, Variadic<Index>:$at,
                       Variadic<Flash_Capture>:$captures, F32Attr:$scale, UnitAttr:$boundary);
  let results = (outs Flash_F32Tensor:$s, RankedTensorOf<[I1]>:$keep);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Flash_ReadOp : Flash_Op<"read", [Pure]> {
  let summary = "Reads a captured array in a region";
  let description = [{
    The element at the given indices, or 0 where any index lies outside of the array: no memory is touched
    then. Integers are sign-extended to `index`-compatible i64, floats converted to f32.

    - (R1) there are as many indices as dimensions.
    - (R2) the result is i64 for integer arrays and f32 for float arrays.

    Example: `%x = flash.read %bias[%b, %h, %i, %j] : tensor<?x?x?x?xbf16> -> f32`
  }];
  let arguments = (ins Flash_Capture:$array, Variadic<Index>:$indices);
  let results = (outs AnyTypeOf<[I64, F32]>:$result);
  let assemblyFormat = "$array `[` $indices `]` attr-dict `:` type($array) `->` type($result)";
  let hasVerifier = 1;
}

def Flash_YieldOp : Flash_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a score or mask region";
  let description = [{
    Gives the region's value: the score (f32) or whether the pair is kept (i1).

    Example: `flash.yield %keep : i1`
  }];
  let arguments = (ins AnyTypeOf<[F32, I1]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif
