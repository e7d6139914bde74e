//===- AttentionFlags.cpp - the flags that describe attention -------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/AttentionFlags.h"
#include "runtime/API/AttentionDesc.h"

namespace flashc::tool {
namespace {

constexpr ArrayFlag arrays[] = {
    {"alibi", "alibi"},
    {"bias", "bias"},
    {"sinks", "sinks"},
    {"cu-seqlens-q", "cu_seqlens_q"},
    {"cu-seqlens-k", "cu_seqlens_k"},
    {"seqused-k", "seqused_k"},
    {"page-table", "page_table"},
};

/// The flags that stand for the field `key`, where they differ from the field itself.
std::vector<Flag> replacement(std::string_view key) {
  if (key == "alibi")
    return {{"alibi", "FILE",
             "Subtract slope[h]*|i + sk - sq - j| from the scores; an array [Hq], taken as f32."}};
  if (key == "bias")
    return {{"bias", "FILE",
             "Add an array that broadcasts, right-aligned, to [B,Hq,Sq,Sk] (in either layout)."}};
  if (key == "sinks")
    return {{"sinks", "FILE",
             "A logit per query head, [Hq], taken as f32, that joins the denominator only."}};
  if (key == "captures")
    return {{"capture", "NAME=FILE",
             "An array that the expressions read as NAME[index, ...]; give it once per array.",
             true}};
  if (key == "packed")
    return {{"cu-seqlens-q", "FILE",
             "Sequences lie end to end: q is [total,Hq,D], and sequence b has the rows "
             "cu[b] .. cu[b+1]-1 of it; i32 or i64 [B+1]."},
            {"cu-seqlens-k", "FILE", "The same for k and v."}};
  if (key == "seqused-k")
    return {
        {"seqused-k", "FILE", "Batch (or sequence) b has this many keys only; i32 or i64 [B]."}};
  if (key == "page-table")
    return {{"page-table", "FILE",
             "Keys and values lie in pages of P rows, [pages,P,Hkv,D] (bhsd: [pages,Hkv,P,D]): key "
             "j of "
             "batch b is row j % P of page table[b, j / P]; i32 or i64 [B,max_pages]."}};
  if (key == "lse")
    return {{"lse", "FILE.npy",
             "Also give the natural log of each row's softmax denominator, f32 [B,Hq,Sq] (packed "
             "[Hq,total]); run writes it to the file."}};
  if (key == "row-max")
    return {{"row-max", "FILE.npy",
             "Also give each row's largest kept score, as --lse does its result."}};
  return {};
}

FlagGroup inputFlags() {
  return {
      "Inputs",
      {{"q", "FILE", "Queries, [B,Sq,Hq,D]: FILE.npy, FILE.npz[:NAME], FILE.safetensors[:NAME]."},
       {"k", "FILE", "Keys, [B,Sk,Hkv,D]; Hq is a multiple of Hkv."},
       {"v", "FILE", "Values, [B,Sk,Hkv,Dv]."},
       {"inputs", "FILE",
        "Take every array that has no flag of its own from this .npz or .safetensors, by its "
        "flag's name."},
       {"random", "B,Sq,Sk,Hq,Hkv,D,Dv",
        "No files: q, k, v of these sizes with standard normal values."},
       {"page-size", "N", "Rows of a page that --random makes with --page-table (default 16)."},
       {"seed", "N", "Seed of --random (default 0); the values are the same on every machine."},
       {"layout", "bshd|bhsd",
        "Order of the dimensions of q, k, v and o: [B,S,H,D] (default) or [B,H,S,D]."}}};
}

} // namespace

std::span<const ArrayFlag> arrayFlags() { return arrays; }

bool isPlainField(std::string_view key) { return replacement(key).empty(); }

std::vector<FlagGroup> attentionFlags() {
  FlagGroup attention = {"Attention", {}};
  for (const AttentionField &field : attentionFields()) {
    if (isPlainField(field.key)) {
      attention.flags.push_back({field.key, field.operand, field.help});
      continue;
    }
    for (Flag &flag : replacement(field.key))
      attention.flags.push_back(std::move(flag));
  }
  return {inputFlags(), attention};
}

std::string attentionNotes() {
  return R"help(
Scores are, in this order: scale*(q.k); softcap; alibi; bias; the --score expression; then causal,
window and --mask say which are kept. All features combine.

Arrays may be of any float type, in either memory order. --dtype rounds q, k and v to nearest even
(default: their own type; f64 becomes f32). The others keep their type, but alibi and sinks become f32,
and so do f64 captures and biases; u8 captures become i16. An array without a name in its file
(FILE.npz, not FILE.npz:NAME) is the one called like the flag. Instead of a file, --alibi, --bias and
--sinks take a type (f32, bf16, f16), --cu-seqlens-q, --cu-seqlens-k, --seqused-k and --page-table take
i32 or i64: then the values are made with --random (slopes 2^(-8(h+1)/Hq); B sequences of Sq and Sk;
lengths from 0 to Sk; pages for Sk keys of each sequence, shuffled), or, where only code is made, not
needed. --capture NAME:TYPE:RANK does so for compile and
explain; --capture NAME takes the array NAME of --inputs.

Expressions have s (score), b h i j (batch, query head, query, key), sq sk (lengths), numbers, C's
operators, min max exp log tanh abs select int float floor sqrt, and NAME[...] of captures:
  --mask  "j <= i + sk - sq && i - j < 128"
  --score "s + slope[h] * (j - i)" --capture slope=slopes.npy
Integers are i64; an integer with a float gives f32; x/0 and x%0 of integers are 0; a read outside of
an array gives 0. In packed batches b is the sequence, and i, j, sq, sk are local to it.

--schedule takes "" (the target's table), "paper" (the block sizes of the FlashAttention paper) or the
parameters, such as "tile=[192,64],micro=[6,16]".
)help";
}

} // namespace flashc::tool
